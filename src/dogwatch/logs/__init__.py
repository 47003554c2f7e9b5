"""What a log line means: bytes of a log → Marks → the newest Reading.

`formats/` holds what ships, one file or table row each, and `interface.py` what a format is. `reader.py` finds the
newest lines of a growing log piece by piece, `meaning.py` says what they mean together, `current.py` which of their
counters is the job's progress, `structure.py` what speaks where no format does; `timeline.py` gives a log its clock,
`ending/` says how it ended, and `user.py` holds the owner's own patterns. Nothing here opens a file or knows the time.
"""
