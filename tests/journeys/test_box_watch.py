"""A run that somebody started on a rented box is watched: its stages, its end, and what happens to the box."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from dogwatch.api import queries
from dogwatch.store.sqlite.location import open_store
from tests.lab.box import Box, Boxes, boxes
from tests.support import wait_until

__all__ = ["boxes"]

HOME = "/root"  # of the box
# Two stages in one shell, each with a marker; a stage ends when its file `go` is there.
STAGES = """\
cd
for s in 1 2 3 4; do echo "step $s/8 loss 0.$s"; done >> train.log
until [ -e go-train ]; do sleep 0.1; done
for s in 5 6 7 8; do echo "step $s/8 loss 0.$s"; done >> train.log
: > TRAIN_DONE
until [ -e go-eval ]; do sleep 0.1; done
[ "$(cat go-eval)" = fail ] && { echo 'Traceback (most recent call last):
  File "eval.py", line 3, in <module>
    score = hits / total
ZeroDivisionError: division by zero' >> train.log; exit 1; }
printf 'task,score\\ngsm8k,0.713\\n' > results.csv
: > EVAL_DONE
"""


class Rented:
    """A box with a run in tmux, and the program that watches it."""

    def __init__(self, boxes: Boxes, box: Box, dogwatch, home: Path) -> None:
        self.boxes, self.box, self._dogwatch, self.home = boxes, box, dogwatch, home

    def start(self, name: str = "train") -> None:
        (self.box.home / "run.sh").write_text(STAGES)
        self.box.run("tmux", "new-session", "-d", "-s", name, "sh run.sh")
        wait_until((self.box.home / "train.log").exists)

    def go(self, stage: str, how: str = "") -> None:
        (self.box.home / f"go-{stage}").write_text(how)

    def wait_for(self, name: str) -> None:
        wait_until((self.box.home / name).exists)

    def add(self, *more: str, tmux: str = "train"):
        markers = ("--marker", f"{HOME}/TRAIN_DONE", "--marker", f"{HOME}/EVAL_DONE")
        found = ("--results", f"{HOME}/*.csv", "--expect-files", "1", "--log", f"{HOME}/train.log")
        return self._dogwatch("add", "box", "--host", "gpu", "--tmux", tmux, *markers, *found, *more)

    def session_is_gone(self) -> bool:
        return self.box.run("tmux", "has-session", "-t", "=train", check=False).returncode != 0

    def poll(self):
        return self._dogwatch("patrol", "--heartbeat")

    def polled(self, state: str = "running") -> dict[str, Any]:
        """The job after patrols, once it is in this state."""

        def is_reached() -> bool:
            self.poll()
            return bool(self.job()["state"] == state)

        wait_until(is_reached, timeout=60)
        return self.job()

    def job(self) -> dict[str, Any]:
        with open_store(str(self.home), readonly=True) as store:
            (job,) = queries.documents(store, [row["ref"] for row in queries.brief(store, everything=True)])
        return cast("dict[str, Any]", job)

    def stages(self) -> list[tuple[str, str]]:
        return [(stage["name"], stage["state"]) for stage in self.job()["stages"]]


def rent(boxes: Boxes, dogwatch, home: Path, *without: str) -> Rented:
    """A box that lacks some programs, known to the program as the host `gpu`."""
    box = boxes.start("gpu")
    if without:
        box.hide(*without)
        box.reboot()
    added = dogwatch("host", "add", "gpu", "--ssh-config", boxes.ssh_config, "--floor", "1s")
    assert added.returncode == 0, added.stderr
    return Rented(boxes, box, dogwatch, home)


@pytest.fixture
def rented(boxes: Boxes, dogwatch, home: Path) -> Rented:
    return rent(boxes, dogwatch, home)


def test_a_run_in_tmux_is_watched_from_stage_to_stage_until_its_last_marker(rented: Rented, dogwatch) -> None:
    """Its session, its markers and its results are seen; it has succeeded only when the last marker is there and the
    session is gone, and its result is shown as it is."""
    rented.start()
    added = rented.add()
    assert added.returncode == 0, added.stderr
    job = rented.polled()
    assert rented.stages() == [("train", "running"), ("eval", "waiting")]
    assert (job["progress"]["step"], job["progress"]["total"]) == (4, 8)
    assert job["box"]["alive"][0] == "tmux session train"
    assert "stage train (1 of 2)" in dogwatch("ls").stdout
    rented.go("train")
    rented.wait_for("TRAIN_DONE")
    wait_until(lambda: rented.polled() and rented.stages() == [("train", "done"), ("eval", "running")], timeout=60)
    assert "eval (2 of 2): running" in dogwatch("status", "train", "--no-poll").stdout
    rented.go("eval")
    wait_until(rented.session_is_gone)
    job = rented.polled("ended")
    assert (job["outcome"], job["evidence"][0]["by"]) == ("succeeded", "stage markers")
    shown = dogwatch("status", "train").stdout
    assert "gsm8k,0.713" in shown
    assert "dogwatch fetch" in shown


def test_a_run_that_dies_without_its_marker_has_failed_in_that_stage(rented: Rented, dogwatch) -> None:
    """A session that is gone is no success; `why` names the stage and quotes the log, and says what resumes it."""
    rented.start()
    assert rented.add("--resume-command", "sh run.sh").returncode == 0
    rented.go("train")
    rented.go("eval", "fail")
    wait_until(rented.session_is_gone)
    job = rented.polled("ended")
    assert job["outcome"] == "failed"
    assert rented.stages() == [("train", "done"), ("eval", "failed")]
    why = dogwatch("why", "train").stdout
    assert "eval (2 of 2): failed" in why
    assert "ZeroDivisionError: division by zero" in why
    assert "sh run.sh" in dogwatch("status", "train").stdout


@pytest.mark.long
def test_a_poll_that_does_not_come_back_ends_nothing(rented: Rented, dogwatch) -> None:
    """The link is cut in the middle: the host is unreachable, the run is what it was, and it goes on afterwards."""
    rented.start()
    assert rented.add().returncode == 0
    rented.polled()
    rented.box.cut()
    done = rented.poll()
    assert done.returncode == 3, done.stdout
    assert "console" in done.stdout + done.stderr
    assert rented.job()["state"] == "running"
    rented.box.restore()
    rented.go("train")
    rented.go("eval")
    wait_until(rented.session_is_gone)
    assert rented.polled("ended")["outcome"] == "succeeded"


@pytest.mark.long
def test_a_reboot_ends_a_run_with_that_reason(rented: Rented) -> None:
    """Its processes are gone, and the boot id says why; a process that has its pid now is not taken for it."""
    rented.start()
    assert rented.add().returncode == 0
    rented.polled()
    rented.box.reboot()
    job = rented.polled("ended")
    assert job["outcome"] == "node_failed"
    assert job["reason"].startswith("the box was rebooted during stage train (1 of 2)")


@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_recycled_address_is_lost_and_never_read(rented: Rented, known: bool) -> None:
    """Another machine under the address, with a session and a log of the same names, is somebody else's: with a host
    key that is trusted the machine id tells, and with another key nothing is even asked."""
    rented.start()
    assert rented.add().returncode == 0
    before = rented.polled()
    rented.box.recycle(known=known)
    rented.start()
    (rented.box.home / "train.log").write_text("step 7/8 loss 0.1\n")
    if known:
        job = rented.polled("ended")
        assert job["native"] == "lost"
        assert "another machine answers at this address" in job["reason"]
    else:
        done = rented.poll()
        assert done.returncode == 3
        assert "another host key answers for gpu" in done.stdout + done.stderr
        job = rented.job()
        assert job["state"] == "running"
    assert job["progress"]["step"] == before["progress"]["step"]


@pytest.mark.long
def test_what_is_not_there_cannot_be_added(rented: Rented, dogwatch) -> None:
    """One sentence each: a session or process that is not there, a relative path, two ways at once."""
    rented.start()
    wrong = rented.add(tmux="other")
    assert wrong.returncode == 2
    assert "there is no tmux session other on gpu" in wrong.stderr
    for words, said in (
        (("--pid", "4194000"), "4194000 is not there"),
        (("--match", "no-such.py"), "no-such.py"),
        (("--tmux", "train", "--log", "train.log"), "--log takes an absolute path"),
        (("--tmux", "train", "--expect-files", "3"), "--results"),
        (("--tmux", "train", "--pid", "1"), "cannot be used together"),
        ((), "is needed"),
    ):
        done = dogwatch("add", "box", "--host", "gpu", *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_box_without_python_is_watched_too(boxes: Boxes, dogwatch, home: Path) -> None:
    """The same session, markers, log, result and disk are seen in sh, and what cannot be had is said."""
    rented = rent(boxes, dogwatch, home, "python3")
    rented.start()
    added = rented.add()
    assert added.returncode == 0, added.stderr
    job = rented.polled()
    assert rented.stages() == [("train", "running"), ("eval", "waiting")]
    assert (job["progress"]["step"], job["progress"]["total"]) == (4, 8)
    assert job["disks"][0]["total"] > 0
    rented.go("train")
    rented.wait_for("TRAIN_DONE")
    rented.go("eval")
    wait_until(rented.session_is_gone)
    job = rented.polled("ended")
    assert job["ended_as"] == "succeeded"
    assert job["progress"]["step"] == 8
    assert "gsm8k,0.713" in job["box"]["results_text"]
    refused = dogwatch("add", "box", "--host", "gpu", "--match", "train.py")
    assert (refused.returncode, "no process can be found by its name" in refused.stderr) == (2, True), refused.stderr


CHAIN = ("--stage", "train: sh train.sh", "--stage", "eval: sh eval.sh")
TRAIN = """\
for s in 1 2 3 4; do echo "step $s/4 loss 0.$s"; done
until [ -e go-train ]; do sleep 0.1; done
"""
EVAL = """\
set -e
echo "step 1/10"
until [ -e go-eval ]; do sleep 0.1; done
python3 -c 'print(1 / int(open("go-eval").read()))'
echo "step 10/10"
"""


@pytest.fixture
def chained(rented: Rented, dogwatch) -> Rented:
    """A chain of two stages that `dogwatch run` started on the box; each stage waits for its file."""
    for name, text in (("train.sh", TRAIN), ("eval.sh", EVAL)):
        (rented.box.home / name).write_text(text)
    started = dogwatch("run", "--detach", "--on", "gpu", "--name", "two", *CHAIN, "--on-reboot", "resume")
    assert started.returncode == 0, started.stderr
    return rented


@pytest.mark.long
def test_progress_comes_from_the_stage_that_a_chain_is_at(chained: Rented, dogwatch) -> None:
    """The counter of one stage is not taken for that of the next; a failure names its stage and quotes its log."""
    wait_until(lambda: chained.polled()["progress"] is not None, timeout=60)
    job = chained.job()
    assert (job["progress"]["step"], job["progress"]["total"]) == (4, 4)
    chained.go("train")

    def is_evaluating() -> bool:
        progress = chained.polled()["progress"]
        return progress is not None and (progress["step"], progress["total"]) == (1, 10)

    wait_until(is_evaluating, timeout=90)
    assert chained.stages() == [("train", "done"), ("eval", "running")]
    assert chained.job()["logs"] == [chained.job()["stages"][1]["log"]]
    chained.go("eval", "0")
    job = chained.polled("ended")
    assert (job["outcome"], job["exit_code"]) == ("failed", 1)
    why = dogwatch("why", "two").stdout
    assert "eval (2 of 2): failed" in why
    assert "ZeroDivisionError" in why
    assert "chain.sh resume" in dogwatch("status", "two").stdout


def test_a_reboot_is_one_attempt_and_the_resumed_chain_the_next(chained: Rented) -> None:
    """The attempt ends because the box was rebooted; the chain resumes at its first unfinished stage as attempt 2, and
    what the first attempt wrote is not read as said by the second."""
    chained.polled()
    chained.box.reboot()

    def is_resumed() -> bool:
        job = chained.polled()
        return bool(job["attempts"] == 2)

    wait_until(is_resumed, timeout=90)
    chained.go("train")
    chained.go("eval", "1")
    wait_until(lambda: chained.polled("ended")["outcome"], timeout=90)
    job = chained.job()
    assert (job["outcome"], job["attempts"]) == ("succeeded", 2)
    assert [row["how"] for row in job["history"]] == ["node_failed", "succeeded"]
    assert chained.stages() == [("train", "done"), ("eval", "done")]


@pytest.mark.long
def test_a_killed_supervisor_is_no_success(chained: Rented) -> None:
    """The stage that lives on is seen, with what to do; that it ends without its marker is a failure."""
    chained.polled()
    owner = chained.box.sh(f"cat {HOME}/.dogwatch/runs/*/lock/owner.json")
    chained.box.run("kill", "-9", json.loads(owner)["pid"])
    wait_until(lambda: chained.polled()["box"]["decisions"], timeout=60)
    assert chained.job()["box"]["decisions"][0]["name"] == "supervisor_gone"
    chained.go("train")
    job = chained.polled("ended")
    assert job["outcome"] == "failed"
    assert "supervisor" in job["reason"]


def test_an_idle_box_is_a_reminder_with_what_stops_it(rented: Rented, dogwatch) -> None:
    """When all its runs have ended the box is reported with its price and its stop command, until somebody says that he
    knows."""
    priced = dogwatch(
        *("host", "add", "gpu", "--ssh-config", rented.boxes.ssh_config, "--floor", "1s"),
        *("--profile", "runpod", "--price-per-hour", "1.5"),
    )
    assert priced.returncode == 0, priced.stderr
    rented.start()
    assert rented.add().returncode == 0
    rented.go("train")
    rented.go("eval")
    wait_until(rented.session_is_gone)
    rented.polled("ended")
    shown = dogwatch("alerts").stdout
    assert "gpu is idle and costs 1.5 per hour: all its runs have ended" in shown
    assert "runpodctl stop pod" in shown
    assert "gpu is idle" in rented.poll().stdout
    done = dogwatch("alerts", "ack", "place:gpu")
    assert done.returncode == 0, done.stderr
    assert "gpu is idle" not in rented.poll().stdout
