"""A job's logs over several polls, with the real probe: every line counts once, or is flagged."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import to_builtins

from dogwatch.logs.user import compile_patterns
from dogwatch.model import Interval
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import LogGap, News, Readers, read_logs
from dogwatch.watcher.job.unread_logs import gap_event
from tests.support import wait_until

EVERY_LINE = compile_patterns({}, [("^line", "warning")], "test")


class Watcher:
    """What the engine does with logs, look by look; `restart` is a watcher that was killed and started again."""

    def __init__(self, here: Here, *logs: Path | str, most: int = 262144) -> None:
        self.here, self.most = here, most
        self.logs = [str(log) for log in logs]
        self.memory, self.readers = Memory(), Readers(EVERY_LINE)
        self.lines: list[str] = []
        self.gaps: list[LogGap] = []
        self.news = News()

    def look(self) -> News:
        spec = {"globs": self.logs, "known": to_builtins(self.memory.log.cursors), "max": self.most}
        answer = self.here.ask({"logs": {"it": spec}}, 10.0)
        assert isinstance(answer, Answer), answer
        self.news = News()
        read_logs(self.memory, self.readers, answer.checked.logs.rows["it"], self.news)
        self.lines += [trouble.text for _, trouble in self.news.troubles]
        self.gaps += self.news.gaps
        return self.news

    def restart(self) -> None:
        self.readers.keep(self.memory)
        self.memory = Memory.from_json(json.loads(json.dumps(self.memory.to_json())))
        self.readers = Readers(EVERY_LINE, self.memory)

    def step(self, log: Path) -> float | None:
        found = self.news.steps.get(str(log))
        return found.done if found else None


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_every_line_counts_once_while_it_grows(here: Here, tmp_path: Path) -> None:
    """In pieces that end in the middle of lines and of carriage returns, with a restart between every two."""
    log = tmp_path / "train.log"
    written = "".join(f"line {n}\r" if n % 3 else f"line {n}\r\n" if n % 2 else f"line {n}\n" for n in range(60))
    watcher = Watcher(here, log)
    for at in range(0, len(written), 7):
        append(log, written[at : at + 7])
        watcher.look()
        watcher.restart()
    assert watcher.lines == [f"line {n}" for n in range(60)]
    assert watcher.gaps == []


def test_a_rename_loses_and_repeats_nothing(here: Here, tmp_path: Path) -> None:
    """The rest of the old file is read before the new one."""
    log = tmp_path / "train.log"
    watcher = Watcher(here, log)
    for turn in range(5):
        append(log, f"line {turn} a\n")
        watcher.look()
        append(log, f"line {turn} b\n")
        log.rename(tmp_path / f"train.log.{turn}")
        append(log, f"line {turn} c\n")
        watcher.look()
        watcher.restart()
    assert sorted(watcher.lines) == sorted(f"line {turn} {part}" for turn in range(5) for part in "abc")
    assert watcher.gaps == []


def test_what_a_configuration_said_outlives_rotation_and_restart(here: Here, tmp_path: Path) -> None:
    """The lines that said it are in a file that has another name by now."""
    log = tmp_path / "train.log"
    watcher = Watcher(here, log)
    append(log, "save_steps=400,\nstep 1/9000\n")
    watcher.look()
    watcher.restart()
    log.rename(tmp_path / "train.log.1")
    append(log, "step 2/9000\n")
    watcher.look()
    watcher.look()
    assert watcher.memory.log.intervals == [Interval("save", 400.0, "steps")]


def test_half_a_line_at_the_end_of_a_rotated_file_is_not_the_start_of_the_next(here: Here, tmp_path: Path) -> None:
    """What was cut off in the old file stands alone."""
    log = tmp_path / "train.log"
    watcher = Watcher(here, log)
    append(log, "line 1\nline 2 is c")
    watcher.look()
    log.rename(tmp_path / "train.log.1")
    append(log, "line 3\n")
    watcher.look()
    assert watcher.lines == ["line 1", "line 2 is c", "line 3"]


@pytest.mark.parametrize("held", ["", "step 9"])
def test_copytruncate_starts_with_a_line_of_its_own_and_is_flagged(here: Here, tmp_path: Path, held: str) -> None:
    """Half a number from before is not put before a number after it; that lines may be lost is said."""
    log = tmp_path / "train.log"
    log.write_text(f"a log with some lines in it\nstep 8/50\n{held}")
    watcher = Watcher(here, log)
    watcher.look()
    log.write_text("")
    append(log, "step 1/50\n")
    watcher.look()  # a smaller size may be an old one
    watcher.look()
    assert watcher.step(log) == 1
    assert [gap.why for gap in watcher.gaps] == ["truncated"]


def test_a_file_that_was_replaced_is_flagged(here: Here, tmp_path: Path) -> None:
    """Another file under the name: the rest of the old one was never seen."""
    log, other = tmp_path / "train.log", tmp_path / "other"
    log.write_text("line 1\nhalf of li")
    watcher = Watcher(here, log)
    watcher.look()
    other.write_text("line 1 of another file\n")
    os.replace(other, log)
    watcher.look()
    assert watcher.lines == ["line 1", "line 1 of another file"]
    assert watcher.gaps == [LogGap(str(log), "replaced", None)]


def test_a_reused_inode_is_another_file_and_flagged(here: Here, tmp_path: Path) -> None:
    """The same number, as a new file gets it on many file systems, and another beginning."""
    log = tmp_path / "train.log"
    log.write_text("line 1\n")
    inode = log.stat().st_ino
    watcher = Watcher(here, log)
    watcher.look()
    with log.open("r+") as file:
        file.write("line 1 of the next job\n")
    assert log.stat().st_ino == inode
    watcher.look()
    assert watcher.lines == ["line 1", "line 1 of the next job"]
    assert [gap.why for gap in watcher.gaps] == ["replaced"]


def test_a_stale_size_repeats_nothing_and_is_no_gap(here: Here, tmp_path: Path) -> None:
    """A network file system shows an old, smaller size once; then the true one."""
    log = tmp_path / "train.log"
    log.write_text("line 1\nline 2\n")
    watcher = Watcher(here, log)
    watcher.look()
    os.truncate(log, 7)
    watcher.look()
    log.write_text("line 1\nline 2\nline 3\n")
    watcher.look()
    assert watcher.lines == ["line 1", "line 2", "line 3"]
    assert watcher.gaps == []


def test_a_log_that_was_long_when_first_seen_is_read_at_both_ends(here: Here, tmp_path: Path) -> None:
    """Its opening holds the totals, its end the newest step; what lies between is flagged, and the fragment of a
    line where the end begins is not read as a line."""
    log = tmp_path / "train.log"
    log.write_text("line 0\n" + "".join(f"line {n} of many, step {n}/90000\n" for n in range(1, 40_000)))
    watcher = Watcher(here, log, most=4096)
    watcher.look()
    size = log.stat().st_size
    assert watcher.lines[0] == "line 0"
    assert watcher.lines[-1] == "line 39999 of many, step 39999/90000"
    assert len(set(watcher.lines)) == len(watcher.lines) < 1000
    assert watcher.step(log) == 39999
    [gap] = watcher.gaps
    assert gap.why == "long"
    assert gap.bytes is not None
    assert size - 4096 - 16384 <= gap.bytes <= size - 4096


def test_a_backlog_that_cannot_be_caught_up_with_is_flagged(here: Here, tmp_path: Path) -> None:
    """It grew by more between two polls than could be read in many."""
    log = tmp_path / "train.log"
    log.write_text("line 0\n")
    watcher = Watcher(here, log, most=1024)
    watcher.look()
    append(log, "x" * 200_000 + "\nline 1\n")
    watcher.look()
    assert watcher.lines == ["line 0", "line 1"]
    [gap] = watcher.gaps
    assert (gap.why, gap.bytes) == ("backlog", 200_000 + 8 - 1024)


def test_gaps_are_told_in_one_event() -> None:
    """In words, with the paths and numbers beside them; a hundred logs make one short event."""
    gaps = [LogGap("/logs/a.log", "truncated", None), LogGap("/logs/b.log", "long", 1234567)]
    gaps += [LogGap(f"/logs/{n}.log", "replaced", None) for n in range(98)]
    event = gap_event("here/process:1", gaps)
    assert event.text.startswith("a.log was truncated, and lines written since the poll before may be missing; b.log ")
    assert "1,234,567 bytes" in event.text
    assert event.text.endswith("; and 84 more")
    assert event.body["gaps"][0] == {"path": "/logs/a.log", "why": "truncated", "bytes": None}


def test_a_truncated_log_is_in_the_history(dogwatch, spawn_job, tmp_path: Path) -> None:
    """From the program itself: add, look, truncate, look until it is believed."""
    log = tmp_path / "train.log"
    log.write_text("a first line that is rather long\nstep 1/50\n")
    added = dogwatch("add", "process", spawn_job, "--log", log, "--json")
    assert added.returncode == 0, added.stderr
    dogwatch("patrol")
    log.write_text("step 2/50\n")

    def gaps() -> list[object]:
        dogwatch("patrol")  # looks no more often than the place allows
        events = json.loads(dogwatch("events", "--json").stdout)["events"]
        return [event["body"]["gaps"] for event in events if event["kind"] == "log.gap"]

    assert wait_until(gaps) == [[{"path": str(log), "why": "truncated", "bytes": None}]]


@pytest.fixture
def spawn_job() -> Iterator[int]:
    """The pid of a process that does nothing for a while."""
    with subprocess.Popen(["sleep", "120"]) as process:
        yield process.pid
        process.kill()
