"""The watcher: due places → poll → follow → read logs → estimate → judge → queue → deliver.

`loop/` is when, `tick/` one tick at one place as a table of contents (`conclude.py`), `job/` one job in it, `alerts/`
the outbox, `reports/` files about jobs. It may import everything below it, never an interface; it starts no process
and has no verb that changes a job. Everything it concludes is committed with what caused it, or not at all.
"""
