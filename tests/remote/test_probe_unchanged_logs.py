"""Asking about logs again and again: what stands still costs little, and whatever changes is still noticed."""

from __future__ import annotations

import mmap
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dogwatch.remote.probe.unchanged_logs import CHECK, REVIEW
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from tests.support import wait_until

FILES = 40


class Caller:
    """Asks about the logs of one job, and remembers where each was left."""

    def __init__(self, here: Here, *globs: str) -> None:
        self.here, self.globs = here, list(globs)
        self.known: dict[str, dict[str, Any]] = {}
        self.texts: dict[str, str] = {}

    def look(self) -> dict[str, Any]:
        answer = self.here.ask({"logs": {"job": {"globs": self.globs, "known": self.known}}})
        assert isinstance(answer, Answer), answer
        row: dict[str, Any] = answer.body["logs"]["job"]
        for path in row.get("gone", ()):
            del self.known[path]
        for path, entry in row.get("files", {}).items():
            if entry.get("stale"):
                self.known[path] = {**self.known[path], "stale_seen": True}
                continue
            self.known.pop(entry.get("rotated_from", ""), None)
            self.known[path] = {name: entry[name] for name in ("dev", "ino", "head", "headlen")}
            self.known[path]["offset"] = entry["from"] + len(entry["text"])
            self.texts[path] = ("" if entry["reset"] else self.texts.get(path, "")) + entry["text"]
        return row

    def reader(self) -> int:
        """The process that reads files for the probe."""
        children = Path(f"/proc/{self.here.pid}/task/{self.here.pid}/children").read_text().split()
        assert len(children) == 1
        return int(children[0])

    def reads_nothing(self) -> bool:
        """Whether a poll makes the file reader read no more than the question itself."""
        before = self._bytes_read()
        assert self.look() == {"same": True}
        return self._bytes_read() - before < 1000

    def _bytes_read(self) -> int:
        lines = Path(f"/proc/{self.reader()}/io").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("rchar:")).split()[1])


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(FILES):
        (tmp_path / f"rank-{number}.log").write_text(f"worker {number}\n" * 100)
    return tmp_path


def settled(here: Here, *globs: str) -> Caller:
    """A caller whose files have stood still for so long that they are not read any more."""
    caller = Caller(here, *globs)
    wait_until(lambda: caller.look() == {"same": True})
    wait_until(caller.reads_nothing)
    return caller


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("more\n")


def rewrite(path: Path) -> None:
    """Other text of the same length, with the times of the old one put back."""
    row = path.stat()
    path.write_text(path.read_text().replace("worker", "WORKER"))
    os.utime(path, ns=(row.st_atime_ns, row.st_mtime_ns))


def replace(path: Path) -> None:
    """Another file of the same length under the same name."""
    other = path.with_name("aside")
    other.write_text(path.read_text().replace("worker", "WORKER"))
    other.rename(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "it grew": append,
    "it was written anew": rewrite,
    "it was replaced": replace,
    "it was emptied": lambda path: path.write_text(""),
    "it is gone": Path.unlink,
    "another one came": lambda path: path.with_name("rank-new.log").write_text("hello\n"),
    "it was moved away": lambda path: path.rename(path.with_name("rank-3.log.1")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_in_files_that_stood_still_is_told_by_the_next_look(here: Here, logs: Path, change) -> None:
    """Growth, rewriting, replacement, truncation, rotation, a new file: none hides behind what is remembered."""
    caller = settled(here, f"{logs}/rank-*.log")
    change(logs / "rank-3.log")
    assert caller.look() != {"same": True}
    wait_until(lambda: caller.look() == {"same": True})
    there = {str(path): path.read_text() for path in logs.glob("rank-*.log")}
    assert {path: text for path, text in caller.texts.items() if path in there} == there


def test_files_that_stand_still_are_not_read_by_the_looks_that_open_them_either(here: Here, logs: Path) -> None:
    """Now and then a poll opens them, for a server to say what they are like; no byte of them is read for that."""
    caller = settled(here, f"{logs}/rank-*.log")
    assert all(caller.reads_nothing() for _ in range(REVIEW + 1))


def test_a_file_that_was_not_there_is_found_when_it_comes(here: Here, tmp_path: Path) -> None:
    """A path that leads nowhere is asked about again, also below folders that a glob found and that did not change."""
    (tmp_path / "a" / "logs").mkdir(parents=True)
    caller = settled(here, f"{tmp_path}/*/logs/train.log", f"{tmp_path}/b/train.log")
    (tmp_path / "a" / "logs" / "train.log").write_text("one\n")
    caller.look()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "train.log").write_text("two\n")
    caller.look()
    assert list(caller.texts.values()) == ["one\n", "two\n"]


def test_a_new_probe_is_asked_in_full_within_the_same_look(here: Here, logs: Path) -> None:
    """What the dead one remembered is put again; nothing is lost and nothing said twice."""
    caller = settled(here, f"{logs}/rank-*.log")
    probe = here.pid
    assert probe is not None
    os.kill(probe, signal.SIGKILL)
    wait_until(lambda: Path(f"/proc/{probe}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    append(logs / "rank-5.log")
    caller.look()
    assert here.pid != probe
    assert caller.texts == {str(path): path.read_text() for path in logs.glob("rank-*.log")}


def test_after_a_file_reader_that_was_late_everything_is_asked_in_full(here: Here, logs: Path) -> None:
    """The one that takes its place knows nothing, and one poll is all there is time for."""
    caller = settled(here, f"{logs}/rank-*.log")
    os.kill(caller.reader(), signal.SIGKILL)
    append(logs / "rank-5.log")
    late = here.ask({"logs": {"job": {"globs": caller.globs, "known": caller.known}}})
    assert isinstance(late, Answer)
    assert late.body["logs"]["late"] == ["job"]
    caller.look()
    assert caller.texts == {str(path): path.read_text() for path in logs.glob("rank-*.log")}


def test_a_look_that_was_thrown_away_is_repeated_in_full(here: Here, logs: Path) -> None:
    """The same question again, after an answer that the caller did not take in, brings the same text again."""
    caller = settled(here, f"{logs}/rank-*.log")
    append(logs / "rank-7.log")
    kept = {path: dict(cursor) for path, cursor in caller.known.items()}
    first = caller.look()
    caller.known = kept
    again = caller.look()
    assert first["files"][f"{logs}/rank-7.log"]["text"] == "more\n"
    assert again["files"][f"{logs}/rank-7.log"]["text"] == "more\n"


def scribble(path: Path) -> None:
    """Write through a map of memory, of which the kernel tells nobody."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as text:
        text[0] = text[0] ^ 0x20
        text.flush()


def test_what_nobody_was_told_of_is_seen_by_one_of_the_next_looks_and_from_then_on_by_each(
    here: Here, logs: Path
) -> None:
    """An ear that has missed something is not trusted again with the logs of that job."""
    caller = settled(here, f"{logs}/rank-*.log")
    for _ in range(CHECK):
        caller.look()
    scribble(logs / "rank-3.log")
    assert any(caller.look() != {"same": True} for _ in range(CHECK))
    caller = settled(here, f"{logs}/rank-*.log")
    for _ in range(CHECK):
        caller.look()
    scribble(logs / "rank-3.log")
    assert caller.look() != {"same": True}


def test_a_file_that_is_written_under_another_name_is_heard(here: Here, logs: Path) -> None:
    """A file is listened to, not its name."""
    other = logs / "elsewhere"
    other.mkdir()
    os.link(logs / "rank-3.log", other / "same")
    caller = settled(here, f"{logs}/rank-*.log")
    for _ in range(CHECK):
        caller.look()
    append(other / "same")
    assert caller.look() != {"same": True}


def test_a_folder_that_comes_into_the_place_of_another_is_noticed(here: Here, tmp_path: Path) -> None:
    """None of the files that were listened to has changed, and none of them is where it was."""
    for name in ("first", "second"):
        (tmp_path / name / "logs").mkdir(parents=True)
        (tmp_path / name / "logs" / "train.log").write_text(f"{name}\n" * 200)
    (tmp_path / "now").symlink_to("first")
    caller = settled(here, f"{tmp_path}/now/logs/train.log")
    for _ in range(CHECK):
        caller.look()
    (tmp_path / "then").symlink_to("second")
    (tmp_path / "then").rename(tmp_path / "now")
    assert caller.look() != {"same": True}


def test_no_file_is_listened_to_any_longer_than_it_stands_still(here: Here, logs: Path) -> None:
    """Who writes all the time is told of once; what was asked before leaves nothing behind."""
    caller = settled(here, f"{logs}/rank-*.log")
    caller.look()
    if watches(caller.reader()) == 0:
        pytest.skip("changes are not heard on this file system")
    for _ in range(2):
        wait_until(lambda: caller.look() == {"same": True} and watches(caller.reader()) == FILES)
        append(logs / "rank-3.log")
        assert watches(caller.reader()) == FILES - 1
        caller.look()
        assert watches(caller.reader()) == 0


def watches(reader: int) -> int:
    """How many files a process listens to."""
    texts = [path.read_text() for path in Path(f"/proc/{reader}/fdinfo").iterdir()]
    return sum(line.startswith("inotify wd:") for text in texts for line in text.splitlines())
