"""LogEvents → Progress and Eta: how fast a job moves and when it will be done. Pure; imports the model only.

`series.py` keeps a bounded history of points and makes one counter of several workers'. `eta.py` turns that
history into an estimate: `gap_history.py` cleans it, `pauses.py` and `pace.py` tell what stops it and how fast it
goes in between, `earlier_attempt.py` brings in an earlier attempt, `eta_interval.py` says how far off all that may be.
`slowdown.py` finds a lasting loss of speed. `baselines.py` and `backtest.py` compare the estimate with others
on finished runs. Where nothing reliable can be said, the answer is None.
"""
