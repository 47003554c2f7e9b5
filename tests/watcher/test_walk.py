"""One tick, file by file: what docs/design.md says of it is what the program does."""

from __future__ import annotations

import re
import select
import sys
import threading
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dogwatch import assemble
from dogwatch.clock import Clock
from dogwatch.model import Expectation
from dogwatch.store.interface import Store
from dogwatch.store.rows.channels import add_channel
from dogwatch.store.rows.jobs import documents
from dogwatch.store.sqlite.location import open_store
from tests.alerts.receiver import Receiver
from tests.support import wait_until

ROOT = Path(__file__).parent.parent.parent
SRC = ROOT / "src" / "dogwatch"
DESIGN = ROOT / "docs" / "design.md"
FOLDERS = ("watcher/", "transport/", "sources/", "store/", "channels/")


class Walk:
    """The files of these folders in the order in which a call first enters each, in any thread."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def _note(self, frame: FrameType, event: str, arg: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SRC)) and frame.f_code.co_name != "<module>":
            file = name[len(str(SRC)) + 1 :]
            if file.startswith(FOLDERS) and file not in self.files:
                self.files.append(file)

    def of(self, act: Callable[[], object]) -> list[str]:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            act()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return self.files


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with open_store(str(home)) as opened:
        yield opened


def begin_job(store: Store, clock: Clock, folder: Path, name: str) -> None:
    """A job that counts in its log and fails as soon as a file with its name appears."""
    log = folder / f"{name}.log"
    script = f"echo 'step 1/10 loss: 0.5' > {log}; until test -e {folder}/{name}; do sleep 0.05; done; exit 3"
    more: dict[str, Any] = {"workers": 1, "gpus": None, "env": (), "cwd": None}
    expect = Expectation(workers=1, logs=(str(log),))
    with store.location.open() as another:  # a watcher takes up what others wrote
        assemble.start_run(another, clock, ["sh", "-c", script], name=name, expect=expect, **more)


def end_job(store: Store, folder: Path, name: str) -> None:
    """Let it fail, and wait until its supervisor has recorded that and rung."""
    wakeup = store.location.wakeup()
    try:
        wakeup.clear()
        (folder / name).touch()
        assert select.select([wakeup.fileno()], [], [], 20.0)[0]
    finally:
        wakeup.close()


def walk_of_a_failure(store: Store, folder: Path, receiver: Receiver) -> list[str]:
    """The files from the step that finds a job failed to the message that tells of it; what is loaded or made once was
    so for another job."""
    clock, url = Clock(), folder / "url"
    url.touch(mode=0o600)
    url.write_text(receiver.url)
    add_channel(store, "team", "slack", {"url": f"file:{url}"}, {}, clock.now())
    watch = assemble.watch(store, clock, who="test", every=0.05)
    watch.begin()

    walk = Walk()

    def is_running(name: str) -> bool:
        return any(job["name"] == name and job["state"] == "running" for job in documents(store))

    def is_told(name: str) -> bool:
        if is_running(name):
            walk.files.clear()  # the walk begins with the step that finds it ended
        walk.of(watch.step)
        return any(name in str(got.json) for got in receiver.got)

    for name in ("first", "second"):
        begin_job(store, clock, folder, name)
        wait_until(lambda name=name: (watch.step(), is_running(name))[1])  # type: ignore[misc]
        end_job(store, folder, name)
        wait_until(lambda name=name: is_told(name))  # type: ignore[misc]
    watch.end()
    return walk.files


def test_a_tick_passes_the_files_that_the_design_names_in_their_order(
    store: Store, tmp_path: Path, receiver: Receiver
) -> None:
    """From the loop to a delivered Slack message: the main path is short and in order, and no file is unnamed."""
    section = DESIGN.read_text().partition("## One tick, file by file\n")[2].partition("\n## ")[0]
    main = re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE)
    named = re.findall(r"`((?!tests/)[^`]+(?:\.py|/\*))`", section)
    assert 15 < len(main) <= 25
    files = walk_of_a_failure(store, tmp_path, receiver)
    assert [file for file in files if file in main] == main
    unnamed = [file for file in files if not any(fnmatch(file, pattern) for pattern in named)]
    assert unnamed == []
    assert [pattern for pattern in named if not any(fnmatch(file, pattern) for file in files)] == []
