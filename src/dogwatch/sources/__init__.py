"""Where jobs live. One file per kind; `interface.py` says what a source must offer.

A source turns jobs into its section of the probe request, and the probe's answer into Sightings.
It has no verb that changes a job, starts nothing and reads no file: it may import `model` only.
To add one: a file here whose name is its kind, with a module-level `source` object; `assemble`
finds it by that name, and `dogwatch.testing.check_source` checks its manners.
"""
