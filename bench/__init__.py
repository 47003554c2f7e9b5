"""What watching costs, measured: `make bench`, or `python -m bench [NAME…]` for some of it.

Each benchmark is one file with a sentence about the work it does (`WORK`) and `measure()`, which starts
the real programs on a home of its own and returns figures. A figure is a ratio of two things measured in
the same run, side by side, or a size or delay that the product promises; never a time that only this
machine could have. To add one, write its file and put its name in `NAMES` in `__main__.py`.

`figures.json` has the figures that were accepted last; `counts` needs no quiet machine and runs with the tests too.
"""
