"""A machine for chains: one of the shells as its `sh`, the programs it is given, and runs that end with the test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dogwatch.actions.chain.script import chain_script as script_of
from dogwatch.actions.chain.script import delivery, push_file
from dogwatch.wire.chain import Chain, Push, Stage, StartReport
from tests.support import wait_until

BASIC = (
    *("awk", "bash", "cat", "cp", "cut", "date", "dd", "df", "dirname", "env", "grep", "head", "ln", "ls", "mkdir"),
    *("mv", "readlink", "rm", "rmdir", "sed", "setsid", "sleep", "sync", "tail", "tr", "true", "uname", "wc"),
)
NONCE = "0" * 32


class Machine:
    """A machine whose `sh` is one of the shells, without tmux; its runs are killed after the test."""

    def __init__(self, directory: Path, shell: str, programs: tuple[str, ...] = ()) -> None:
        """With `programs`, it has these beside BASIC and no others."""
        self.runs = directory / "runs"
        self.home = directory
        tools = directory / "bin"
        tools.mkdir()
        program = shutil.which(shell)
        if program is None:
            pytest.skip(f"needs {shell}, which is not installed")
        if shell == "busybox":
            subprocess.run([program, "--install", "-s", str(tools)], check=True)
        else:
            (tools / "sh").symlink_to(program)
        for name in (*BASIC, *programs) if programs else ():
            real = os.path.realpath(sys.executable) if name == "python3" else shutil.which(name)
            if real is None:
                pytest.skip(f"needs {name}, which is not installed")
            (tools / name).symlink_to(real)
        alone = shell == "busybox" or programs
        self.path = str(tools) if alone else f"{tools}:/usr/bin:/bin"

    def start(
        self, *stages: str | Stage, run: str = "r-000000", push: Push | None = None, wait: bool = True, **more: Any
    ) -> StartReport:
        named = tuple(one if isinstance(one, Stage) else Stage(f"s{number}", one) for number, one in enumerate(stages))
        chain = Chain("r", named, cwd=str(self.home), **{"detach": "setsid", "push_way": push and push.way, **more})
        script = script_of(chain, run, 1.0)
        text = delivery(script, None if push is None else push_file(push), run, str(self.runs), NONCE)
        done = self.sh("-s", input=text)
        answer = done.stdout.partition(b"\nDOGWATCH-END")[0]
        report = json.loads(answer)
        assert len(answer) == int(done.stdout.rpartition(b" ")[2])
        return StartReport(**report)

    def sh(self, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        argv = [str(shutil.which("sh", path=self.path)), *words]
        env = {"PATH": self.path, "HOME": str(self.home), "LANG": "C.UTF-8", "run": "mine", "name": "it's"}
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            argv, env=env, capture_output=True, timeout=60, **more
        )
        return done

    def resume(self, run: str = "r-000000") -> str:
        done = self.sh(str(self.runs / run / "chain.sh"), "resume")
        return (done.stdout + done.stderr).decode()

    def read(self, name: str, run: str = "r-000000") -> dict[str, Any]:
        try:
            return json.loads((self.runs / run / name).read_bytes())
        except FileNotFoundError:
            return {}

    def end(self, run: str = "r-000000", attempt: int = 1) -> dict[str, Any]:
        wait_until(lambda: self.read("end.json", run).get("attempt") == attempt, timeout=40)
        return self.read("end.json", run)

    def log(self, stage: int = 0, run: str = "r-000000") -> str:
        return (self.runs / run / f"stage-{stage}.log").read_text()

    def kill_all(self) -> None:
        """Whatever still belongs to a run of this machine, by the directory it names."""
        for path in Path("/proc").glob("[0-9]*"):
            try:
                mine = str(self.runs).encode() in (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
                if mine:
                    os.kill(int(path.name), 9)
            except (OSError, ProcessLookupError):
                continue
