"""Clock times in these tests are those of UTC, wherever they run."""

from __future__ import annotations

import time

import pytest


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
