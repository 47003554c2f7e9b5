"""Marks → Progress and Eta: how fast a job moves and when it will be done. Pure; imports the model only.

`series.py` keeps a bounded history of points and makes one counter of several workers'; `eta.py` turns
that history into an interval. Where nothing sound can be said, the answer is None.
"""
