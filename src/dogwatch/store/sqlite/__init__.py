"""The store in one SQLite file: the file itself, its locks, backups, repair, and the seals that prove each row.

`location` is the way in (`Home`), `database` the open store, `transaction` what rows are read and written through. Only
this folder imports sqlite3. Files of the home and their rules are in `home`.
"""
