"""The probe as a file, for tests that start it themselves, and as it is asked on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.aboard import probe_text
from dogwatch.reach.here import Here


@pytest.fixture
def probe_file(tmp_path: Path) -> str:
    """The path of the joined probe."""
    path = tmp_path / "joined-probe.py"
    path.write_bytes(probe_text())
    return str(path)


@pytest.fixture
def here() -> Iterator[Here]:
    """The probe of this machine, gone afterwards."""
    reach = Here()
    yield reach
    reach.close()
