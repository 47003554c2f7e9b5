"""What Dogwatch remembers: one SQLite file under the home, and the only SQL of the product.

Reading lives in `jobs`, `places`, `events`, `notices`, `readings`, `watch` and `cursors`; writing in `register`, `tick`
and `notices`; keeping it whole in `home`, `database`, `tip`, `backup`, `repair` and `reserve`; `lease` and
`bell` are how processes that share a home meet. May import `model`, `clock` and `errors`, nothing else
of ours, and the reading half must not import dataclasses, typing or pathlib: `dogwatch ls` pays for it.

To add a migration, write `migrations/m004_what_it_does.py` with `def up(db)`, add its name at the end
of STEPS in `migrations/__init__.py`, bring `tables.py` in step, and check in a dump of the new schema
beside `tests/store/schema_v1.sql`. A released migration is never edited.
"""
