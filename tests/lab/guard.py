"""The guardian: a process that does nothing but wait for the last user of the laboratory to go, and then ends it."""

from __future__ import annotations

import time
from pathlib import Path

from tests.lab.lab import Lab


def guard(directory: Path) -> None:
    """Return when the laboratory is gone, by whosever hand."""
    lab = Lab(directory)
    while (directory / "lab.json").exists() and not lab.stop_if_unused():
        time.sleep(0.5)
