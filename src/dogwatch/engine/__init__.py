"""The loop: due places → look → follow → read logs → estimate → judge → queue → deliver.

`watch.py` is the loop, `round.py` one tick as a table of contents, and each other file one arrow of
it. It may import everything below it, never a face; it starts no process and has no verb that
changes a job. Everything it concludes is committed with what caused it, or not at all.
"""
