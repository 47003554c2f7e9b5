"""The rows of the store, one file for each family of tables: what is read and written of them, in portable SQL.

A family imports `row`, `encoding`, other families and the model; never a database driver. Values are `?`; no
PRAGMA, no row ids, no index hints, no functions that only one database has. What needs more than that is asked of
`interface.Transaction`. Functions that take a `store` are whole transactions; those that take a `tx` are parts of one.
"""
