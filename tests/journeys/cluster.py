"""A person at the laboratory's cluster: the host `lab` is known to their Dogwatch, and they submit as alice."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.lab.lab import Lab
from tests.support import wait_until

Done = subprocess.CompletedProcess[str]


class Desk:
    """The real program in a home that knows the host `lab`, which may be asked every second."""

    def __init__(self, lab: Lab, dogwatch: Callable[..., Done], directory: Path) -> None:
        self.lab, self._dogwatch, self.directory = lab, dogwatch, directory
        self.host("lab")

    def __call__(self, *words: object, code: int | None = 0, **more: Any) -> Done:
        done = self._dogwatch(*words, **{"timeout": 120, "cwd": self.directory, **more})
        assert code is None or done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done

    def host(self, name: str, alias: str | None = None, floor: str = "1s") -> None:
        self("host", "add", name, "--ssh", alias or name, "--ssh-config", self.lab.ssh_config, "--floor", floor)

    def sbatch(self, script: str, *flags: object) -> str:
        """What `sbatch` prints for alice: Submitted batch job 12."""
        text = script if script.startswith("#!") else f"#!/bin/sh\n{script}\n"
        return str(self.lab.run("alice", "sbatch", *flags, text=text, check=True).stdout)

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every job document by its Slurm id."""
        told = json.loads(self("ls", "--all", "--json", "--no-poll").stdout)["jobs"]
        return {job["id"]: job for job in told}

    def patrol_until(self, true: Callable[[dict[str, dict[str, Any]]], object], *flags: object) -> str:
        """Patrol until something is true of the jobs; all that was printed meanwhile."""
        said: list[str] = []

        def reached() -> bool:
            said.append(self("patrol", *flags, code=None).stdout)
            return bool(true(self.jobs()))

        wait_until(reached, timeout=90, pause=1.0)
        return "".join(said)


def id_of(printed: str) -> str:
    return printed.split()[-1]
