"""Why it failed: from all that is known of an ending to its most likely cause, with the lines that show it.

`catalog/` has the causes: each is a row with its patterns, what rules them out, and advice. `line_collector.py` finds
the lines of a log that matter, in bounded memory; `failure_episode.py` keeps those of its last failure;
`exit_evidence.py` reads what is known without a log; `diagnose.py` decides. Nothing here opens a file or reads the
clock. May import `dogwatch.text` and the layers below.

To add a cause, add a row to the catalog, and lines that show it to tests/diagnosis/examples.txt. Advice that names a
scheduler's commands or flags is `OnScheduler(words there, words elsewhere)`; all other advice is a plain string.
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
