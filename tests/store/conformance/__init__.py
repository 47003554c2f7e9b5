"""What any store has to do, whichever database it is kept in; `stores.py` lists those that are held to it."""
