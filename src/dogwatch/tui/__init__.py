"""The live screen and its plain-line twin: values in, words out.

`words` and `phrases` hold the wording that every interface of text shares; `screen`, `grid` and `pen` lay it out
with Rich; `live` owns the terminal while it is shown; `lines` and `summary` need no terminal and no Rich.
May import `text` and the standard library, and Rich in the laid-out half only; never the store.
"""
