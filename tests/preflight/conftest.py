"""The checklist as people run it, and what it said by item."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.remote.test_probe_hung import frozen_disk
from tests.transport.conftest import sshd

__all__ = ["frozen_disk", "sshd"]


class Told:
    """One run of `dogwatch preflight --json`: its code, its document, and its lines by what they are about."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.said = done.returncode, done.stderr
        self.document: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
        self.lines = self.document.get("checks", [])

    def of(self, what: str) -> tuple[str, str]:
        """(verdict, text) of the one line about this."""
        found = [(line["verdict"], line["text"]) for line in self.lines if line["what"] == what]
        assert len(found) == 1, (what, self.lines, self.said)
        return found[0]

    def verdict(self, what: str) -> str:
        return self.of(what)[0]

    def about(self) -> list[str]:
        return [line["what"] for line in self.lines]


Preflight = Callable[..., Told]


@pytest.fixture
def preflight(dogwatch, tmp_path: Path) -> Preflight:
    """In a directory of the test's own, with nothing of the caller's Python in the environment."""
    where = tmp_path / "start"
    where.mkdir()

    def run(*words: object, env: dict[str, str] | None = None, **more: Any) -> Told:
        bare = {"PYTHONUNBUFFERED": "", "VIRTUAL_ENV": "", "CONDA_PREFIX": "", "CUDA_VISIBLE_DEVICES": ""}
        bare["XDG_CONFIG_HOME"] = str(tmp_path / "no-config")
        return Told(dogwatch("preflight", "--json", *words, env={**bare, **(env or {})}, cwd=where, **more))

    return run


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    """A directory for programs of the test's own."""
    path = tmp_path / "bin"
    path.mkdir()
    return path


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def on_path(bin_dir: Path) -> dict[str, str]:
    """The environment that finds them first."""
    return {"PATH": f"{bin_dir}:{os.environ['PATH']}"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB and 64 inodes."""
    disk = tmp_path / "small"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=64", "tmpfs", str(disk)])
    if mounted.returncode:
        pytest.skip("needs to mount a tmpfs, which is not permitted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


PYTHON = sys.executable
