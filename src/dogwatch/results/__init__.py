"""What a job produced: the scores that evaluation tools write into result files, and whether files are whole.

One file per tool: `globs` says where under an output directory its result files lie, `read(text)` what one of them
says; `scores.py` asks each in turn. Those are pure; the files are read on the place, by the probe. `sound.py` asks
for verdicts on files, `iteration.py` reads the names of checkpoints. May import reach, model and text.
"""
