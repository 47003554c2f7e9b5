"""Why it failed: all that is known of an ending → its most likely cause, with the lines that show it.

`catalog/` has the causes: each is a row with its patterns, what rules them out, advice, and example lines that are
tests. `line_collector.py` finds the lines of a log that matter, in bounded memory; `failure_episode.py` keeps those of
its last failure; `exit_evidence.py` reads what is known without a log; `diagnose.py` decides. Pure: nothing here opens
a file or knows the time. May import `dogwatch.text` and the layers below. To add a cause, add a row: advice that names
a scheduler's commands or flags is `OnScheduler(words there, words elsewhere)`, everything else a plain string.
"""

from dogwatch.diagnosis.collected_lines import CollectedLines
from dogwatch.diagnosis.diagnose import collect_lines, diagnose, judge
from dogwatch.diagnosis.interface import (
    Alternative,
    Cause,
    Diagnosis,
    Evidence,
    Log,
    OnScheduler,
    OutsideEvidence,
    Quote,
    Retry,
    Role,
)
from dogwatch.diagnosis.line_collector import LineCollector
from dogwatch.diagnosis.table import CAUSES

__all__ = [
    "CAUSES",
    "Alternative",
    "Cause",
    "CollectedLines",
    "Diagnosis",
    "Evidence",
    "LineCollector",
    "Log",
    "OnScheduler",
    "OutsideEvidence",
    "Quote",
    "Retry",
    "Role",
    "collect_lines",
    "diagnose",
    "judge",
]
