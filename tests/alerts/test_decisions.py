"""Whether a notification goes out on a channel, and the reason that is given."""

from __future__ import annotations

from typing import Any

import pytest

from dogwatch.store.rows.deliveries import Decision, Delivery
from dogwatch.store.rows.findings import SilenceRow
from dogwatch.store.rows.notifications import NotificationRow
from dogwatch.watcher.alerts.policy import Now, Pace, Quiet, Route, backoff, decide, decide_again, ready_at

NOW = 1.8e9  # 2027-01-15 08:00 UTC
JOB = "lab/slurm:7"


def notification(**more: Any) -> NotificationRow:
    told = {"subject": JOB, "rule": "worker_gone", "what": "0", "level": "critical", "resolved": 0, "created": NOW}
    empty = dict.fromkeys(("key", "text", "why", "remedy"), "")
    return NotificationRow(**{**empty, **told, "since": NOW - 60, **more})


def now(**more: Any) -> Now:
    told = {
        "at": NOW,
        "open": frozenset({(JOB, "worker_gone", "0")}),
        "places": {JOB: "lab"},
        "names": {JOB: "llama/7b"},
    }
    return Now(**{**told, **more})


def decided(
    about: NotificationRow, route: dict[str, Any], at: Now, flaps: int = 1, said: bool = True
) -> tuple[str, str]:
    decision = decide(about, Route(**route), at, flaps=flaps, opening_said=said)
    return decision.state, decision.reason


@pytest.mark.parametrize(
    ("about", "route", "context", "expected"),
    [
        ({}, {}, {}, ("waiting", "sent with the next message")),
        ({"level": "progress"}, {}, {}, ("muted", "this channel does not take progress")),
        ({"level": "info"}, {"levels": ["critical"]}, {}, ("muted", "this channel does not take info")),
        ({}, {"jobs": ["llama/*"]}, {}, ("waiting", "sent with the next message")),
        ({}, {"jobs": ["bert*"]}, {}, ("muted", "this channel only takes jobs like bert*")),
        ({}, {"rules": ["disk*"]}, {}, ("muted", "this channel only takes rules like disk*")),
        ({}, {}, {"unreachable": frozenset({"lab"})}, ("held", "lab does not answer; that was sent instead")),
        (
            {"rule": "host_unreachable", "subject": "place:lab"},
            {},
            {"unreachable": frozenset({"lab"})},
            ("waiting", "sent with the next message"),
        ),
    ],
)
def test_a_decision_has_its_reason(about, route, context, expected):
    """The words that `alerts explain` prints."""
    assert decided(notification(**about), route, now(**context)) == expected


def silence(**more: Any) -> SilenceRow:
    told = {"key": 3, "subject": "llama/*", "rule": "", "what": None, "until": NOW + 60, "created": NOW, "why": ""}
    return SilenceRow(**{**told, **more})


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
    assert decided(notification(), {}, now(silences=[one]))[0] == state


def test_a_resolution_is_said_where_the_opening_was():
    """And nowhere else."""
    assert decided(notification(resolved=1, level="info"), {}, now(), said=False)[0] == "muted"
    assert decided(notification(resolved=1, level="info"), {}, now())[0] == "waiting"


def test_what_flaps_is_muted_but_its_end_is_said():
    """From the sixth time within an hour."""
    assert decided(notification(), {}, now(), flaps=5)[0] == "waiting"
    assert decided(notification(), {}, now(), flaps=6) == ("muted", "it is flapping: 6 times within the hour")
    assert decided(notification(resolved=1, level="info"), {}, now(), flaps=6)[0] == "waiting"


def test_quiet_hours_hold_what_is_not_critical(monkeypatch):
    """Until they end, also over midnight."""
    monkeypatch.setenv("TZ", "UTC")
    import time

    time.tzset()
    quiet = Quiet(22 * 60, 9 * 60)
    decision = decide(notification(level="warning"), Route(), now(quiet=quiet), flaps=1, opening_said=True)
    assert (decision.state, decision.due) == ("held", NOW + 3600)
    assert decide(notification(), Route(), now(quiet=quiet), flaps=1, opening_said=True).state == "waiting"
    assert Quiet(9 * 60, 10 * 60).until(NOW) is None


def test_what_was_held_back_goes_out_only_if_it_is_still_true():
    """An ending is true for ever."""
    assert decide_again(notification(), now()).state == "waiting"
    assert decide_again(notification(), now(open=frozenset())).state == "dropped"
    assert decide_again(notification(rule="ended"), now(open=frozenset())).state == "waiting"


def delivery(created: float, due: float, level: str = "warning") -> Delivery:
    return Delivery(1, "hook", Decision("waiting", "", due), notification(created=created, level=level))


@pytest.mark.parametrize(
    ("waiting", "last", "at", "expected"),
    [
        ([delivery(NOW, NOW)], [], NOW + 4, False),
        ([delivery(NOW, NOW)], [], NOW + 5, True),
        ([delivery(NOW, NOW), delivery(NOW + 4, NOW + 4)], [], NOW + 6, False),
        ([delivery(NOW, NOW), delivery(NOW + 58, NOW + 58)], [], NOW + 60, True),
        ([delivery(NOW, NOW)], [NOW - 10], NOW + 6, False),
        ([delivery(NOW, NOW)], [NOW - 55], NOW + 6, True),
        ([delivery(NOW, NOW, "critical")], [NOW - 1, NOW - 2], NOW + 5, True),
        ([delivery(NOW, NOW, "critical")], [NOW - 1, NOW - 2, NOW - 3], NOW + 6, False),
        ([delivery(NOW, NOW, "critical")], [NOW - 1, NOW - 2, NOW - 55], NOW + 6, True),
        ([delivery(NOW + 9999, NOW + 9999)], [], NOW, True),
    ],
)
def test_a_message_waits_for_company_but_not_for_long(waiting, last, at, expected):
    """Five seconds without another, sixty at most, and one message a minute, three if they are critical; a clock set
    back holds nothing."""
    assert (ready_at(waiting, last, at, Pace()) <= at) is expected


def test_tries_come_less_and_less_often():
    """Doubling with jitter up to an hour; what the receiver asks for is honoured."""
    waits = [backoff(tries, 0.5, None) for tries in range(40)]
    assert waits[:3] == [5.0, 10.0, 20.0]
    assert waits[-1] == 3600.0
    assert backoff(0, 0.0, None) < backoff(0, 1.0, None)
    assert 7.0 <= backoff(9, 0.9, 7.0) <= 9.0
