"""The probe: a program that travels, examines a machine and answers in one line of JSON.

It reads one request per line and answers each with one line and a sentinel that counts its bytes. It never opens a
watched path itself: the file reader does, a forked child that may hang and be lost while processes still get answered.
The parts here are joined into one text by `remote.probe_text()`; see there for how to add one.
"""
