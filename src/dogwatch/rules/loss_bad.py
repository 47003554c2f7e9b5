"""The loss of a training is no number any more, or has gone far above the level it had come to and stays there."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Running
from dogwatch.rules.interface import Case, Rule
from dogwatch.text import plain

name = "loss_bad"

BROKEN = "stop it and resume from an earlier checkpoint; a lower learning rate, gradient clipping or bf16 may help"
DIVERGED = "check the loss curve; an earlier checkpoint and a lower learning rate may save the run"


def judge(case: Case, now: float) -> Iterator[Finding]:
    found = case.loss
    if found is None or not isinstance(case.known.state, Running):
        return
    since = f" since step {found.since:g}" if found.since is not None else ""
    title = plain(found.name, 40)
    if found.broken:
        text = f"{title} is not a number{since}: {BROKEN}"
        yield Finding(case.job.ref, name, Level.CRITICAL, text, "nan")
    else:
        text = f"{title} is {found.now:.3g}, far above the {found.best:.3g} it had reached{since}: {DIVERGED}"
        yield Finding(case.job.ref, name, Level.WARNING, text, "diverged")


def gone(case: Case, what: str) -> Closing:
    """A loss that is well again is None, as one is of which nothing was read; that is said by `unsure`."""
    return Closing.RESOLVED


PLUGIN = Rule(
    name,
    judge=judge,
    states=(Running,),
    needs="loss",
    gone=gone,
    gives_way_to=("loss_bad",),  # what diverged is no number any more
)
