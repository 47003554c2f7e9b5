"""A person who watches the laboratory's cluster with the real program, and what they are told."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dogwatch import assemble
from dogwatch.clock import Clock
from dogwatch.store.sqlite.location import open_store
from tests.lab.lab import Lab
from tests.support import wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Document = dict[str, Any]


class Ahead(Clock):
    """A wall clock that is ahead of the machine's."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def now(self) -> float:
        return super().now() + self.seconds


class Watcher:
    """One home with the host `lab` in it; jobs are named by their Slurm id."""

    def __init__(self, lab: Lab, run: Run, home: Path) -> None:
        self.lab, self.run, self.home = lab, run, home

    def must(self, *words: object, timeout: float = 120) -> str:
        done = self.run(*words, timeout=timeout)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def host(self, name: str = "lab", alias: str | None = None) -> None:
        """Add a host that may be asked every second."""
        self.must("host", "add", name, "--ssh", alias or name, "--ssh-config", self.lab.ssh_config, "--floor", "1s")

    def add(self, *ids: object, host: str = "lab", flags: tuple[object, ...] = ()) -> None:
        self.must("add", "slurm", *ids, "--host", host, *flags)

    def adopt(self, *ids: object) -> None:
        """Watch ids as an agent's registry names them: Slurm need not know them, as `add` demands."""
        entry = {"type": "slurm", "host": "lab", "submitted": time.strftime("%Y-%m-%d %H:%M"), "description": "adopted"}
        registry = self.home / "active_jobs.json"
        registry.write_text(json.dumps([{**entry, "id": str(one)} for one in ids]))
        self.must("sync", "--file", registry)

    def patrol(self, *flags: object) -> subprocess.CompletedProcess[str]:
        """A real look: one that came too soon for the place is tried again."""

        def looked() -> subprocess.CompletedProcess[str] | None:
            done = self.run("patrol", "--json", *flags, timeout=180)
            assert done.returncode in (0, 1, 3), (done.returncode, done.stderr)
            assert done.stdout, (done.returncode, done.stderr)
            told = json.loads(done.stdout)
            self.said += told["changes"]
            return done if told["polled"] or not self.watched() else None

        self.said: list[Document] = []
        done = wait_until(looked, timeout=200, pause=0.3)
        assert done is not None
        return done

    def look_later(self, seconds: float) -> None:
        """One poll of a watcher whose clock is ahead: what silence limit leads to, without having it."""
        with open_store(str(self.home)) as store:
            watcher = assemble.watch(store, Ahead(seconds), who="test")
            assert watcher.poll_once()
            watcher.close()

    def watched(self) -> list[Document]:
        """What has not ended, or not been settled: without any, a patrol has nothing to look at."""
        jobs: list[Document] = json.loads(self.must("ls", "--json", "--no-poll"))["jobs"]
        return jobs

    def jobs(self) -> dict[str, Document]:
        """Every job document, by `id`, and by `host/id` where it is on another host than `lab`."""
        jobs = json.loads(self.must("ls", "--all", "--json", "--no-poll"))["jobs"]
        return {job["id"] if job["place"] == "lab" else f"{job['place']}/{job['id']}": job for job in jobs}

    def job(self, job: object) -> Document:
        return self.jobs()[str(job)]

    def place(self, name: str = "lab") -> Document:
        places = json.loads(self.must("ls", "--all", "--json", "--no-poll"))["places"]
        return next(place for place in places if place["name"] == name)

    def events(self, *kinds: str) -> list[Document]:
        """Every event of these kinds, oldest first."""
        told = self.must("events", "--json", "--since", "0")
        lines = [json.loads(line) for line in told.splitlines() if line]
        events = lines[0]["events"] if len(lines) == 1 and "events" in lines[0] else lines
        return [event for event in events if event["kind"] in kinds]

    def until(self, true: Callable[[dict[str, Document]], object], timeout: float = 60) -> dict[str, Document]:
        """Patrol until it is true of the job documents, and return them."""
        last: dict[str, Document] = {}

        def reached() -> bool:
            self.patrol()
            last.clear()
            last.update(self.jobs())
            return bool(true(last))

        try:
            wait_until(reached, timeout=timeout, pause=0.5)
        except AssertionError:
            raise AssertionError({name: words(job) for name, job in last.items()}) from None
        return last

    def until_ended(self, *jobs: object, timeout: float = 60) -> dict[str, Document]:
        return self.until(lambda seen: all(seen[str(job)]["state"] == "ended" for job in jobs), timeout)


def words(job: Document) -> tuple[Any, ...]:
    """What is said of a job, in the order in which people read it."""
    return job["state"], job["outcome"], job["native"], job["reason"] or ""


def findings(job: Document) -> dict[str, tuple[str, str]]:
    """Open findings: rule → level and text."""
    return {finding["rule"]: (finding["level"], finding["text"]) for finding in job["findings"]}
