"""Why it failed: all that is known of an ending → its likeliest cause, with the lines that show it.

`rows_….py` are the table: a cause is one row with its signs, what rules them out, advice, and example lines that
are tests. `gather.py` finds telling lines in a log in bounded memory, `fall.py` keeps those of its last fall,
`outside.py` reads what is known without a log, `diagnose.py` decides. Pure: nothing here opens a file or knows the
time. May import `dogwatch.text` and the floors below; to add a cause, add a row: advice that names Slurm's commands or
flags is `OnSlurm(words there, words elsewhere)`, everything else a plain string.
"""

from dogwatch.causes.diagnose import diagnose, gathered, judge
from dogwatch.causes.gather import Gather
from dogwatch.causes.interface import Alternative, Cause, Diagnosis, Evidence, Log, OnSlurm, Quote, Retry, Role, Witness
from dogwatch.causes.notes import Notes
from dogwatch.causes.table import CAUSES

__all__ = [
    "CAUSES",
    "Alternative",
    "Cause",
    "Diagnosis",
    "Evidence",
    "Gather",
    "Log",
    "Notes",
    "OnSlurm",
    "Quote",
    "Retry",
    "Role",
    "Witness",
    "diagnose",
    "gathered",
    "judge",
]
