"""The ear: what can be heard is heard, and what cannot is never taken for silence."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.remote.probe.inotify import Inotify, Listener


@pytest.fixture
def ear() -> Iterator[Inotify]:
    made = Inotify()
    yield made
    if made.fd >= 0:
        os.close(made.fd)


@pytest.fixture
def files(tmp_path: Path, ear: Inotify) -> list[Path]:
    made = [tmp_path / "a.log", tmp_path / "b.log"]
    for path in made:
        path.write_text("hello\n")
    if not listening(ear, *made).hears:
        pytest.skip("changes are not heard on this file system")
    return made


def listening(ear: Inotify, *files: Path) -> Listener:
    listener = Listener()
    ear.listen(listener, [bytes(path) for path in files], {bytes(path.parent) for path in files})
    return listener


def test_only_the_listener_of_a_file_that_was_written_hears_of_it(ear: Inotify, files: list[Path]) -> None:
    """The other one goes on listening."""
    first, second = listening(ear, files[0]), listening(ear, files[1])
    files[0].write_text("more\n")
    ear.hear()
    assert (first.hears, second.hears) == (False, True)


def test_a_file_on_a_file_system_of_another_kind_is_not_listened_to(ear: Inotify) -> None:
    """Nothing there tells of changes, and so no silence there means anything."""
    listener = listening(ear, Path("/proc/self/status"))
    assert not listener.hears
    assert not ear.owners


def test_who_listens_to_a_file_last_is_the_only_one_who_hears_of_it(ear: Inotify, files: list[Path]) -> None:
    """The kernel tells of a file once; whoever does not hear of it any more knows that."""
    first = listening(ear, *files)
    second = listening(ear, files[1])
    assert (first.hears, second.hears) == (False, True)


def test_nobody_listens_to_a_part_of_its_files(ear: Inotify, files: list[Path]) -> None:
    """Where the watches that a user may have do not suffice, none is kept."""
    others = [path.with_name(f"{path.name}.1") for path in files]
    for path in others:
        path.write_text("hello\n")
    held, ear.most = dict(ear.owners), len(ear.owners) + 1
    assert not listening(ear, *others).hears
    assert ear.owners == held


def test_when_more_was_told_than_the_kernel_keeps_nobody_has_heard_all(ear: Inotify, files: list[Path]) -> None:
    """What was lost may have been about any file."""
    listener = listening(ear, *files)
    inbox, lost = os.pipe()
    os.set_blocking(inbox, False)
    os.write(lost, b"\xff" * 4 + b"\0" * 12)
    own, ear.fd = ear.fd, inbox
    try:
        ear.hear()
    finally:
        ear.fd = own
        os.close(inbox)
        os.close(lost)
    assert not listener.hears


def test_a_machine_without_inotify_is_deaf(ear: Inotify, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Then files are looked at, each time."""
    deaf = Inotify()
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert not listening(deaf, *files).hears
    deaf.hear()
    assert deaf.fd < 0
