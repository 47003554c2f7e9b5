"""How a request gets to a place and comes back, with a deadline. Only here and in hands/ do processes start.

May import model, clock, errors, text and what aboard's own `__init__` offers. A way of reaching is one file with one
class that fits `interface.Reach` (`here.py`, `ssh.py`): not being able to look is a value (`Dark`), never an exception.
`child.py` is how processes are started and ended; `target.py`, `excuse.py` and `host_keys.py` are about ssh.
"""
