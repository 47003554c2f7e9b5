"""Links that a run on a machine without a scheduler puts in the place of the folders of its files."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from dogwatch.clock import Clock
from dogwatch.model import Job, Known, Place
from dogwatch.sources.box import source
from dogwatch.transport.local import Here
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.tick.place_poller import PlacePoller
from tests.security.test_links import SECRET, swap


def test_neither_marks_nor_results_are_read_behind_a_folder_that_became_a_link(tmp_path: Path) -> None:
    """The watcher keeps where the folders were, and says that they lead elsewhere now; what it saw is in no state."""
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    for folder, text in ((elsewhere, SECRET), (out, "score: 1")):
        folder.mkdir()
        (folder / "a.done").write_text(text)
        (folder / "secret.json").write_text(text)
    globs = {"markers": [f"{out}/*.done"], "results": [f"{out}/*.json"]}
    job = Job("here/box:r", "here", "box", "r", "train", registered=1.0, track={"find": {"name": "no-such"}, **globs})
    here = Here()
    poller = PlacePoller(Place("here"), here, {source.kind: source}, Clock(), every=10.0)
    poller._jobs = {job.ref: WatchedJob(job, Known(), Memory(), Readers(None))}
    told = []
    for _ in range(3):
        done = poller.tick({})
        poller.accept(done)
        told.append(json.dumps(msgspec.to_builtins([done.tick.events, poller.jobs[job.ref].memory])))
        if not out.is_symlink():
            assert poller.jobs[job.ref].memory.learnt.real == {str(out): str(out)}
            swap(out, elsewhere)
    here.close()
    assert "hunter2" not in "".join(told)
    (why,) = poller.jobs[job.ref].memory.learnt.moved or []
    assert f"{out} is now a link to {elsewhere}" in why
