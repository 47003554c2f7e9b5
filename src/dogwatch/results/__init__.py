"""What a job produced: the scores that evaluation tools write into result files, and whether files are whole.

One file per tool: `globs` says where under an output directory its result files lie, `read(text)` what one of them
says; `scores.py` tries each of them. Those are pure; the files are read on the place, by the probe. `integrity.py` asks
for verdicts on files, `iteration.py` reads the names of checkpoints. May import transport, model and text.
"""
