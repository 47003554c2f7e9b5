"""What a log line means: bytes of a log → LogEvents → the newest Reading.

`formats/` has the known formats, one file or table row each; `interface.py` says what a format is. `reader.py` reads a
growing log piece by piece, `meaning.py` combines what its newest lines say, `choose_counter.py` picks the counter that
is the job's progress, and `structure.py` finds a counter where no format matches. `timeline.py` gives a log its clock,
`ending/` says how it ended, `user.py` has the owner's own patterns. Nothing here opens a file or knows the time.
"""
