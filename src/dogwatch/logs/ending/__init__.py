"""How a log ended, by its own words: `verdict` keeps a log's opening and its end, and judges.

`words` is the table of what is said at an end (a new phrase is a new row), `lines` says which lines mean it,
`tracebacks` walks down exceptions, `retold` and `prose` know others' words, and `life`, `opening` and `lasting` what
shows that a job went on. `causes` asks them too. Nothing here knows a format.
"""
