"""The files that travel: programs that run beside a job, on this machine or another.

Each is one self-contained file for Python >= 3.6: it imports the standard library only and nothing
of ours, and nothing of ours imports it; it is started by path, as `python -I -S FILE`. To add one,
write such a file and name its path here.
"""

import os.path

_HERE = os.path.dirname(os.path.abspath(__file__))

KEEPER = os.path.join(_HERE, "keeper.py")
PROBE = os.path.join(_HERE, "probe.py")
