"""Kills lose nothing."""

from __future__ import annotations

from tests.alerts.storm import storm


def test_twenty_kills_lose_no_alert_and_no_silence(tmp_path):
    """At random moments of writing, routing, composing, sending and recording; each repeats one message at most."""
    found = storm(tmp_path / "home", kills=20, count=400, seed=7)
    assert (found.lost, found.silences_lost, found.faults) == (0, 0, ()), str(found)
    assert found.repeats <= found.kills, str(found)
    assert found.silences > 0
