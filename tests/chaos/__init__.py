"""The storm: real jobs under the real program, SIGKILL at random moments, and the history checked after.

`plans.py` says what the jobs do, `processes.py` starts, kills and counts, `storm.py` is the weather,
`gather.py` writes down what is left, and `history.py` (pure) finds what is wrong with it.
"""
