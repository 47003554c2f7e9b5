"""How a request gets to a place and comes back, with a deadline. Only here and in actions/ do processes start.

May import model, clock, errors, text and what remote's own `__init__` offers. A transport is one file with one class
that fits `interface.Transport` (`local.py`, `ssh.py`): a place that cannot be reached is a value (`Unreachable`), never
an exception. `child.py` starts and ends processes; `target.py`, `ssh_failure.py` and `host_keys.py` are about ssh.
"""
