"""The agents' registries: adopted from, kept up to date, and nobody's edit lost."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.api import registry
from dogwatch.api.registry_file import RegistryRefused, edited, parse
from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.model import Ended, Evidence, Job, Known, Outcome, Place, Running, Waiting
from dogwatch.model.scheduler import status
from dogwatch.store.rows import jobs, tick
from dogwatch.store.rows.places import add_place
from dogwatch.store.rows.registration import forget, register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from tests.support import wait_until

ROOT = Path(__file__).parents[2]
SUBMITTED = "2026-11-15 20:00"
AT = time.mktime(time.strptime(SUBMITTED, "%Y-%m-%d %H:%M"))


@pytest.fixture
def store(home: Path):
    with open_store(str(home)) as opened:
        add_place(opened, Place("hpc", "ssh", {"ssh": "login.hpc"}, 60.0))
        yield opened


def adopting(store: Store, submitted: float | None = AT, log: list | None = None) -> registry.Adopt:
    """What the api does with an entry, as far as a registry can tell."""

    def adopt(entry: registry.Entry) -> str:
        ref = f"{entry.place}/{entry.kind}:{entry.base}"
        job = Job(ref, entry.place, entry.kind, entry.base, entry.base, entry.description, submitted, AT)
        register(store, job, AT, 1.0)
        if log is not None:
            log.append(entry)
        return ref

    return adopt


def refusing(entry: registry.Entry) -> str:
    raise UsageError("nothing is adopted in this test")


def see(store: Store, ref: str, state, native: str = "") -> None:
    known = Known(state, AT, native, "", "a", 1, AT, (Evidence("squeue", native, AT),))
    tick.commit(store, tick.Tick(AT, 1.0, jobs=(tick.JobUpdate(ref, known),)))


def entry(number: object = 12345, **more: object) -> dict:
    return {
        "type": "slurm",
        "id": number,
        "host": "hpc",
        "user": "ada",
        "submitted": SUBMITTED,
        "description": "MMLU-Pro",
        "last_status": "PENDING",
        **more,
    }


def write(folder: Path, entries: object, session: str | None = None) -> Path:
    inner = folder / ".claude" / "agents" / session if session else folder / ".claude"
    inner.mkdir(parents=True, exist_ok=True)
    path = inner / "active_jobs.json"
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries, indent=2))
    return path


def test_a_new_entry_is_adopted_updated_and_taken_out_when_its_end_is_recorded(store, tmp_path) -> None:
    """The whole life of an entry, with everything else in the file kept."""
    path = write(tmp_path, [entry(), {"type": "nel", "id": "a1", "host": "hpc"}])
    seen: list[registry.Entry] = []
    first = registry.sync(store, str(path), adopting(store, log=seen))
    assert first.adopted == ({"id": "12345", "ref": "hpc/slurm:12345"},)
    assert (seen[0].user, seen[0].submitted, seen[0].description) == ("ada", AT, "MMLU-Pro")
    assert json.loads(path.read_text())[0]["last_status"] == "PENDING"
    see(store, "hpc/slurm:12345", Running(AT), "RUNNING")
    second = registry.sync(store, str(path), refusing)
    assert (second.adopted, second.updated[0]["after"]) == ((), "RUNNING")
    assert json.loads(path.read_text())[0] == entry(last_status="RUNNING")
    see(store, "hpc/slurm:12345", Ended(Outcome.FAILED, 1), "FAILED")
    third = registry.sync(store, str(path), refusing)
    assert third.removed == ({"id": "12345", "ref": "hpc/slurm:12345", "status": "FAILED"},)
    assert json.loads(path.read_text()) == [{"type": "nel", "id": "a1", "host": "hpc"}]


def test_every_session_has_a_registry_of_its_own(store, tmp_path) -> None:
    """The shared file and each session's are found, and the owner is passed on."""
    shared, own = write(tmp_path, [entry(1)]), write(tmp_path, [entry(2, owner="s-1")], "s-1")
    assert registry.find(str(tmp_path)) == [str(shared), str(own)]
    seen: list[registry.Entry] = []
    for path in (shared, own):
        registry.sync(store, str(path), adopting(store, log=seen), below=str(tmp_path))
    assert [(one.base, one.owner) for one in seen] == [("1", None), ("2", "s-1")]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"host": "elsewhere"}, "the host 'elsewhere' is not a configured host"),
        ({"host": "-oProxyCommand=touch /tmp/x"}, "the host '-oProxyCommand=touch /tmp/x' is not a configured host"),
        ({"host": ["hpc"]}, "the host '['hpc']' is not a configured host"),
        ({"id": "1; rm -rf /"}, "the id '1; rm -rf /' is not a Slurm job id"),
        ({"id": "--help"}, "the id '--help' is not"),
        ({"id": True}, "the id 'True' is not"),
        ({"id": -4}, "the id '-4' is not"),
        ({"user": "-l root"}, "the user '-l root' is not a user name"),
        ({"submitted": "yesterday"}, "submitted 'yesterday' is not a time"),
        ({"submitted": 7}, "submitted '7' is not a time"),
        ({"description": {"a": 1}}, "the description"),
        ({"type": "cloud"}, "the type 'cloud' is not known"),
        ({"type": None}, "the type (missing) is not known"),
        ({"type": "nel"}, "jobs of type 'nel' are not yet watched"),
        ({"type": "launcher"}, "jobs of type 'launcher' are not yet watched"),
    ],
)
def test_what_cannot_be_taken_is_named_and_left_as_it_is(store, tmp_path, wrong, said) -> None:
    """One bad entry hinders no other, and its text is not touched."""
    path = write(tmp_path, [entry(7), entry(**wrong)])
    before = path.read_text()
    done = registry.sync(store, str(path), adopting(store))
    assert [each["id"] for each in done.adopted] == ["7"]
    assert len(done.notes) == 1
    assert said in done.notes[0]
    assert f"{path} line 11: entry 2" in done.notes[0]
    assert path.read_text() == before


def test_escape_codes_of_a_registry_do_not_reach_a_terminal(store, tmp_path) -> None:
    """Names are shown plain, and a description is one clean line."""
    path = write(tmp_path, [entry(host="\x1b]0;owned\x07x"), entry(description="a\n\x1b[31mred\r b" + "c" * 999)])
    seen: list[registry.Entry] = []
    done = registry.sync(store, str(path), adopting(store, log=seen))
    assert "\x1b" not in done.notes[0]
    assert seen[0].description.startswith("a red b")
    assert len(seen[0].description) <= 200


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('[\n  {"type": "slurm",\n   "id": 1,,}\n]', "line 3 column 12"),
        ("", "line 1 column 1"),
        ('{"type": "slurm"}', "line 1 column 1: a registry is a list"),
        ("[\n" + "[" * 200_000, "line 2 column 32: nested deeper"),
        ('[{"id":\n ' + "9" * 6000 + "}]", "line 2 column 2: a number that is too large"),
        ('[{"id": 1e999}]', "line 1 column 9: a number that is too large"),
        ('[{"id": NaN}]', "line 1 column 9: NaN is not"),
        ('[{"id": -Infinity}]', "line 1 column 9: -Infinity is not"),
        ('[\n{"id": 1,\n "id": 2}]', 'line 3 column 2: the key "id" is given twice'),
        ('[{"a": 1, "\\u0061": 2}]', "is given twice"),
        ('["' + '\\"' * 1_000_000, "line 1 column 2"),
        ("[1] [2]", "line 1 column 5"),
    ],
)
def test_a_broken_file_is_reported_with_its_line_and_left_as_it_is(store, tmp_path, text, where) -> None:
    """Hostile or hand-broken JSON costs a sentence and nothing else."""
    path = write(tmp_path, text)
    done = registry.sync(store, str(path), refusing)
    assert done.refused is not None
    assert where in done.refused
    assert path.read_text() == text


def test_text_that_is_not_utf_8_and_files_that_are_no_files_are_refused(store, tmp_path) -> None:
    """A byte that is no text, a pipe, a folder, something huge."""
    path = write(tmp_path, [])
    path.write_bytes(b'[\n  "\xff"]')
    assert "line 2 column 4: the text is not UTF-8" in str(registry.sync(store, str(path), refusing).refused)
    path.unlink()
    os.mkfifo(path)
    assert "not a regular file" in str(registry.sync(store, str(path), refusing).refused)
    assert "cannot be read" in str(registry.sync(store, str(tmp_path / "none.json"), refusing).refused)
    path.unlink()
    path.write_bytes(b"[" + b" " * (5 << 20) + b"]")
    assert "larger than" in str(registry.sync(store, str(path), refusing).refused)


def test_no_link_is_followed(store, tmp_path) -> None:
    """Neither for the file, nor for a folder below the one that was named."""
    real = write(tmp_path / "real", [entry()])
    before = real.read_text()
    linked = tmp_path / "linked" / ".claude"
    linked.mkdir(parents=True)
    (linked / "active_jobs.json").symlink_to(real)
    (tmp_path / "around").mkdir()
    (tmp_path / "around" / ".claude").symlink_to(real.parent)
    for folder in ("linked", "around"):
        for path in registry.find(str(tmp_path / folder)):
            done = registry.sync(store, path, adopting(store), below=str(tmp_path / folder))
            assert "link" in str(done.refused)
            assert done.adopted == ()
    assert real.read_text() == before


def test_an_entry_is_matched_by_place_id_and_day(store, tmp_path) -> None:
    """The same number handed in another day is another job; without a time the number will do."""
    path = write(tmp_path, [entry(5), entry("5_[1-9%2]", submitted=""), entry(5, submitted="2026-11-19 20:00")])
    register(store, Job("hpc/slurm:5", "hpc", "slurm", "5", "old", "", AT + 3600, AT), AT, 1.0)
    see(store, "hpc/slurm:5", Ended(Outcome.SUCCEEDED, 0), "COMPLETED")
    seen: list[registry.Entry] = []

    def adopt(one: registry.Entry) -> str:
        seen.append(one)
        raise CouldNotPoll("unreachable")

    done = registry.sync(store, str(path), adopt)
    assert [one.submitted for one in seen] == [AT + 4 * 86400]
    assert [each["id"] for each in done.removed] == ["5", "5_[1-9%2]"]
    assert [one["submitted"] for one in json.loads(path.read_text())] == ["2026-11-19 20:00"]
    assert "unreachable" in done.notes[0]


def test_a_process_is_matched_by_its_pid_and_an_alias_names_its_place(store, tmp_path) -> None:
    """`4242` means the job 4242-99 of this machine; `login.hpc` means the place hpc."""
    path = write(tmp_path, [entry(4242, type="process", host="localhost"), entry(9, host="login.hpc")])
    register(store, Job("here/process:4242-99", "here", "process", "4242-99", "p", "", AT, AT), AT, 1.0)
    see(store, "here/process:4242-99", Running(AT), "sleeping")
    done = registry.sync(store, str(path), adopting(store))
    assert done.adopted == ({"id": "9", "ref": "hpc/slurm:9"},)
    assert done.updated == ({"id": "4242", "ref": "here/process:4242-99", "before": "PENDING", "after": "RUNNING"},)


def test_a_place_that_was_removed_is_no_place(store, tmp_path) -> None:
    """And an alias that two places share names neither."""
    add_place(store, Place("gone", "removed", {"ssh": "gone"}, 60.0))
    add_place(store, Place("twin", "ssh", {"ssh": "ada@login.hpc"}, 60.0))
    path = write(tmp_path, [entry(1, host="gone"), entry(2, host="login.hpc"), entry(3, host="ada@login.hpc")])
    done = registry.sync(store, str(path), adopting(store))
    assert [each["ref"] for each in done.adopted] == ["twin/slurm:3"]
    assert len(done.notes) == 2


def test_a_job_that_was_forgotten_is_not_taken_back(store, tmp_path) -> None:
    """A registry does not overrule what somebody said."""
    path = write(tmp_path, [entry(5)])
    registry.sync(store, str(path), adopting(store))
    forget(store, "hpc/slurm:5", AT, 1.0)
    done = registry.sync(store, str(path), adopting(store))
    assert done.adopted == ()
    assert "forgotten here" in done.notes[0]
    assert jobs.brief(store) == []


def test_spelling_order_mode_and_unknown_keys_stay(store, tmp_path) -> None:
    """Only what changed is changed, byte by byte."""
    path = write(
        tmp_path,
        '[ {"x": 1.10e+2, "id":"1", "type":"slurm","host":"hpc", "last_status" : "é\\n"},\r\n'
        '\t{"type": "slurm", "host": "hpc", "id": 2, "weiß": {"last_status": 3} }, 17,\n'
        '  {"type":"slurm","id":3,"host":"hpc"} ]\n\n',
    )
    path.chmod(0o640)
    registry.sync(store, str(path), adopting(store, submitted=None))
    see(store, "hpc/slurm:1", Waiting("Resources"), "PENDING")
    see(store, "hpc/slurm:2", Running(AT), "COMPLETING")
    see(store, "hpc/slurm:3", Ended(Outcome.SUCCEEDED, 0), "COMPLETED")
    registry.sync(store, str(path), refusing)
    assert path.read_bytes().decode() == (
        '[ {"x": 1.10e+2, "id":"1", "type":"slurm","host":"hpc", "last_status" : "PENDING"},\r\n'
        '\t{"type": "slurm", "host": "hpc", "id": 2, "weiß": {"last_status": 3}, "last_status": "COMPLETING" }, 17'
        " ]\n\n"
    )
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(path.parent)) == ["active_jobs.json", "active_jobs.json.lock"]


@pytest.mark.needs_root
def test_the_owner_of_the_file_stays(store, tmp_path) -> None:
    """A sync by root does not take the registry away from its user."""
    path = write(tmp_path, [entry()])
    os.chown(path, 65534, 65534)
    registry.sync(store, str(path), adopting(store))
    see(store, "hpc/slurm:12345", Running(AT), "RUNNING")
    assert registry.sync(store, str(path), refusing).updated
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_nothing_to_change_changes_nothing(store, tmp_path) -> None:
    """The same file, untouched, and no lock file beside it."""
    path = write(tmp_path, [entry()])
    registry.sync(store, str(path), adopting(store))
    before = path.stat()
    registry.sync(store, str(path), refusing)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert os.listdir(path.parent) == ["active_jobs.json"]


def test_a_lock_that_is_held_is_waited_for_and_in_the_end_reported(store, tmp_path) -> None:
    """Nothing is written behind the back of whoever holds it."""
    path = write(tmp_path, [entry()])
    registry.sync(store, str(path), adopting(store))
    see(store, "hpc/slurm:12345", Running(AT), "RUNNING")
    before = path.read_text()
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "held its lock" in str(registry.sync(store, str(path), refusing, lock_timeout=0.2).refused)
        assert path.read_text() == before
    assert registry.sync(store, str(path), refusing).updated


@pytest.mark.parametrize(("how", "may_be_lost"), [("locked", 0.0), ("renamed", 0.02), ("truncated", 0.02)])
def test_nobodys_entry_is_lost_by_200_syncs(store, tmp_path, how, may_be_lost) -> None:
    """Eight programs add entries while every sync rewrites the file; of those that take the lock, all is there.
    Without it there is an instant between a writer's reading and its renaming that nobody else can close."""
    path = write(tmp_path, [entry(1)])
    registry.sync(store, str(path), adopting(store))
    command = [sys.executable, "-m", "tests.api.registry_writers", how, str(path)]
    writers = [
        subprocess.Popen([*command, f"w{number}", "40"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for number in range(8)
    ]
    try:
        swapped = 0
        for number in range(200):
            see(store, "hpc/slurm:1", *((Running(AT), "RUNNING") if number % 2 else (Waiting(), "PENDING")))
            swapped += bool(registry.sync(store, str(path), refusing).updated)
        Path(f"{path}.stop").touch()
        added = {f"w{n}-{k}" for n, writer in enumerate(writers) for k in range(int(writer.communicate(timeout=60)[0]))}
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert swapped > 100
    assert len(added) > 50
    left = {str(one["id"]) for one in json.loads(path.read_text())}
    assert len(added - left) <= may_be_lost * len(added)


def test_a_scheduler_word_is_kept_unless_it_contradicts_what_is_known() -> None:
    """COMPLETED is never written of what did not succeed, and a missing job is not running."""
    assert status(None, None, None) is None
    assert status("waiting", None, "PENDING") == "PENDING"
    assert status("running", None, "sleeping") == "RUNNING"
    assert status("missing", None, "RUNNING") == "MISSING"
    assert status("ended", "cancelled", "CANCELLED by 1000") == "CANCELLED"
    assert status("ended", "failed", "COMPLETED") == "FAILED"
    assert status("ended", "failed", "BOOT_FAIL") == "BOOT_FAIL"
    assert status("ended", "succeeded", "exit 0") == "COMPLETED"
    assert status("ended", "timed_out", "RUNNING") == "TIMEOUT"
    assert status("ended", "unknown", "") == "UNKNOWN"


def test_the_command_adopts_a_process_reports_its_end_and_takes_it_out(dogwatch, tmp_path) -> None:
    """A real process of this machine, from the registry to its end."""
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        now = time.strftime("%Y-%m-%d %H:%M")
        path = write(tmp_path, [entry(sleeper.pid, type="process", host="localhost", submitted=now), entry()])
        try:
            first = dogwatch("sync", "--dir", tmp_path)
            assert first.returncode == 0
            assert f"{sleeper.pid}: watched as here/process:{sleeper.pid}-" in first.stdout
            assert "line 11: entry 2 ('12345'): the host 'hpc' is not a configured host" in first.stderr
            dogwatch("patrol")
            assert f"{sleeper.pid}: PENDING → RUNNING" in dogwatch("sync", cwd=tmp_path).stdout
        finally:
            sleeper.kill()
    wait_until(lambda: '"after": "ended"' in dogwatch("patrol", "--json").stdout)
    last = json.loads(dogwatch("sync", "--dir", tmp_path, "--json").stdout)["files"][0]
    assert [(one["id"], one["status"]) for one in last["removed"]] == [(str(sleeper.pid), "UNKNOWN")]
    assert json.loads(path.read_text()) == [entry()]


def test_a_broken_file_is_exit_2_only_when_it_was_named(dogwatch, tmp_path) -> None:
    """Whoever names a file wants that file; what merely lies around is reported."""
    path = write(tmp_path, "[\n  {,\n]")
    named = dogwatch("sync", "--file", path)
    assert (named.returncode, "line 2 column 4" in named.stderr) == (2, True)
    around = dogwatch("sync", "--dir", tmp_path)
    assert (around.returncode, "line 2 column 4" in around.stderr) == (0, True)
    nothing = dogwatch("sync", "--dir", tmp_path / "nowhere")
    assert (nothing.returncode, "no registry here" in nothing.stderr) == (0, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
ENTRIES = st.lists(
    st.dictionaries(st.sampled_from(["id", "last_status", "x", "]", '"']), JSON, max_size=4).map(
        lambda d: {**d, "k": 1}
    )
    | JSON,
    max_size=5,
)


@given(ENTRIES, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.data())
def test_an_edit_changes_what_it_names_and_nothing_else(values, indent, ascii_only, drawn) -> None:
    """Whatever the list holds and however it is laid out."""
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    changes = {
        number: drawn.draw(st.sampled_from([None, "RUNNING"]))
        for number, value in enumerate(values)
        if isinstance(value, dict) and "k" in value and drawn.draw(st.booleans())
    }
    expected = [
        {**value, "last_status": changes[number]} if changes.get(number) else value
        for number, value in enumerate(values)
        if changes.get(number, "") is not None
    ]
    assert json.loads(edited(text, parse(text), changes)) == expected


@given(st.text(alphabet='[]{},:"\\ \n0123456789.eE+-truefalsnNaIiy\x00é', max_size=60))
def test_no_text_makes_the_reader_fail_in_another_way(text) -> None:
    """A list comes out, or a sentence with a line."""
    try:
        found = [item.value for item in parse(text)]
    except RegistryRefused as error:
        said = str(error)
    else:
        assert found == json.loads(text)
        return
    assert said.startswith("line ")
