"""A kill at a system call loses nothing."""

from __future__ import annotations

from tests.alerts.points import kill_at_points
from tests.conftest import needs_tool

pytestmark = needs_tool("strace")


def test_a_kill_at_any_system_call_of_a_cycle_loses_nothing_and_repeats_one_message_at_most(tmp_path):
    """Spread evenly over opening the store, writing, routing, composing, sending and recording; `make chaos` takes
    every one. Also what is said of a channel that refuses a message for good is never lost."""
    found = kill_at_points(tmp_path / "scene", most=40)
    assert found.points >= 36, str(found)
    assert (found.lost, found.silences_lost, found.flaws) == (0, 0, []), str(found)
    assert found.most_together <= 1, str(found)
