"""The probe as a file, for tests that start it themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogwatch.remote import probe_text


@pytest.fixture
def probe_file(tmp_path: Path) -> str:
    """The path of the joined probe."""
    path = tmp_path / "joined-probe.py"
    path.write_bytes(probe_text())
    return str(path)
