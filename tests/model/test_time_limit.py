"""The time limit to ask for, by how far a job came."""

from __future__ import annotations

import pytest

from dogwatch.model.time_limit import limit_to_ask


@pytest.mark.parametrize(
    ("limit", "ran", "done", "asked"),
    [
        (120.0, 120.0, 0.126, 1200.0),  # 16 min and a tenth
        (3600.0, 3600.0, 0.5, 8400.0),
        (3600.0, 3600.0, 0.99, 4200.0),
        (86400.0, 86400.0, 0.5, 53 * 3600.0),
        (3600.0, 3600.0, None, 5400.0),
        (3600.0, 3600.0, 0.001, 5400.0),
        (3600.0, 3600.0, 1.0, 5400.0),
        (3600.0, 600.0, 0.9, 3600.0),
        (None, None, None, None),
    ],
)
def test_the_limit_follows_from_progress(limit, ran, done, asked):
    """What the whole takes at the pace that was seen and a tenth more; without progress, half as much again."""
    assert limit_to_ask(limit, ran, done) == asked
