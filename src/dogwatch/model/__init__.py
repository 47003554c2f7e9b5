"""The nouns of Dogwatch, as frozen values, and `follow()`, which turns a Poll into Changes.

Imports the standard library only; no I/O and no clock: time comes in as an argument, in seconds
since the epoch (UTC). A new noun gets a file of its own, or goes beside related
ones, and gets a line in docs/words.md.
"""

from dogwatch.model.decision import Decision
from dogwatch.model.facts import (
    CancelledBy,
    EarlierRun,
    Efficiency,
    Facts,
    GpuFigures,
    GpuSummary,
    RareFacts,
    Task,
    Tasks,
)
from dogwatch.model.finding import Closing, Finding, Level, Notification, closing, notification_key
from dogwatch.model.follow import Change, Known, follow
from dogwatch.model.gpu import Gpu, GpuHistory, GpuPast, GpuProcess, Stray
from dogwatch.model.job import Expectation, Job, Place
from dogwatch.model.log_event import (
    ErrorGroup,
    Finished,
    Interval,
    LogEvent,
    Metric,
    Origin,
    Phase,
    Resumed,
    Step,
    Total,
    Trouble,
)
from dogwatch.model.loss import Loss
from dogwatch.model.message import Curve, Item, Message
from dogwatch.model.outcome import EndEvidence, Found, LogEnd, Word, final_outcome, final_reason
from dogwatch.model.poll import Answered, Observation, Poll, Unreachable, Worker
from dogwatch.model.progress import Eta, Point, Progress
from dogwatch.model.stages import BoxFacts, Stage
from dogwatch.model.state import Ended, Evidence, Missing, Outcome, Running, State, Waiting
from dogwatch.model.verdict import StallEvidence, StallState, Straggler, Verdict

__all__ = [
    "Answered",
    "BoxFacts",
    "CancelledBy",
    "Change",
    "Closing",
    "Curve",
    "Decision",
    "EarlierRun",
    "Efficiency",
    "EndEvidence",
    "Ended",
    "ErrorGroup",
    "Eta",
    "Evidence",
    "Expectation",
    "Facts",
    "Finding",
    "Finished",
    "Found",
    "Gpu",
    "GpuFigures",
    "GpuHistory",
    "GpuPast",
    "GpuProcess",
    "GpuSummary",
    "Interval",
    "Item",
    "Job",
    "Known",
    "Level",
    "LogEnd",
    "LogEvent",
    "Loss",
    "Message",
    "Metric",
    "Missing",
    "Notification",
    "Observation",
    "Origin",
    "Outcome",
    "Phase",
    "Place",
    "Point",
    "Poll",
    "Progress",
    "RareFacts",
    "Resumed",
    "Running",
    "Stage",
    "StallEvidence",
    "StallState",
    "State",
    "Step",
    "Straggler",
    "Stray",
    "Task",
    "Tasks",
    "Total",
    "Trouble",
    "Unreachable",
    "Verdict",
    "Waiting",
    "Word",
    "Worker",
    "closing",
    "final_outcome",
    "final_reason",
    "follow",
    "notification_key",
]
