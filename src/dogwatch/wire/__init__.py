"""Typed documents that cross a boundary: what a place may answer. Imports nothing of ours but errors and text.

`answer.py` is the entry: bytes in, a checked document out, or `Malformed` with the path of the wrong field.
`sections.py` has the sections of the probe's answer, `programs.py` the answers of the extra programs sent with a
poll. A new field of the probe gets its type here, or the answer is refused.
"""
