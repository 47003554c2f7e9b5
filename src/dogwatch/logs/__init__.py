"""What a log line means: bytes of a log → Marks → the newest Reading.

A format is one file here with `kind`, `needles` and `read`, or one row of a file's `rows` table;
`formats.py` finds it by listing the folder, so there is no registry to edit. A format file imports
`interface` and `dogwatch.model` and does not know the other formats. `reader.py` finds the newest lines
of a growing log piece by piece, `meaning.py` says what they mean together, `current.py` which of their
counters is the job's progress; `user.py` holds the owner's own patterns. Nothing here opens a file or
knows the time.
"""
