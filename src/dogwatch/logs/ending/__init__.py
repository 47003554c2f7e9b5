"""How a log ended, by its own words: `verdict.py` keeps a log's opening and its end, and decides.

`words.py` is the table of phrases that logs end with (a new phrase is a new row), `lines.py` says which lines mean
them, `tracebacks.py` reads exceptions, `quoted_errors.py` and `prose.py` know text that is only quoted, and
`activity.py`, `opening.py` and `duration.py` show whether a job went on. diagnosis/ uses them too. Nothing here knows
a log format.
"""
