"""Lines of known_hosts and what ssh says of its settings."""

from __future__ import annotations

import os

from dogwatch.transport.host_keys import _hashed, _lines, _paths, fingerprint
from tests.fuzz.dice import is_clean

PATH = f"/dev/shm/dogwatch-fuzz-{os.getpid()}.known_hosts"


def target(data: bytes) -> None:
    """Of a file, only lines that hold a key are taken; each has a clean fingerprint and can be hidden."""
    with open(PATH, "wb") as file:
        file.write(data)
    try:
        lines = _lines(PATH)
    finally:
        os.unlink(PATH)
    for line in lines:
        assert is_clean(fingerprint(line))
        assert _hashed(line).startswith("|1|")
    assert all(path.startswith("/") for path in _paths(data.decode("utf-8", "replace")))


def seeds() -> list[bytes]:
    key = b"AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    return [
        b"host ssh-ed25519 " + key + b"\n",
        b"[host]:22,1.2.3.4 ecdsa-sha2-nistp256 " + key + b" comment\n# x\n",
        b"@cert-authority * sk-ssh-ed25519@openssh.com " + key + b"\n",
        b"/home/a b/known_hosts /etc/ssh/known none",
    ]
