"""For the tests that reach another machine: an sshd of their own, and the laboratory with its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.clock import Clock
from dogwatch.transport.ssh import Ssh
from tests.lab.plugin import calm_lab, lab
from tests.support import wait_until
from tests.transport.sshd import SSHD, Sshd, probes, running

__all__ = ["calm_lab", "lab", "sshd"]


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """An sshd of the test's own, not started yet."""
    if SSHD is None:
        pytest.skip("needs sshd, which is not installed (Debian: openssh-server)")
    directory = tmp_path / "sshd"
    directory.mkdir()
    with running(directory) as one:
        yield one


@pytest.fixture
def transport(sshd: Sshd) -> Iterator[Ssh]:
    """A way to it that leaves nothing there."""
    one = Ssh("lab", "box", str(sshd.config), Clock())
    yield one
    one.close()
    wait_until(lambda: not probes())
