"""Findings open, are reworded, and resolve."""

from __future__ import annotations

from dogwatch.model import Finding, Level
from dogwatch.watcher.tick.judge import compare, identity

LOW = Finding("job", "disk_low", Level.WARNING, "8 GB free", "/data")
GONE = Finding("job", "worker_gone", Level.CRITICAL, "worker 1 is gone", "worker 1", lasting=True)


def opened(*findings: Finding) -> dict:
    return {identity(finding): finding for finding in findings}


def test_what_is_found_for_the_first_time_opens() -> None:
    """And nothing else happens."""
    judgement = compare("job", [LOW], {})
    assert (judgement.opened, judgement.reworded, judgement.resolved) == ((LOW,), (), ())


def test_what_is_found_again_in_other_words_stays_the_same_finding() -> None:
    """No second alert for a number that moves."""
    less = Finding("job", "disk_low", Level.WARNING, "7 GB free", "/data")
    judgement = compare("job", [less], opened(LOW))
    assert (judgement.opened, judgement.reworded, judgement.resolved) == ((), (less,), ())


def test_what_is_no_longer_found_resolves_unless_it_is_a_fact_about_the_past() -> None:
    """A disk can get room again; a crashed worker cannot un-crash."""
    judgement = compare("job", [], opened(LOW, GONE))
    assert judgement.resolved == (LOW,)


def test_findings_of_others_are_left_alone() -> None:
    """A job speaks only for itself."""
    assert compare("other", [], opened(LOW)).resolved == ()
