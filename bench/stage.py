"""Stage: a home of its own with the real programs on it, all of them gone by pid afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

DOGWATCH = str(Path(sys.executable).with_name("dogwatch"))
JOB = [sys.executable, "-I", "-S", str(Path(__file__).with_name("job.py"))]
TIMEOUT = 30.0


class Stage:
    """`with Stage() as stage:`; what is started on it does not outlive the block."""

    def __enter__(self) -> Stage:
        self.directory = tempfile.mkdtemp(prefix="dogwatch-bench-")
        self.home = os.path.join(self.directory, "home")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DOGWATCH"))}
        self.environment = {**kept, "DOGWATCH_HOME": self.home}
        self._started: list[subprocess.Popen[bytes]] = []
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._started:
            self.stop(process)
        for record in Path(self.home, "runs").glob("*/worker-*.start.json"):
            _end_worker(json.loads(record.read_bytes()))
        for _ in range(20):  # a supervisor that records its workers' ends may still be writing here
            with contextlib.suppress(OSError):
                shutil.rmtree(self.directory)
                return
            time.sleep(0.1)

    def dogwatch(self, *words: str) -> str:
        """Run a verb to its end; returns what it printed."""
        ran = subprocess.run([DOGWATCH, *words], env=self.environment, capture_output=True, text=True, timeout=60)
        if ran.returncode:
            raise RuntimeError(f"dogwatch {' '.join(words)}: exit code {ran.returncode}: {ran.stderr.strip()}")
        return ran.stdout.strip()

    def run_job(self, workers: int, *words: str) -> str:
        """Start a benchmark job of so many workers; returns its ref."""
        how = ("--name", words[0], "--workers", str(workers), "--env", f"BENCH_PID={os.getpid()}")
        return self.dogwatch("run", "--detach", *how, "--", *JOB, *words)

    def daemon(self, interval: float) -> subprocess.Popen[bytes]:
        """Start the watcher and wait until it holds the lease and has ticked."""
        with open(os.path.join(self.directory, "daemon.log"), "ab") as log:
            command = [DOGWATCH, "daemon", "--once-idle", "--interval", f"{interval:g}"]
            process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._started.append(process)
        wait_for(lambda: self._ticking() or process.poll() is not None, "the daemon to watch")
        if process.poll() is not None:
            raise RuntimeError(Path(self.directory, "daemon.log").read_text(encoding="utf-8"))
        return process

    def adopt(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        """Have a process that was started elsewhere stopped with the rest."""
        self._started.append(process)
        return process

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _ticking(self) -> bool:
        places = json.loads(self.dogwatch("ls", "--json", "--no-poll"))["watch"]
        return bool(places["alive"] and places["last_tick"])


def wait_for(there: Callable[[], object], what: str) -> None:
    limit = time.monotonic() + TIMEOUT
    while not there():
        if time.monotonic() > limit:
            raise TimeoutError(f"waited {TIMEOUT:.0f} s for {what}")
        time.sleep(0.05)


def _end_worker(record: dict[str, int]) -> None:
    """Kill a worker, if the pid is still the one that was started."""
    with contextlib.suppress(OSError, KeyError):
        with open(f"/proc/{record['pid']}/stat", encoding="utf-8", errors="replace") as file:
            start = int(file.read().rpartition(")")[2].split()[19])
        if start == record["start"]:
            os.kill(record["pid"], signal.SIGKILL)
