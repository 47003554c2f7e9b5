"""Sound: a program that rides with the request that needs it and says whether files are whole, by their format alone.

It opens and never executes: no unpickling, nothing extracted, bytes and seconds capped. It runs in the probe's file
hand, so a hung file system costs only that child. `aboard.errand("sound")` joins the parts; a format is a function
`(Body) -> Report` in the part of its family and a row in `tree.py`.
"""
