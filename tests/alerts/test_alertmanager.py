"""The comparison with a real Alertmanager measures what it says."""

from __future__ import annotations

from pathlib import Path

from tests.alerts import alertmanager
from tests.conftest import needs_tool

pytestmark = needs_tool("prometheus-alertmanager")


def test_a_client_that_hands_everything_over_again_loses_nothing_there(tmp_path: Path) -> None:
    """What it took is counted, and what it said; `make chaos` prints what becomes of it under many kills."""
    found = alertmanager.storm(tmp_path / "killed", kills=2, seed=1, again=True)
    assert (found.taken, found.lost, found.silences) == (2 * alertmanager.EACH, 0, 2)
    assert found.repeats <= 2 * alertmanager.EACH
