"""What a finished job produced: the scores that evaluation tools write into result files.

One file per tool: `globs` says where under an output directory its result files lie, `read(text)` what one of them
says; `scores.py` asks each in turn. Everything is pure; the files are read on the place, by the probe. May import
model and text.
"""
