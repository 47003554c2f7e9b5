"""Whether a job beats its time limit, by the estimate and its interval."""

from __future__ import annotations

import pytest

from dogwatch.model import Eta, Facts, Job, Known, Level, Running
from dogwatch.rules import time_limit
from dogwatch.rules.interface import Case

NOW = 10_000.0
JOB = Job("here/slurm:1", "here", "slurm", "1", "train")


def judged(eta: Eta, left: float) -> list[tuple[Level, str]]:
    case = Case(JOB, Known(Running(NOW - 3600)), eta=eta, facts=Facts(time_limit_at=NOW + left))
    return [(finding.level, finding.text) for finding in time_limit.judge(case, NOW)]


def test_a_job_that_beats_its_limit_is_not_mentioned():
    """Also when the interval reaches beyond it."""
    assert judged(Eta(3000, 2800, 3200, 0.9), 3600) == []
    assert judged(Eta(3000, 2000, 6000, 0.9), 3600) == []


def test_a_job_that_may_miss_its_limit_is_a_warning_and_one_that_will_is_critical():
    """By where the interval lies; with the limit to ask for, from its upper end."""
    ((level, text),) = judged(Eta(4000, 3000, 6000, 0.9), 3600)
    assert level is Level.WARNING
    assert text.startswith("may not finish before its time limit: about 01:07:00 to go, 01:00:00 left")
    assert text.endswith("a limit of 03:00:00")
    ((level, text),) = judged(Eta(8000, 7000, 9000, 0.9), 3600)
    assert level is Level.CRITICAL
    assert text.startswith("will not finish")


@pytest.mark.parametrize("confidence", [0.5, 0.75])
def test_a_guess_is_never_called_sure(confidence):
    """An interval of little confidence says may."""
    ((level, _),) = judged(Eta(8000, 7000, 9000, confidence), 3600)
    assert level is Level.WARNING
