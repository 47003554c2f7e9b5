"""Homes that are refused, through the real program: exit code 2 and one sentence, before anything is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import needs_fuse, needs_root
from tests.faults.scene import refused
from tests.store.test_home import FUSE
from tests.support import wait_until

VERBS = (["ls"], ["run", "--detach", "--", "true"], ["daemon"], ["doctor"], ["patrol"])


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_world_readable_home_is_refused_by_every_verb(dogwatch, home: Path, verb: list[str]) -> None:
    """The sentence holds the command that mends it."""
    home.chmod(0o755)
    assert f"chmod 700 {home}" in refused(dogwatch(*verb), 2)
    assert list(home.iterdir()) == []


def test_a_symlinked_home_is_refused(dogwatch, home: Path, tmp_path: Path) -> None:
    """The sentence names the directory to use instead."""
    link = tmp_path / "link"
    link.symlink_to(home)
    sentence = refused(dogwatch("ls", env={"DOGWATCH_HOME": str(link)}), 2)
    assert "symbolic link" in sentence
    assert str(home) in sentence
    assert list(home.iterdir()) == []


@needs_root
def test_a_home_of_somebody_else_is_refused(dogwatch, home: Path) -> None:
    """Even root does not keep its truth in a directory that another user can change."""
    os.chown(home, 12345, 12345)
    assert "uid 12345" in refused(dogwatch("run", "--detach", "--", "true"), 2)
    assert list(home.iterdir()) == []


@needs_fuse
def test_a_home_on_a_network_disk_is_refused(dogwatch, tmp_path: Path) -> None:
    """A real FUSE mount, refused before anything is written to it."""
    point = tmp_path / "far"
    point.mkdir(mode=0o700)
    mount = subprocess.Popen([sys.executable, "-c", FUSE, str(point)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: os.path.ismount(point))
        assert "local disk" in refused(dogwatch("ls", env={"DOGWATCH_HOME": str(point)}), 2)
    finally:
        subprocess.run(["fusermount3", "-u", "-z", str(point)], check=False)
        mount.kill()
        mount.wait()
