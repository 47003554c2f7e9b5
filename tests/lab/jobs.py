"""Jobs of the laboratory: submitting, asking, waiting, and records that no job ever left."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import signal
import time
from pathlib import Path

from tests.lab.accounts import Accounts
from tests.lab.ground import NODES, LabError
from tests.lab.processes import kill
from tests.lab.slurm import Slurm
from tests.support import wait_until

# Slurm's own numbers in the accounting database
STATES = {"PENDING": 0, "RUNNING": 1, "COMPLETED": 3, "CANCELLED": 4, "FAILED": 5, "TIMEOUT": 6, "NODE_FAIL": 7}
SACCT = ("JobID", "JobName", "User", "State", "ExitCode", "DerivedExitCode", "Submit", "Start", "End", "NodeList")


class Jobs(Slurm, Accounts):
    """What a user of the cluster does, and what a test wants to know about it."""

    def sbatch(self, user: str, script: str, *flags: object) -> int:
        """Submit a script (`#!/bin/sh` is put before it if it has no first line of that kind); return the job's id."""
        text = script if script.startswith("#!") else f"#!/bin/sh\n{script}\n"
        done = self.run(user, "sbatch", "--parsable", *flags, text=text, check=True)
        return int(done.stdout.strip().partition(";")[0])

    def sbatch_many(self, user: str, count: int, *flags: object) -> list[int]:
        """Submit `count` jobs that are held; about 10 ms each."""
        words = ["sbatch", "--parsable", "--hold", "--wrap=true", "--output=/dev/null", *map(str, flags)]
        script = 'n=$1; shift; while [ "$n" -gt 0 ]; do "$@" || exit 1; n=$((n - 1)); done'
        done = self.run(user, "sh", "-c", script, "sh", count, *words, timeout=60 + count / 10, check=True)
        return [int(line.partition(";")[0]) for line in done.stdout.split()]

    def scancel(self, *words: object) -> None:
        """As root; words are ids, `12_3`, or options."""
        self.must("scancel", *words)

    def scontrol(self, *words: object) -> str:
        """As root: `lab.scontrol("update", "JobId=3", "TimeLimit=2")`."""
        return self.must("scontrol", *words)

    def update(self, what: str, **changes: object) -> None:
        """`lab.update("JobId=3", TimeLimit=2)`, `lab.update("NodeName=gpu01", State="DRAIN", Reason="test")`."""
        self.scontrol("update", what, *(f"{key}={value}" for key, value in changes.items()))

    def expire(self, job: int) -> None:
        """Let a running job's time limit be over now; Slurm looks at limits every 30 s, so TIMEOUT follows soon."""
        self.update(f"JobId={job}", EndTime="now+1seconds")

    def show(self, job: object) -> dict[str, str]:
        """`scontrol show job` as key and value; empty when the controller does not know the job (any more)."""
        done = self.run("root", "scontrol", "show", "job", "-o", job)
        return dict(re.findall(r"(\S+?)=(.*?)(?= \S+?=|$)", done.stdout.splitlines()[0] if done.stdout else ""))

    def squeue_state(self, job: object) -> str:
        """The state by the controller's memory; empty when it does not know the job (any more)."""
        done = self.run("root", "squeue", "-h", "-r", "--states=all", "-j", job, "-o", "%T")
        return done.stdout.split("\n")[0].strip()

    def sacct(self, job: object, *fields: str, steps: bool = False, every: bool = False) -> list[dict[str, str]]:
        """Rows of the accounting, `every` run of a requeued job included if asked for."""
        names = list(fields or SACCT)
        options = [*([] if steps else ["-X"]), *(["-D"] if every else [])]
        done = self.run("root", "sacct", "-n", "-P", "--delimiter=\x1f", *options, "-j", job, "-o", ",".join(names))
        return [dict(zip(names, line.split("\x1f"), strict=True)) for line in done.stdout.splitlines()]

    def state(self, job: object) -> str:
        """One word: the controller's, else the accounting's, else the empty text."""
        state = self.squeue_state(job)
        if not state:
            rows = self.sacct(job, "State")
            state = rows[-1]["State"].split()[0] if rows else ""
        return state

    def wait_state(self, job: object, *states: str, timeout: float = 120) -> str:
        """Wait until the job is in one of these states, and return which."""
        limit = time.monotonic() + timeout
        while (state := self.state(job)) not in states:
            if time.monotonic() > limit:
                raise AssertionError(f"job {job} is {state or 'unknown'} and not {states} after {timeout:.0f} s")
            time.sleep(0.2)
        return state

    def wait_accounting(self, job: object, *states: str, timeout: float = 60) -> list[dict[str, str]]:
        """Wait until the accounting says one of these states for the job, and return its rows with steps."""

        def rows() -> list[dict[str, str]]:
            found = self.sacct(job, steps=True)
            return found if found and found[0]["State"].split()[0] in states else []

        return wait_until(rows, timeout=timeout, pause=0.2)

    def wait_purged(self, job: int, timeout: float = 120) -> None:
        """Wait until the controller has forgotten a finished job (soon after `configure(MinJobAge=2)`)."""
        wait_until(lambda: not self.squeue_state(job), timeout=timeout, pause=0.5)

    def cancel_all(self, timeout: float = 60) -> None:
        """No job is left in the queue, and none is ending."""
        for job in self.must("squeue", "-h", "-t", "SUSPENDED", "-o", "%A").split():
            self.run("root", "scontrol", "resume", job)
        known = self.must("squeue", "-h", "-o", "%A").split()
        for start in range(0, len(known), 500):
            self.run("root", "scancel", *known[start : start + 500])
        wait_until(lambda: not self.must("squeue", "-h", "-o", "%A").split(), timeout=timeout, pause=0.2)

    def add_stale_record(
        self,
        job: int,
        user: str = "bob",
        submitted: float | None = None,
        state: str = "COMPLETED",
        seconds: int = 60,
        name: str = "stale",
        exit_code: int = 0,
    ) -> None:
        """An accounting record of an older job with this id (by default a day old and another user's)."""
        person = pwd.getpwnam(user)
        at = int(submitted if submitted is not None else time.time() - 86400)
        found = self.sql(f"SELECT id_assoc FROM lab_assoc_table WHERE user='{user}' AND acct='research' LIMIT 1")
        if not found:
            raise LabError(f"{user} has no association in the accounting")
        values: dict[str, object] = {
            "mod_time": at + seconds,
            "account": "research",
            "cpus_req": 1,
            "exit_code": exit_code << 8,
            "job_name": name,
            "id_assoc": found[0][0],
            "id_job": job,
            "id_qos": 1,
            "id_user": person.pw_uid,
            "id_group": person.pw_gid,
            "nodelist": "gpu01",
            "nodes_alloc": 1,
            "partition": "main",
            "priority": 1,
            "state": STATES[state],
            "timelimit": 60,
            "time_submit": at,
            "time_eligible": at,
            "time_start": at,
            "time_end": at + seconds,
            "tres_alloc": "1=1,2=1024,4=1",
            "tres_req": "1=1,2=1024,4=1",
            "work_dir": str(self.home(user)),
        }
        columns = ", ".join(f"`{key}`" for key in values)
        texts = ", ".join(f"'{value}'" for value in values.values())
        self.sql(f"SET SESSION sql_mode=''; INSERT INTO lab_job_table ({columns}) VALUES ({texts})")

    def processes_of(self, user: str) -> dict[int, str]:
        """Every living process of a user and its command line: after a poll, nothing may be left."""
        uid = pwd.getpwnam(user).pw_uid
        found = {}
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == uid:
                    words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
                    command = b" ".join(words).decode(errors="replace").strip()
                    if command:
                        found[int(entry)] = command
        return found

    def heal_cluster(self) -> None:
        """Every daemon runs, the configuration is the usual one, no job is left, and all nodes are idle."""
        for name in self.processes.names():
            if self.processes.is_stopped(name):
                self.processes.send(name, signal.SIGCONT)
        changed = bool(self.read().get("changes"))
        if changed:
            self.kill_slurmctld()
            self.write_conf({})
        self.start_munge()
        self.start_mariadb()
        self.start_slurmdbd()
        self.start_slurmctld()
        if changed:
            self.must("scontrol", "reconfigure")
        # First the nodes: a job on a dead one would be ending for ever.
        for node in NODES:
            self.start_node(node, wait=False)
        self.cancel_all()
        for node in NODES:
            kill(self.pids_on(node))
        nodes = self.must("sinfo", "-h", "-N", "-o", "%N %T").splitlines()
        for line in {line for line in nodes if line.split()[1].rstrip("*") in ("down", "drained", "draining", "drain")}:
            self.run("root", "scontrol", "update", f"NodeName={line.split()[0]}", "State=RESUME")
        self.wait_nodes()
