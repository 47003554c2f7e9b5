"""The words of Dogwatch, as frozen values, and `follow()`, which turns a Look into Changes.

Imports the standard library only; no I/O and no clock: time comes in as an argument, in seconds
since the epoch (UTC). To add a word, give it a file of its own or put it beside its kin, and an
entry in docs/words.md.
"""

from dogwatch.model.finding import Closing, Finding, Level, Notice, closing, notice_key
from dogwatch.model.follow import Change, Known, follow
from dogwatch.model.gpu import Gpu, GpuCourse, GpuPast, GpuProcess, Stray
from dogwatch.model.job import Expectation, Job, Place
from dogwatch.model.look import Dark, Look, Seen, Sighting, Worker
from dogwatch.model.loss import Loss
from dogwatch.model.mark import (
    ErrorGroup,
    Finished,
    Interval,
    Mark,
    Metric,
    Origin,
    Phase,
    Resumed,
    Step,
    Total,
    Trouble,
)
from dogwatch.model.message import Curve, Item, Message
from dogwatch.model.outcome import EndEvidence, Found, LogEnd, Word, final_outcome, final_reason
from dogwatch.model.progress import Eta, Point, Progress
from dogwatch.model.state import Ended, Missing, Outcome, Proof, Running, State, Waiting
from dogwatch.model.verdict import Standing, Straggler, Verdict, Witness

__all__ = [
    "Change",
    "Closing",
    "Curve",
    "Dark",
    "EndEvidence",
    "Ended",
    "ErrorGroup",
    "Eta",
    "Expectation",
    "Finding",
    "Finished",
    "Found",
    "Gpu",
    "GpuCourse",
    "GpuPast",
    "GpuProcess",
    "Interval",
    "Item",
    "Job",
    "Known",
    "Level",
    "LogEnd",
    "Look",
    "Loss",
    "Mark",
    "Message",
    "Metric",
    "Missing",
    "Notice",
    "Origin",
    "Outcome",
    "Phase",
    "Place",
    "Point",
    "Progress",
    "Proof",
    "Resumed",
    "Running",
    "Seen",
    "Sighting",
    "Standing",
    "State",
    "Step",
    "Straggler",
    "Stray",
    "Total",
    "Trouble",
    "Verdict",
    "Waiting",
    "Witness",
    "Word",
    "Worker",
    "closing",
    "final_outcome",
    "final_reason",
    "follow",
    "notice_key",
]
