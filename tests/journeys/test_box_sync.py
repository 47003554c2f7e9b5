"""A directory arrives at a place as it is here, and nothing that runs there is overwritten."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dogwatch.actions.transfer import Synced, TransferFailed, sync
from dogwatch.errors import UsageError
from dogwatch.transport.shell import Shell
from dogwatch.transport.target import Target
from tests.journeys.test_box_fetch import contents
from tests.lab.box import Box, Boxes


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A project with odd names, a link, a pipe and a script with Windows line ends."""
    folder = tmp_path / "my code"
    (folder / "pkg").mkdir(parents=True)
    (folder / ".git").mkdir()
    named = {"train.py": "x = 1", "pkg/a b'$(id).py": "", "-dash": "d", "new\nline": "n", ".git/HEAD": "ref"}
    for name, text in named.items():
        (folder / name).write_text(text)
    (folder / "run.sh").write_bytes(b"#!/bin/sh\r\necho hello\r\n")
    (folder / "latest").symlink_to("train.py")
    (folder / "out").symlink_to("/etc/hosts")
    os.mkfifo(folder / "pipe")
    return folder


def shell_to(boxes: Boxes) -> Shell:
    return Shell("gpu", Target("gpu", str(boxes.ssh_config)))


def sent(code: Path) -> dict[str, str]:
    return {name: sum for name, sum in contents(code).items() if name != "out"}


@pytest.mark.parametrize(
    "hidden", [pytest.param((), marks=pytest.mark.long), ("rsync", "python3")], ids=["rsync", "tar"]
)
def test_a_directory_arrives_as_it_is(boxes: Boxes, code: Path, hidden: tuple[str, ...]) -> None:
    """Everything but links out and pipes, which are named; a second time only what differs is sent."""
    box = boxes.start("gpu")
    if hidden:
        box.hide(*hidden)
        box.reboot()
    first = sync(shell_to(boxes), str(code))
    assert isinstance(first, Synced)
    assert (first.remote.endswith("/my code"), first.files, first.copied) == (True, 6, 6)
    assert first.way == ("tar" if hidden else "rsync")
    assert contents(box.home / "my code") == sent(code)
    warned = " | ".join(first.warnings)
    assert "run.sh has Windows line ends" in warned
    assert "sed -i" in warned
    assert "out was not sent: it is a link out of the directory" in warned
    assert "pipe was not sent" in warned
    (code / "train.py").write_text("x = 2")
    (box.home / "my code/-dash").write_text("?")
    again = sync(shell_to(boxes), f"{code}:my code", exclude=[".git"])
    assert (again.files, again.copied) == (5, 2)
    assert contents(box.home / "my code") == sent(code)


def start(box: Box, command: str) -> None:
    box.sh(f"cd ~/job && {command} >/dev/null 2>&1 &")


def test_a_script_that_runs_there_is_not_overwritten(boxes: Boxes, tmp_path: Path) -> None:
    """Named with the process that runs it; what runs there unchanged, or is not sent, is in nobody's way."""
    box = boxes.start("gpu")
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "run.sh").write_text("sleep 1000\n")
    (folder / "other.py").write_text("1")
    assert sync(shell_to(boxes), str(folder)).copied == 2
    start(box, "sh run.sh")
    assert sync(shell_to(boxes), str(folder)).copied == 0
    (folder / "other.py").write_text("2")
    assert sync(shell_to(boxes), str(folder)).copied == 1
    (folder / "run.sh").write_text("sleep 2000\n")
    with pytest.raises(UsageError, match=r"run\.sh differs here, and process \d+ on gpu is running it"):
        sync(shell_to(boxes), str(folder))
    assert (box.home / "job/run.sh").read_text() == "sleep 1000\n"
    assert sync(shell_to(boxes), f"{folder}:job-2").files == 2


def test_what_cannot_arrive_is_said(boxes: Boxes, tmp_path: Path) -> None:
    """A disk that is full there, an empty directory, one that is none."""
    boxes.start("gpu", disk="4m")
    folder = tmp_path / "big"
    folder.mkdir()
    with pytest.raises(UsageError, match="there is no file to send"):
        sync(shell_to(boxes), str(folder))
    with pytest.raises(UsageError, match="is not a directory"):
        sync(shell_to(boxes), str(folder / "none"))
    (folder / "data.bin").write_bytes(os.urandom(8_000_000))
    with pytest.raises(TransferFailed, match="No space left on device"):
        sync(shell_to(boxes), str(folder))


def test_it_arrives_on_this_machine_alike(code: Path, tmp_path: Path) -> None:
    """The same code, without ssh."""
    done = sync(Shell("this machine"), f"{code}:{tmp_path}/there")
    assert done.files == 6
    assert contents(tmp_path / "there") == sent(code)
    subprocess.run(["test", "-f", str(tmp_path / "there/new\nline")], check=True)
