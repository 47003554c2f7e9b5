"""Integrity: an extra probe that says whether files are whole, by their format alone.

It opens and never executes: no unpickling, nothing extracted, bytes and seconds capped. It runs in the probe's file
reader, so a hung file system costs only that child. `remote.extra_probe("integrity")` joins the parts; a format is a
function `(Body) -> Report` in the part of its family and a row in `tree.py`.
"""
