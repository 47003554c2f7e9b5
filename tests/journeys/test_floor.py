"""A host that does not answer is asked again, and never more often than its owner allowed."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support import wait_until


class Closed:
    """A server that hangs up on whoever comes, and when they came by the journey's clock."""

    def __init__(self, fast) -> None:
        self.came: list[float] = []
        self._fast, self._door = fast, socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._turn_away, daemon=True).start()

    def _turn_away(self) -> None:
        while True:
            try:
                caller, _ = self._door.accept()
            except OSError:
                return
            self.came.append(time.monotonic() + self._fast.ahead)
            caller.close()

    def close(self) -> None:
        self._door.close()


@pytest.fixture
def closed(fast, dogwatch, tmp_path: Path) -> Iterator[Closed]:
    """A host with a floor of a minute that hangs up, and a job that is watched there."""
    server = Closed(fast)
    config, key = tmp_path / "ssh_config", tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, timeout=20)
    (tmp_path / "known").write_text(f"[127.0.0.1]:{server.port} {key.with_suffix('.pub').read_text()}")
    where = f"Host gone\n  HostName 127.0.0.1\n  Port {server.port}\n"
    config.write_text(f"{where}  UserKnownHostsFile {tmp_path}/known\n")
    added = dogwatch("host", "add", "gone", "--ssh", "gone", "--ssh-config", config, "--floor", "60s")
    assert added.returncode in (0, 3), added.stderr
    assert dogwatch("add", "slurm", "7", "--host", "gone").returncode == 0
    server.came.clear()
    yield server
    server.close()


def test_a_host_that_hangs_up_is_never_asked_more_often_than_its_floor(closed, dogwatch, spawn, fast) -> None:
    """Neither by a second patrol, nor by a daemon that starts right after it, nor when it is tried again."""
    assert dogwatch("patrol").returncode == 3
    assert len(closed.came) == 1
    dogwatch("patrol")
    assert len(closed.came) == 1
    spawn("daemon")
    with fast(40):
        wait_until(lambda: len(closed.came) >= 3, timeout=40, pause=0.1)
    assert min(later - earlier for earlier, later in pairwise(closed.came)) >= 60
