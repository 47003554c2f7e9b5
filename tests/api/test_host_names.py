"""A registry's host is one of ours under any name that ssh would take for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dogwatch.model import Place
from dogwatch.store.rows import registration as register
from dogwatch.store.sqlite.location import open_store

HOST = """\
Host hpc
  HostName login7.example.org
  User alice
  Port 1
Host 203.0.113.9
  HostName login7.example.org
  User alice
  Port 1
Host other
  HostName login9.example.org
"""


@pytest.mark.parametrize(
    "called", ["hpc", "login7.example.org", "203.0.113.9", "alice@login7.example.org", "alice@hpc"]
)
def test_an_address_or_alias_of_a_known_host_is_that_host(dogwatch, home: Path, tmp_path: Path, called: str):
    """However the registry spells it, no second place and no refused entry comes of it."""
    config, registry = tmp_path / "ssh_config", tmp_path / "jobs.json"
    config.write_text(HOST)
    with open_store(str(home)) as store:
        register.add_place(store, Place("cluster", "ssh", {"ssh": "hpc", "config": str(config)}, 60.0))
        register.add_place(store, Place("second", "ssh", {"ssh": "other", "config": str(config)}, 60.0))
    told = {"type": "slurm", "id": "4242", "host": called, "user": "alice", "submitted": "2026-11-17 20:00"}
    registry.write_text(json.dumps([{**told, "description": "PTQ", "last_status": "PENDING"}]))
    done = dogwatch("sync", "--file", registry)
    assert "watched as cluster/slurm:4242" in done.stdout, done.stderr


@pytest.mark.parametrize("called", ["login8.example.org", "bob@hpc", "-oProxyCommand=x"])
def test_another_name_or_user_is_another_host(dogwatch, home: Path, tmp_path: Path, called: str):
    """It is refused by name."""
    config, registry = tmp_path / "ssh_config", tmp_path / "jobs.json"
    config.write_text(HOST)
    with open_store(str(home)) as store:
        register.add_place(store, Place("cluster", "ssh", {"ssh": "hpc", "config": str(config)}, 60.0))
    told = {"type": "slurm", "id": "4242", "host": called, "user": "alice", "submitted": "2026-11-17 20:00"}
    registry.write_text(json.dumps([{**told, "description": "PTQ", "last_status": "PENDING"}]))
    done = dogwatch("sync", "--file", registry)
    assert (done.stdout, called in done.stderr) == ("", True)
