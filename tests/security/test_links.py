"""Links in the paths of jobs: whatever a job puts in the place of its directories, nothing else is read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dogwatch.clock import Clock
from dogwatch.transport import extra_probe
from dogwatch.transport.interface import Answer, Transport
from dogwatch.transport.local import Here
from dogwatch.transport.ssh import Ssh
from tests.support import wait_until
from tests.transport.conftest import sshd
from tests.transport.sshd import probes

__all__ = ["sshd"]

SECRET = "root:$6$hunter2:19000:0:99999:7:::"
NOBODY = 65534


@pytest.fixture(params=["here", "ssh"])
def way(request: pytest.FixtureRequest) -> Iterator[Transport]:
    """The probe of this machine, and the one that goes to another as text."""
    if request.param == "here":
        transport: Here | Ssh = Here()
    else:
        host = request.getfixturevalue("sshd")
        host.start()
        transport = Ssh("lab", "box", str(host.config), Clock())
    yield transport
    transport.close()
    if request.param == "ssh":
        wait_until(lambda: not probes())


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A directory that is none of the job's, with a file under every name that the job uses."""
    made = tmp_path / "elsewhere"
    made.mkdir()
    for name in ("train.log", "a.jsonl", "metrics.csv", "results.json"):
        (made / name).write_text(SECRET + "\n")
    (made / "step_1").mkdir()
    (made / "step_1" / "trainer_state.json").write_text(json.dumps({"global_step": 47110471104711, "secret": SECRET}))
    return made


class Caller:
    """Whoever asks about the files of one job: keeps where its folders were at first sight, as the watcher does."""

    def __init__(self, way: Transport, section: str = "texts", **spec: Any) -> None:
        self.way, self.section, self.spec = way, section, spec
        self.real: dict[str, str] = {}
        self.all: list[str] = []

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = self.way.ask(request, 60.0)
        assert isinstance(answer, Answer), answer
        self.all.append(json.dumps(answer.body))
        return dict(answer.body)

    def look(self) -> dict[str, Any]:
        body = self.ask({self.section: {"job": {**self.spec, "real": self.real}}})
        found: dict[str, Any] = body[self.section]["job"]
        self.real = {**found.get("real", {}), **self.real}
        return found

    def intact(self, **call: Any) -> dict[str, Any]:
        body = self.ask(
            {
                "extra_probes": {
                    "intact": extra_probe.spec(
                        "integrity", {**call, "seconds": 5.0, "bytes": 1 << 30, "real": self.real}
                    )
                }
            }
        )
        found = dict(body["extra_probes"]["intact"])
        assert set(found) != {"why"}, found
        return found

    def told_no_secret(self) -> bool:
        return not any("hunter2" in text or "47110471104711" in text for text in self.all)


def texts(way: Transport, *globs: Path | str) -> Caller:
    return Caller(way, globs=[str(glob) for glob in globs], max=1 << 20)


def swap(folder: Path, target: Path | str) -> None:
    """The folder becomes a link, as a job would do it that may write beside it."""
    folder.rename(folder.with_name(folder.name + ".old"))
    folder.symlink_to(target)


def logs_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "train.log").write_text("step 1/10\n")
    return folder / "train.log"


@pytest.mark.parametrize("section", ["texts", "logs"])
@pytest.mark.parametrize("target", ["{}", "../elsewhere"])
@pytest.mark.parametrize("name", ["train.log", "*.log"])
def test_a_directory_that_becomes_a_link_is_not_read(
    way: Transport, tmp_path: Path, secret: Path, section: str, target: str, name: str
) -> None:
    """Absolute and relative links, named files and globs: one sentence says what became of the directory."""
    logs_in(tmp_path / "job" / "logs")
    caller = Caller(way, section, globs=[str(tmp_path / "job" / "logs" / name)])
    assert [entry["text"] for entry in caller.look()["files"].values()] == ["step 1/10\n"]
    swap(tmp_path / "job" / "logs", target.format(secret))
    found = caller.look()
    assert found["files"] == {}
    (why,) = found["unreadable"].values()
    assert f"{tmp_path}/job/logs is now a link to " in why
    assert "when the job was added" in why
    assert "forget" in why
    assert caller.told_no_secret()


@pytest.mark.parametrize("level", ["a", "b", "c"])
def test_any_directory_above_a_log_counts(here: Here, tmp_path: Path, level: str) -> None:
    """However far above the log the link is put."""
    logs_in(tmp_path / "a" / "b" / "c")
    below = {"a": "b/c", "b": "c", "c": ""}[level]
    other = tmp_path / "other" / below
    other.mkdir(parents=True)
    (other / "train.log").write_text(SECRET)
    caller = texts(here, tmp_path / "a" / "b" / "c" / "train.log")
    assert caller.look()["files"]
    swap(tmp_path / {"a": "a", "b": "a/b", "c": "a/b/c"}[level], tmp_path / "other")
    assert not caller.look()["files"]
    assert caller.told_no_secret()


def test_a_directory_that_was_not_there_cannot_come_as_a_link(way: Transport, tmp_path: Path, secret: Path) -> None:
    """The job makes its own folder after it was added: as a directory it is read, as a link it is not."""
    (tmp_path / "job").mkdir()
    caller, honest = (texts(way, tmp_path / "job" / name / "train.log") for name in ("logs", "own"))
    assert caller.look()["missing"]
    assert honest.look()["missing"]
    (tmp_path / "job" / "logs").symlink_to(secret)
    logs_in(tmp_path / "job" / "own")
    assert "is now a link to" in str(caller.look()["unreadable"])
    assert caller.told_no_secret()
    assert len(honest.look()["files"]) == 1


def test_links_that_were_there_from_the_beginning_keep_working(way: Transport, tmp_path: Path, secret: Path) -> None:
    """A scratch disk or a home that is a link is read where it really is, and not where the link leads later."""
    logs_in(tmp_path / "mnt" / "scratch" / "run")
    (tmp_path / "scratch").symlink_to(tmp_path / "mnt" / "scratch")
    path = tmp_path / "scratch" / "run" / "train.log"
    caller, globbed = texts(way, path), texts(way, tmp_path / "scratch" / "*" / "*.log")
    for _ in range(2):
        assert list(caller.look()["files"]) == list(globbed.look()["files"]) == [str(path)]
    assert caller.real == {str(path.parent): str(tmp_path / "mnt" / "scratch" / "run")}
    (secret / "run").mkdir()
    (secret / "run" / "train.log").write_text(SECRET)
    (tmp_path / "scratch").unlink()
    (tmp_path / "scratch").symlink_to(secret)
    assert caller.look()["files"] == globbed.look()["files"] == {}
    assert caller.told_no_secret()
    assert globbed.told_no_secret()


def test_a_latest_link_may_move_on_to_the_next_run_beside_it(way: Transport, tmp_path: Path, secret: Path) -> None:
    """Trainers and trackers keep one: it may name its neighbours, and nothing else."""
    runs = tmp_path / "runs"
    for name in ("run-1", "run-2"):
        logs_in(runs / name / "files")
    (runs / "latest").symlink_to("run-1")
    caller = texts(way, runs / "latest" / "files" / "*.log")
    assert len(caller.look()["files"]) == 1
    for target, read in (("run-2", 1), ("../elsewhere", 0), ("run-1", 1), (str(tmp_path), 0)):
        (runs / "latest").unlink()
        (runs / "latest").symlink_to(target)
        assert len(caller.look()["files"]) == read, target
    (runs / "latest").unlink()
    (runs / "latest").symlink_to("run-2")
    runs.chmod(0o1777)  # anybody's directories may be beside it now
    assert caller.look()["files"] == {}
    assert caller.told_no_secret()


def test_links_below_the_folder_stay_beneath_where_they_are(way: Transport, tmp_path: Path, secret: Path) -> None:
    """Behind a wildcard a link to a part of the same run is followed, and one that leads out of it is not."""
    for run in ("1", "2", "3"):
        logs_in(tmp_path / "runs" / run / "logs")
    (tmp_path / "runs" / "1" / "now").symlink_to("logs")
    (tmp_path / "runs" / "2" / "now").symlink_to(secret)
    (tmp_path / "runs" / "3" / "now").symlink_to("../2/logs")
    caller = texts(way, tmp_path / "runs" / "*" / "now" / "train.log")
    found = caller.look()
    assert list(found["files"]) == [str(tmp_path / "runs" / "1" / "now" / "train.log")]
    assert len(found["unreadable"]) == 2
    assert all("out of the directory that it is in" in why for why in found["unreadable"].values())
    assert caller.told_no_secret()


def test_a_loop_of_links_is_an_error_and_no_loop(way: Transport, tmp_path: Path) -> None:
    """Before and after the first poll."""
    (tmp_path / "round").symlink_to("about")
    (tmp_path / "about").symlink_to("round")
    loop = texts(way, tmp_path / "round" / "train.log", tmp_path / "about" / "*.log")
    assert "symbolic links" in str(loop.look()["unreadable"])
    logs_in(tmp_path / "job")
    caller = texts(way, tmp_path / "job" / "train.log")
    assert caller.look()["files"]
    swap(tmp_path / "job", "job")
    found = caller.look()
    assert (found["files"], len(found["unreadable"])) == ({}, 1)


def test_outputs_and_checkpoints_of_another_directory_are_not_even_listed(
    way: Transport, tmp_path: Path, secret: Path
) -> None:
    """Names, sizes and times belong to whoever owns them, too."""
    out = tmp_path / "out"
    (out / "step_1").mkdir(parents=True)
    (out / "a.jsonl").write_text("{}\n")
    spec = {"outputs": [f"{out}/*.jsonl", f"{out}/a.jsonl"], "checkpoints": [f"{out}/step_*"]}
    caller = Caller(way, "files", **spec)
    found = caller.look()
    assert (len(found["outputs"]), len(found["checkpoints"])) == (1, 1)
    swap(out, secret)
    found = caller.look()
    assert (found["outputs"], found["checkpoints"], found["missing"]) == ([], [], [])
    assert all("is now a link to" in why for why in found["unreadable"].values())


def test_no_file_behind_a_link_is_judged(way: Transport, tmp_path: Path, secret: Path) -> None:
    """Paths, checkpoints, counted lines and what is left behind unfinished: none says a word of it."""
    out = tmp_path / "out"
    (out / "step_1").mkdir(parents=True)
    (out / "a.jsonl").write_text("{}\n")
    (out / "step_1" / "trainer_state.json").write_text('{"global_step": 1}')
    (secret / "a.jsonl.tmp").write_text("x")
    caller = Caller(way, "files", outputs=[f"{out}/*.jsonl"], checkpoints=[f"{out}/step_*"])
    caller.look()
    call = {"paths": [f"{out}/a.jsonl"], "checkpoints": [[f"{out}/step_1"]], "left": {f"{out}/*.jsonl": None}}
    before = caller.intact(**call)
    assert [row["verdict"] for row in before["files"]] == ["intact"]
    assert before["checkpoints"][f"{out}/step_1"]["iteration"] == 1
    swap(out, secret)
    after = caller.intact(**call)
    assert [(row["verdict"], "is now a link to" in row["why"]) for row in after["files"]] == [("cannot tell", True)]
    (row,) = after["checkpoints"].values()
    assert (row["verdict"], row["iteration"]) == ("cannot tell", None)
    spec = {"lines": {f"{out}/a.jsonl": []}, "guess": {"folders": [str(out)], "since": 0.0}, "real": caller.real}
    (job,) = caller.intact(jobs={"job": spec})["jobs"].values()
    assert (job["lines"], job["guessed"]) == ({}, [])
    assert caller.told_no_secret()


def test_a_checkpoint_link_inside_its_folder_is_judged(way: Transport, tmp_path: Path, secret: Path) -> None:
    """`latest -> step_2` is what it names; a link that leads out is refused by name, and nothing in it is followed."""
    save = tmp_path / "save"
    (save / "step_2").mkdir(parents=True)
    (save / "step_2" / "state.json").write_text("{}")
    (save / "step_2" / "index.index.json").symlink_to(secret / "results.json")
    (save / "latest").symlink_to("step_2")
    (save / "stolen").symlink_to(secret / "step_1")
    caller = Caller(way, "files", checkpoints=[f"{save}/*"])
    assert [row["path"] for row in caller.look()["checkpoints"]] == [f"{save}/step_2"]
    (save / "step_2" / "index.index.json").unlink()
    found = caller.intact(checkpoints=[[f"{save}/latest"], [f"{save}/stolen"]])["checkpoints"]
    assert found[f"{save}/latest"]["verdict"] == "intact"
    assert found[f"{save}/stolen"]["verdict"] == "cannot tell"
    assert caller.told_no_secret()


def test_gpu_figures_are_not_read_behind_a_link(way: Transport, tmp_path: Path, secret: Path) -> None:
    """They lie in the job's own working directory."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "metrics.csv").write_text("a,b\n1,2\n")
    caller = Caller(way, "gpu_metrics", path=str(tmp_path / "work" / "metrics.csv"))
    assert caller.look()["text"] == "1,2\n"
    swap(tmp_path / "work", secret)
    assert "is now a link to" in caller.look()["why"]
    assert caller.told_no_secret()


@contextmanager
def swapping(folder: Path, target: Path) -> Iterator[Callable[[], int]]:
    """Somebody who exchanges a folder for a link and back, as fast as can be."""
    link, aside = folder.with_name("link"), folder.with_name("aside")
    link.symlink_to(target)
    over, times = threading.Event(), [0]

    def go() -> None:
        while not over.is_set():
            folder.rename(aside)
            link.rename(folder)
            folder.rename(link)
            aside.rename(folder)
            times[0] += 1

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield lambda: times[0]
    finally:
        over.set()
        thread.join()


def test_a_directory_that_is_exchanged_while_it_is_read_gives_nothing_away(
    here: Here, tmp_path: Path, secret: Path
) -> None:
    """Between any two steps of a poll: what is read is the job's, or nothing."""
    logs = tmp_path / "job" / "logs"
    logs_in(logs)
    for number in range(40):
        (logs / f"{number}.log").write_text("step 1/10\n")
        (secret / f"{number}.log").write_text(SECRET)
    globs = [f"{logs}/{number}.log" for number in range(40)]
    callers = [texts(here, *globs), Caller(here, "logs", globs=[*globs, f"{logs}/*.log"])]
    for caller in callers:
        assert len(caller.look()["files"]) >= 40
    read = refused = 0
    with swapping(logs, secret) as times:
        while not (read > 500 and refused > 500 and times() > 500):
            for caller in callers:
                found = caller.look()
                read += len(found.get("files", ()))
                refused += len(found.get("unreadable", ()))
                caller.intact(paths=[*globs, str(logs)], checkpoints=[[str(logs)]])
                assert caller.told_no_secret()
                caller.all.clear()


@pytest.mark.needs_root
def test_a_job_of_another_user_does_not_read_roots_files_through_a_watcher_of_root() -> None:
    """The watcher may read everything; the job swaps its directory for a link to a file of root's."""
    top = Path(tempfile.mkdtemp())
    try:
        top.chmod(0o755)
        for name, owner, mode in (("home", NOBODY, 0o755), ("etc", 0, 0o700)):
            (top / name).mkdir()
            os.chown(top / name, owner, owner)
            (top / name).chmod(mode)
        (top / "etc" / "train.log").write_text(SECRET)
        (top / "etc" / "train.log").chmod(0o600)
        logs = top / "home" / "logs"

        def as_job(*words: str) -> None:
            subprocess.run(words, user=NOBODY, group=NOBODY, extra_groups=[], check=True, cwd="/")

        as_job("mkdir", str(logs))
        as_job("cp", "/proc/self/comm", str(logs / "train.log"))
        here = Here()
        caller = texts(here, logs / "train.log")
        assert caller.look()["files"]
        as_job("mv", str(logs), str(logs) + ".old")
        as_job("ln", "-s", str(top / "etc"), str(logs))
        assert "is now a link to" in str(caller.look()["unreadable"])
        as_job("rm", str(logs))
        as_job("mkdir", str(logs))
        as_job("ln", "-s", str(top / "etc" / "train.log"), str(logs / "train.log"))
        assert "is a symbolic link" in str(caller.look()["unreadable"])
        assert caller.told_no_secret()
        here.close()
    finally:
        shutil.rmtree(top)


def test_the_watcher_keeps_the_folders_and_says_what_became_of_one(dogwatch, home: Path, tmp_path: Path) -> None:
    """From `add` over polls of several processes to `status`, `logs` and `report`: one sentence, and not a byte."""
    scratch, elsewhere = tmp_path / "mnt", tmp_path / "private"
    log = logs_in(scratch / "run" / "logs")
    (scratch / "run" / "logs" / "out.jsonl").write_text("{}\n")
    elsewhere.mkdir()
    for name in ("train.log", "out.jsonl"):
        (elsewhere / name).write_text(f"step 2/10\n{SECRET}\n")
    (tmp_path / "scratch").symlink_to(scratch)
    asked = tmp_path / "scratch" / "run" / "logs"

    def open_findings() -> str:  # a place is not polled again within its floor, so a patrol may have to wait for that
        return str(dogwatch("status", "linked").stdout.partition("lately")[0])

    with subprocess.Popen(["sleep", "300"]) as job:
        try:
            words = ("--log", f"{asked}/train.log", "--output", f"{asked}/*.jsonl", "--name", "linked")
            added = dogwatch("add", "process", str(job.pid), *words, "--json")
            assert added.returncode == 0, added.stderr
            assert dogwatch("patrol").returncode == 0
            (document,) = json.loads(dogwatch("status", "linked", "--json").stdout)["jobs"]
            assert {"path": str(asked), "real": str(log.parent)} in document["folders"]
            assert "step 1/10" in dogwatch("logs", "linked").stdout
            swap(log.parent, elsewhere)
            wait_until(lambda: dogwatch("patrol").returncode == 0 and "its files cannot be read" in open_findings())
            shown = dogwatch("logs", "linked")
            assert shown.returncode != 0
            assert f"{log.parent} is now a link to {elsewhere}" in shown.stderr.replace(str(asked), str(log.parent))
            assert "\n" not in shown.stderr.strip()
            status = dogwatch("status", "linked")
            assert f"its files cannot be read: {asked.parent}/logs is now a link to " in status.stdout
            log.parent.unlink()
            log.parent.with_name("logs.old").rename(log.parent)
            wait_until(lambda: dogwatch("patrol").returncode == 0 and "its files cannot be read" not in open_findings())
            assert "step 1/10" in dogwatch("logs", "linked").stdout
            swap(log.parent, elsewhere)
        finally:
            job.kill()
    unread = "its output files could not be read"
    wait_until(
        lambda: dogwatch("patrol").returncode in (0, 1) and unread in dogwatch("status", "linked", "--json").stdout
    )
    dogwatch("report", "linked", "--bundle", str(tmp_path / "bundle"))
    for folder in (home, tmp_path / "bundle"):
        for path in folder.rglob("*"):
            assert not path.is_file() or b"hunter2" not in path.read_bytes(), path
