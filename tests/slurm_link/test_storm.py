"""The storm over the controller, short enough for every test run; `make chaos` is the long one."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.cluster import Cluster, check, report
from tests.lab.lab import Lab

OUTAGES = 5


def test_a_controller_that_is_killed_and_stopped_again_and_again_makes_no_wrong_verdict(lab: Lab, home: Path) -> None:
    """Jobs that end around the outages are called what they were, those that do not are left alone, an outage is one
    alert for the place and none for a job, and nothing is left on the host or here."""
    storm = Cluster(lab, home, seed=3, wanted=OUTAGES)
    storm.run()
    events = storm.events()
    flaws = [*storm.flaws, *check(storm, events)]
    report(storm, events, flaws)
    assert flaws == []
    assert storm.outages.total() == OUTAGES
    assert storm.noticed >= 1
