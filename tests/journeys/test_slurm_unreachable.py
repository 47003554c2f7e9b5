"""A host that stops answering: every list and answer says so beside the job, and claims nothing else."""

from __future__ import annotations

import json
import re

from tests.lab.lab import Lab
from tests.support import wait_until

SAID = re.compile(r"unreachable since \d\d:\d\d; last confirmed \d+ (s|min) ago")


def test_an_unreachable_host_is_said_beside_the_job(dogwatch, calm_lab: Lab):
    """`ls`, `status`, `why` and `wait` say since when and how old their knowledge is, and so does their JSON; when the
    host is back, nothing of it is left."""
    far = calm_lab.far()
    config = calm_lab.ssh_config
    added = dogwatch("host", "add", "lab", "--ssh", far, "--ssh-config", config, "--floor", "1s")
    assert added.returncode == 0, added.stderr
    job = calm_lab.sbatch("alice", "sleep 600", "-J", "train", "-t", "30")
    calm_lab.wait_state(job, "RUNNING")
    assert dogwatch("add", "slurm", job, "--host", "lab").returncode == 0
    name = f"lab/slurm:{job}"
    wait_until(lambda: "running" in dogwatch("ls").stdout, timeout=60)
    shown = dogwatch("ls", "--no-poll").stdout
    assert "/30m" in shown
    assert re.search(r"lab: \S+", shown)
    calm_lab.cut(far)
    try:
        wait_until(lambda: dogwatch("patrol").returncode == 3, timeout=90, pause=0.5)
        assert SAID.search(dogwatch("ls", "--no-poll").stdout)
        assert SAID.search(dogwatch("status", name, "--no-poll").stdout)
        assert SAID.search(dogwatch("why", name, "--no-poll").stdout)
        waited = dogwatch("wait", name, "--timeout", "1")
        assert (waited.returncode, bool(SAID.search(waited.stdout))) == (124, True)
        for words in (("ls",), ("status", name), ("why", name)):
            told = json.loads(dogwatch(*words, "--json", "--no-poll").stdout)
            outage = (told["jobs"][0] if "jobs" in told else told)["unreachable"]
            assert set(outage) == {"since", "why", "last_confirmed_at"}
        assert json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["jobs"][0]["state"] == "running"
    finally:
        calm_lab.restore(far)
    wait_until(lambda: "unreachable" not in dogwatch("ls").stdout, timeout=60, pause=0.5)
