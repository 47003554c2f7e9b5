"""Where notices go. One file per kind; `interface.py` says what a channel must offer.

A channel only says what it is given and tells truthfully whether it was taken; what to say, to whom
and how often is decided before it is asked. It may import `model` only.
"""
