"""SIGKILL at each system call of one cycle of alerts: none lost, none more than once too often, no silence lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiosmtpd.controller import Controller

from dogwatch.clock import Clock
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import findings as finding_rows
from dogwatch.store.sqlite.location import open_store
from tests.alerts.conftest import Box, free_port
from tests.alerts.cycle import NAMES
from tests.alerts.receiver import Receiver, answer

Point = tuple[str, int]
WHOLE = {f"job-{name}" for name in NAMES}


@dataclass
class Figures:
    """What killing at points did."""

    calls: int
    points: int = 0
    lost: int = 0
    repeats: int = 0
    most_repeats: int = 0
    most_together: int = 0
    silences: int = 0
    silences_lost: int = 0
    seconds: float = 0.0
    flaws: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"killed at {self.points} of the {self.calls} system calls of an alert cycle, {self.seconds:.0f} s: "
            f"{self.lost} lost, {self.repeats} repeated (at most {self.most_repeats} by one kill on one "
            f"channel, {self.most_together} on all), "
            f"{self.silences_lost} of {self.silences} silences lost, {len(self.flaws)} flaws"
        )


class Cycles:
    """Runs cycles in forks of one process, some of them under strace."""

    def __init__(self) -> None:
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        argv = [sys.executable, "-m", "tests.alerts.cycle"]
        self._server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def run(self, home: Path, *trace: str) -> int:
        """One cycle in a home; how it ended."""
        server, gate = self._server, Path(f"{home}.go")
        assert server.stdin is not None
        assert server.stdout is not None
        os.mkfifo(gate)
        opened = os.open(gate, os.O_RDWR)  # both ends: a child that is killed before it listens keeps nobody
        server.stdin.write(f"{home}\n")
        server.stdin.flush()
        pid = server.stdout.readline().strip()
        tracer = _attached(pid, trace) if trace else None
        os.write(opened, b".")
        code = int(server.stdout.readline())
        if tracer is not None:
            tracer.communicate()
        os.close(opened)
        gate.unlink()
        return code

    def close(self) -> None:
        self._server.communicate()


def _attached(pid: str, trace: tuple[str, ...]) -> subprocess.Popen[str]:
    tracer = subprocess.Popen(["strace", "-p", pid, *trace], stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    line = tracer.stderr.readline()
    assert "attached" in line, line
    return tracer


@contextmanager
def scene(folder: Path) -> Iterator[tuple[Path, Receiver, Receiver, Box]]:
    """A home with a webhook, mail, a file and a webhook that refuses everything, and their receivers."""
    home, good, bad = folder / "home", Receiver(), Receiver()
    box, port = Box(), free_port()
    server = Controller(box, hostname="127.0.0.1", port=port)
    server.start()
    bad.always = answer(404, b"no such hook")
    home.mkdir(mode=0o700, parents=True)
    with open_store(str(home)) as store:
        for name, receiver in (("good", good), ("bad", bad)):
            path = folder / name
            path.touch(mode=0o600)
            path.write_text(receiver.url)
            channel_rows.add_channel(store, name, "webhook", {"url": f"file:{path}"}, {}, Clock().now())
        channel_rows.add_channel(store, "file", "file", {"path": str(folder / "alerts.jsonl")}, {}, Clock().now())
        mail = {"to": "me@example.org", "host": "127.0.0.1", "port": port}
        channel_rows.add_channel(store, "mail", "email", mail, {}, Clock().now())
    try:
        yield home, good, bad, box
    finally:
        server.stop()
        good.close()
        bad.close()


def kill_at_points(folder: Path, most: int | None) -> Figures:
    """Kill one cycle at each of its system calls (or at so many, evenly spread), and let another finish it."""
    began, cycles = time.monotonic(), Cycles()
    try:
        with scene(folder) as (home, good, bad, box):
            calls = _calls(cycles, home)
            figures = Figures(len(calls))
            wanted = len(calls) if most is None else min(most, len(calls))
            for n in range(wanted):
                for receiver in (good, bad):
                    receiver.got.clear()
                box.mails.clear()
                (folder / "alerts.jsonl").unlink(missing_ok=True)
                _at_point(cycles, home, calls[n * len(calls) // wanted], figures, good, bad, box)
    finally:
        cycles.close()
    figures.seconds = time.monotonic() - began
    return figures


def _calls(cycles: Cycles, home: Path) -> list[Point]:
    """Every system call of a cycle: its name, and its how-manieth of that name it is, which is how strace counts."""
    copy = _copied(home, "whole")
    log, counts, found = Path(f"{copy}.calls"), Counter[str](), list[Point]()
    assert cycles.run(copy, "-o", str(log)) == 0
    for line in log.read_text(errors="replace").splitlines():
        name = line.partition("(")[0]
        if name.isidentifier():
            counts[name] += 1
            found.append((name, counts[name]))
    return found


def _copied(home: Path, name: str) -> Path:
    copy = home.parent / name
    shutil.copytree(home, copy)
    copy.chmod(0o700)
    return copy


def _at_point(
    cycles: Cycles, home: Path, point: Point, figures: Figures, good: Receiver, bad: Receiver, box: Box
) -> None:
    call, when = point
    copy = _copied(home, f"at-{call}-{when}")
    kill = f"inject={call}:signal=SIGKILL:when={when}"
    first = cycles.run(copy, "-o", "/dev/null", "-e", f"trace={call}", "-e", kill)
    second = cycles.run(copy)
    figures.points += first == -9
    if second != 0 or first not in (0, -9):
        figures.flaws.append(f"at {call} {when}: ended with {first} and then {second}")
    seen = set(good.names())
    lines = (home.parent / "alerts.jsonl").read_text().splitlines()
    figures.lost += len(WHOLE - seen) + len([name for name in WHOLE if sum(f'"{name}"' in line for line in lines) != 1])
    figures.lost += not any("rejects messages permanently" in line for line in lines)
    mailed = "".join(mail.get_content() for mail in box.mails)
    figures.lost += len([name for name in WHOLE if f"{name}:" not in mailed])
    together = 0
    for keys in ([one.key for one in good.got], [one.key for one in bad.got], [m["Message-ID"] for m in box.mails]):
        repeats = len(keys) - len(set(keys))
        figures.repeats += repeats
        figures.most_repeats = max(figures.most_repeats, repeats)
        together += repeats
    figures.most_together = max(figures.most_together, together)
    promised = {int(line) for line in Path(f"{copy}.promised").read_text().splitlines()}
    with open_store(str(copy)) as store:
        held = {row.key for row in finding_rows.silences(store)}
        figures.flaws += [f"at {call} {when}: {fault}" for fault in store.check()]
    figures.silences += len(promised)
    figures.silences_lost += len(promised - held)
    shutil.rmtree(copy)
    Path(f"{copy}.promised").unlink()
