"""A diagnostics bundle: whole, private, without secrets, and honest about what it lacks."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dogwatch.api import bundle
from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.model import Expectation, Unreachable
from dogwatch.redaction import redacted
from dogwatch.store.rows import tick
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.local import Here
from dogwatch.transport.log_tails import LINES
from tests.store.sample import NOW, ended, job

REF = "here/process:1"
TOKEN = "hf_" + "q" * 30
KEY = [
    "-----BEGIN OPENSSH {} KEY-----".format("PRIVATE"),
    *["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz"] * 5,
]


class Gone:
    """A place that does not answer."""

    place = "here"

    def ask(self, request: Mapping[str, Any], deadline: float = 1.0) -> Unreachable:
        return Unreachable("here", NOW, 1.0, "no route to host")

    def close(self) -> None: ...


@pytest.fixture
def transport() -> Iterator[Here]:
    way = Here("here", Clock())
    yield way
    way.close()


@pytest.fixture
def store(home: Path, tmp_path: Path) -> Store:
    """A job that failed, with two logs, an output, a history and readings."""
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    out.mkdir()
    (logs / "a.log").write_text("".join(f"line {n}\n" for n in range(2000)) + f"HF_TOKEN={TOKEN}\nTraceback: boom\n")
    (logs / "b.log").write_bytes(b"\x1b[31mred\x1b[0m \xff\n" + "\n".join(KEY).encode() + b"\n-----END-----\nafter\n")
    (out / "part-0.jsonl").write_text('{"a": 1}\n')
    expect = Expectation(logs=(str(logs / "*.log"),), outputs=(str(out / "*.jsonl"),))
    opened = open_store(str(home))
    register(opened, job(name="train/../../etc", expect=expect), NOW, 1.0)
    said = tick.Event("finding.opened", f"password={TOKEN}", ref=REF, level="critical", body={"rule": "r", "what": ""})
    diagnosis: Any = {"cause": "code_error", "title": "boom"}
    update = tick.JobUpdate(REF, ended(), diagnosis=diagnosis)
    readings = (tick.Reading(REF, {"step": 5}),)
    tick.commit(opened, tick.Tick(NOW, 1.0, jobs=(update,), events=(said,), readings=readings))
    return opened


def everything(path: str) -> dict[str, str]:
    """Every file of a bundle by its name."""
    return {str(one.relative_to(path)): one.read_text() for one in sorted(Path(path).rglob("*")) if one.is_file()}


def test_a_bundle_has_everything_and_says_what_is_in_it(store: Store, transport: Here, tmp_path: Path) -> None:
    """Every file that is named in its README is there, and nothing is that is not."""
    made = bundle.make(store, REF, str(tmp_path / "b"), bundle.ask_place(transport, store, REF), NOW)
    found = everything(made.path)
    assert made.missing == []
    assert sorted(found) == [
        *("README.txt", "events.jsonl", "files.json", "job.json", "logs/01-a.log", "logs/02-b.log"),
        *("readings.jsonl", "report.json", "versions.json"),
    ]
    for name in found:
        assert name.partition("/")[0] in found["README.txt"]
    assert "Missing: nothing" in found["README.txt"]
    assert json.loads(found["report.json"])["diagnosis"]["cause"] == "code_error"
    assert json.loads(found["readings.jsonl"])["step"] == 5
    listed = json.loads(found["files.json"])
    assert [Path(one["path"]).name for one in listed["files"]["outputs"]] == ["part-0.jsonl"]
    assert listed["disks"]
    assert json.loads(found["versions.json"])["place"]["python"]
    assert [json.loads(line)["kind"] for line in found["events.jsonl"].splitlines()] == ["job.added", "finding.opened"]


def test_logs_are_bounded_harmless_and_end_with_the_end(store: Store, transport: Here, tmp_path: Path) -> None:
    """The last lines are what tells."""
    logs = everything(bundle.make(store, REF, str(tmp_path / "b"), bundle.ask_place(transport, store, REF), NOW).path)
    first = logs["logs/01-a.log"].splitlines()
    assert len(first) <= LINES + 2
    assert first[-2:] == ["Traceback: boom", ""] or first[-1] == "Traceback: boom"
    assert "\x1b" not in logs["logs/02-b.log"]
    assert "red" in logs["logs/02-b.log"]


def test_no_secret_is_left_in_any_file(store: Store, transport: Here, tmp_path: Path) -> None:
    """Tokens, passwords in events, and every line of a private key."""
    found = everything(bundle.make(store, REF, str(tmp_path / "b"), bundle.ask_place(transport, store, REF), NOW).path)
    for name, text in found.items():
        assert TOKEN not in text, name
        assert KEY[1] not in text, name
    assert "after" in found["logs/02-b.log"]


def test_a_private_key_whose_head_was_cut_off_is_taken_out_too() -> None:
    """The end of a log may begin in the middle of one."""
    shown = bundle._lines("\n".join([*KEY[1:], "-----END OPENSSH PRIVATE KEY-----", "step 5"]).encode())
    assert shown == [*["[redacted]"] * 5, "-----END OPENSSH PRIVATE KEY-----", "step 5"]


def test_a_bundle_is_for_its_owner_alone(store: Store, transport: Here, tmp_path: Path) -> None:
    """Directories 0700 and files 0600 whatever the umask; its name cannot leave the folder."""
    before = os.umask(0)
    try:
        made = bundle.make(store, REF, str(tmp_path / "b"), bundle.ask_place(transport, store, REF), NOW)
    finally:
        os.umask(before)
    assert Path(made.path).parent == tmp_path / "b"
    for one in [Path(made.path), *Path(made.path).rglob("*")]:
        assert stat.S_IMODE(one.stat().st_mode) == (0o700 if one.is_dir() else 0o600)


def test_a_dark_place_leaves_a_bundle_of_what_is_known(store: Store, tmp_path: Path) -> None:
    """It says what is missing, inside and to whoever asked."""
    made = bundle.make(store, REF, str(tmp_path / "b"), bundle.ask_place(Gone(), store, REF), NOW)
    assert made.missing == ["logs and files: here did not answer: no route to host"]
    found = everything(made.path)
    assert "Missing: logs and files: here did not answer" in found["README.txt"]
    assert json.loads(found["job.json"])["ref"] == REF
    assert json.loads(found["versions.json"])["place"] is None


def test_two_bundles_of_the_same_second_are_two(store: Store, tmp_path: Path) -> None:
    """And the newest one is found again by the job's ref."""
    folder = str(tmp_path / "b")
    paths = {bundle.make(store, REF, folder, None, NOW).path for _ in range(3)}
    later = bundle.make(store, REF, folder, None, NOW + 60).path
    assert len(paths) == 3
    assert bundle.newest(folder, REF) == later
    assert bundle.newest(folder, "here/process:2") is None
    assert bundle.newest(str(tmp_path / "nowhere"), REF) is None


def test_a_folder_that_cannot_be_written_is_a_sentence(store: Store, tmp_path: Path) -> None:
    """And leaves nothing behind."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        bundle.make(store, REF, str(tmp_path / "file" / "b"), None, NOW)


def test_the_oldest_bundles_go_and_nothing_of_others(store: Store, tmp_path: Path) -> None:
    """As many as are kept stay, drafts of killed watchers go, and a directory that is not ours is not touched."""
    folder = tmp_path / "b"
    for number in range(bundle.KEPT + 5):
        made = bundle.make(store, REF, str(folder), None, NOW + number).path
        os.utime(made, (NOW + number, NOW + number))
    (folder / "mine").mkdir()
    draft = folder / f"{bundle.DRAFT}{bundle.NAME}x"
    draft.mkdir()
    os.utime(draft, (NOW - 9999, NOW - 9999))
    bundle.sweep(str(folder), NOW + 100)
    left = sorted(one.name for one in folder.iterdir())
    assert len(left) == bundle.KEPT + 1
    assert "mine" in left
    assert bundle.newest(str(folder), REF) == made
    bundle.sweep(str(folder), NOW + bundle.KEPT_SECONDS + 100)
    assert [one.name for one in folder.iterdir()] == ["mine"]
    bundle.sweep(str(tmp_path / "nowhere"), NOW)


def test_a_secret_that_is_redacted_by_its_shape_is_not_redacted_twice() -> None:
    """A token behind its own name leaves one mark."""
    assert redacted(f"HF_TOKEN={TOKEN} next") == "HF_TOKEN=hf_q…[redacted] next"
