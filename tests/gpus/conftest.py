"""The rig as fixtures: built once, installed for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.transport.local import Here
from tests.gpus.rig import Rig, build


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def rig(tmp_path: Path, libraries: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Rig:
    directory = tmp_path / "rig"
    directory.mkdir()
    made = Rig(directory, libraries)
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def here(rig: Rig) -> Iterator[Here]:
    transport = Here()
    yield transport
    transport.close()
