"""Whether a notice goes out on a channel, and the reason that is given."""

from __future__ import annotations

from typing import Any

import pytest

from dogwatch.engine.alerting import Now, Pace, Quiet, backoff, decide, decide_again, ready_at

NOW = 1.8e9  # 2027-01-15 08:00 UTC
JOB = "lab/slurm:7"


def notice(**more: Any) -> dict[str, Any]:
    told = {"subject": JOB, "rule": "worker_gone", "what": "0", "level": "critical", "resolved": 0, "created": NOW}
    return {**told, "since": NOW - 60, **more}


def now(**more: Any) -> Now:
    told = {
        "at": NOW,
        "open": frozenset({(JOB, "worker_gone", "0")}),
        "places": {JOB: "lab"},
        "names": {JOB: "llama/7b"},
    }
    return Now(**{**told, **more})


def decided(
    about: dict[str, Any], route: dict[str, Any], at: Now, flaps: int = 1, said: bool = True
) -> tuple[str, str]:
    found = decide(about, route, at, flaps=flaps, opening_said=said)
    return found.state, found.reason


@pytest.mark.parametrize(
    ("about", "route", "context", "expected"),
    [
        ({}, {}, {}, ("waiting", "it goes out with the next message")),
        ({"level": "progress"}, {}, {}, ("muted", "this channel does not take progress")),
        ({"level": "info"}, {"levels": ["critical"]}, {}, ("muted", "this channel does not take info")),
        ({}, {"jobs": ["llama/*"]}, {}, ("waiting", "it goes out with the next message")),
        ({}, {"jobs": ["bert*"]}, {}, ("muted", "this channel takes only jobs like bert*")),
        ({}, {"rules": ["disk*"]}, {}, ("muted", "this channel takes only rules like disk*")),
        ({}, {}, {"dark": frozenset({"lab"})}, ("held", "lab does not answer; that is what was said instead")),
        (
            {"rule": "place_dark", "subject": "place:lab"},
            {},
            {"dark": frozenset({"lab"})},
            ("waiting", "it goes out with the next message"),
        ),
    ],
)
def test_a_decision_has_its_reason(about, route, context, expected):
    """The words that `alerts explain` prints."""
    assert decided(notice(**about), route, now(**context)) == expected


def silence(**more: Any) -> dict[str, Any]:
    return {"key": 3, "subject": "llama/*", "rule": "", "what": None, "until": NOW + 60, "created": NOW, **more}


@pytest.mark.parametrize(
    ("one", "state"),
    [
        (silence(), "muted"),
        (silence(subject=JOB), "muted"),
        (silence(subject="*", rule="worker_*"), "muted"),
        (silence(subject="*", rule="disk_low"), "waiting"),
        (silence(until=NOW), "waiting"),
        (silence(subject=JOB, rule="worker_gone", what="0", until=None), "muted"),
        (silence(subject=JOB, rule="worker_gone", what="1", until=None), "waiting"),
    ],
)
def test_a_silence_covers_what_it_names_for_as_long_as_it_says(one, state):
    """By name or ref, by rule, up to its end; an acknowledgement covers one finding."""
    assert decided(notice(), {}, now(silences=[one]))[0] == state


def test_a_resolution_is_said_where_the_opening_was():
    """And nowhere else."""
    assert decided(notice(resolved=1, level="info"), {}, now(), said=False)[0] == "muted"
    assert decided(notice(resolved=1, level="info"), {}, now())[0] == "waiting"


def test_what_flaps_is_muted_but_its_end_is_said():
    """From the sixth time within an hour."""
    assert decided(notice(), {}, now(), flaps=5)[0] == "waiting"
    assert decided(notice(), {}, now(), flaps=6) == ("muted", "it is flapping: 6 times within the hour")
    assert decided(notice(resolved=1, level="info"), {}, now(), flaps=6)[0] == "waiting"


def test_quiet_hours_hold_what_is_not_critical(monkeypatch):
    """Until they end, also over midnight."""
    monkeypatch.setenv("TZ", "UTC")
    import time

    time.tzset()
    quiet = Quiet(22 * 60, 9 * 60)
    found = decide(notice(level="warning"), {}, now(quiet=quiet), flaps=1, opening_said=True)
    assert (found.state, found.due) == ("held", NOW + 3600)
    assert decide(notice(), {}, now(quiet=quiet), flaps=1, opening_said=True).state == "waiting"
    assert Quiet(9 * 60, 10 * 60).until(NOW) is None


def test_what_was_held_back_goes_out_only_if_it_is_still_true():
    """An ending is true for ever."""
    assert decide_again(notice(), now()).state == "waiting"
    assert decide_again(notice(), now(open=frozenset())).state == "dropped"
    assert decide_again(notice(rule="ended"), now(open=frozenset())).state == "waiting"


def letter(created: float, due: float) -> dict[str, Any]:
    return {"due": due, "about": {"created": created, "rule": "worker_gone"}}


@pytest.mark.parametrize(
    ("waiting", "last", "at", "expected"),
    [
        ([letter(NOW, NOW)], None, NOW + 4, False),
        ([letter(NOW, NOW)], None, NOW + 5, True),
        ([letter(NOW, NOW), letter(NOW + 4, NOW + 4)], None, NOW + 6, False),
        ([letter(NOW, NOW), letter(NOW + 58, NOW + 58)], None, NOW + 60, True),
        ([letter(NOW, NOW)], NOW - 10, NOW + 6, False),
        ([letter(NOW, NOW)], NOW - 55, NOW + 6, True),
        ([letter(NOW + 9999, NOW + 9999)], None, NOW, True),
    ],
)
def test_a_message_waits_for_company_but_not_for_long(waiting, last, at, expected):
    """Five seconds without another, sixty at most, and one message a minute; a clock set back holds nothing."""
    assert (ready_at(waiting, last, at, Pace()) <= at) is expected


def test_tries_come_less_and_less_often():
    """Doubling with jitter up to an hour; what the receiver asks for is honoured."""
    waits = [backoff(tries, 0.5, None) for tries in range(40)]
    assert waits[:3] == [5.0, 10.0, 20.0]
    assert waits[-1] == 3600.0
    assert backoff(0, 0.0, None) < backoff(0, 1.0, None)
    assert 7.0 <= backoff(9, 0.9, 7.0) <= 9.0
