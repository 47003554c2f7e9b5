"""Results and checkpoints come home complete or not at all, whatever breaks on the way."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dogwatch.model.job import Expectation, Job
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.location import open_store
from tests.lab.box import Box, Boxes
from tests.support import wait_until

BIG = 20_000_000


@pytest.fixture
def box(boxes: Boxes, dogwatch) -> Box:
    """A box that is a host, with results and two checkpoints, the newer of which is damaged."""
    box = boxes.start("gpu")
    added = dogwatch("host", "add", "gpu", "--ssh-config", boxes.ssh_config, "--profile", "vast")
    assert added.returncode == 0, added.stderr
    out, ckpt = box.home / "exp" / "out", box.home / "exp" / "ckpt"
    for folder in (out / "sub", ckpt / "step_100", ckpt / "step_200"):
        folder.mkdir(parents=True)
    (out / "scores.json").write_text('{"accuracy": 0.93}')
    (out / "sub" / "more.json").write_text("[]")
    (out / "big.bin").write_bytes(os.urandom(BIG))
    (ckpt / "step_100" / "model.json").write_text('{"w": 1}')
    (ckpt / "step_200" / "model.json").write_text('{"w": ')
    for name, at in (("step_100", 1_000_000_000), ("step_200", 1_000_001_000)):
        os.utime(ckpt / name / "model.json", (at, at))
    return box


def watch_job(home: Path, place: str = "gpu", source: str = "process", base: str = "~/exp", name: str = "train") -> str:
    """A job of that place that declared its results and checkpoints."""
    expect = Expectation(outputs=(f"{base}/out/*",), checkpoints=(f"{base}/ckpt/step_*",))
    job = Job(f"{place}/{source}:{name}", place, source, name, name, registered=1e9, track={}, expect=expect)
    with open_store(str(home)) as store:
        register(store, job, 1e9, 1.0)
    return job.ref


def contents(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file below a folder, and where links lead."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def wanted(box: Box) -> dict[str, str]:
    """What a fetch has to bring of the box."""
    return {name: sum for name, sum in contents(box.home / "exp").items() if not name.startswith("ckpt/step_200")}


def transfer(dogwatch) -> dict[str, Any]:
    return dict(json.loads(dogwatch("fetch", "--list", "--json").stdout)["transfers"][0])


@pytest.mark.parametrize("hidden", [(), ("rsync", "python3")], ids=lambda words: "-".join(words) or "all")
def test_results_and_the_newest_intact_checkpoint_come_home(box: Box, dogwatch, home, tmp_path, hidden) -> None:
    """By rsync or by tar, with python3 there or without: the same files, and the damaged checkpoint stays there."""
    if hidden:
        box.hide(*hidden)
        box.reboot()
    watch_job(home)
    done = dogwatch("fetch", "train", "--to", tmp_path / "got", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert contents(tmp_path / "got") == wanted(box)
    assert told["transfer"]["state"] == "done"
    assert told["transfer"]["way"] == ("tar" if "rsync" in hidden else "rsync")
    assert told["transfer"]["checkpoint"].endswith("/ckpt/step_100")
    assert [left["why"] for left in told["transfer"]["left_out"]] == [
        "is damaged: model.json ends in the middle of a value"
    ]
    assert "vastai stop instance" in told["stop_command"]


@pytest.mark.long
def test_a_second_fetch_compares_and_brings_what_is_new(box: Box, dogwatch, home, tmp_path) -> None:
    """From another directory and without --to; a file of the same size with other content is fetched anew."""
    watch_job(home)
    assert dogwatch("fetch", "train", "--to", tmp_path / "got").returncode == 0
    (box.home / "exp/out/scores.json").write_text('{"accuracy": 0.94}')
    (box.home / "exp/out/new.json").write_text("{}")
    (tmp_path / "got/out/sub/more.json").write_text("[1")
    done = dogwatch("fetch", "train", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "got") == wanted(box)


@pytest.mark.parametrize("way", ["rsync", pytest.param("tar", marks=pytest.mark.long)])
def test_a_killed_fetch_is_seen_and_goes_on(box: Box, dogwatch, spawn, home, tmp_path, way: str) -> None:
    """SIGKILL in the middle: nothing has its name yet, status says how to go on, and the next one completes it."""
    if way == "tar":
        box.hide("rsync")
        box.reboot()
    watch_job(home)
    got = tmp_path / "got"
    slow(box)
    process = spawn("fetch", "train", "--to", got)
    arriving = got / ".dogwatch-partial/files/out/big.bin"
    wait_until(lambda: arriving.exists() and arriving.stat().st_size > 1_000_000, timeout=30)
    process.kill()
    process.wait()
    assert [path.name for path in got.iterdir()] == [".dogwatch-partial"]
    assert transfer(dogwatch)["state"] == "interrupted"
    assert "interrupted at" in dogwatch("status", "train", "--no-poll").stdout
    fast(box)
    had = arriving.stat().st_size
    done = dogwatch("fetch", "train")
    assert done.returncode == 0, done.stderr
    assert had > 0
    assert contents(got) == wanted(box)
    assert transfer(dogwatch)["state"] == "done"


@pytest.mark.long
def test_a_link_that_is_reset_fails_in_a_sentence_and_goes_on(box: Box, dogwatch, spawn, home, tmp_path) -> None:
    """What has arrived is kept; the same command completes it."""
    watch_job(home)
    got = tmp_path / "got"
    slow(box)
    process = spawn("fetch", "train", "--to", got)
    arriving = got / ".dogwatch-partial/files/out/big.bin"
    wait_until(lambda: arriving.exists() and arriving.stat().st_size > 1_000_000, timeout=30)
    box.reset()
    assert process.wait(30) == 3
    assert "run the same command again" in (home.parent / "spawn-0.err").read_text()
    assert transfer(dogwatch)["state"] == "failed"
    fast(box)
    assert dogwatch("fetch", "train").returncode == 0
    assert contents(got) == wanted(box)


@pytest.mark.long
def test_a_login_that_prints_something_does_no_harm(box: Box, dogwatch, home, tmp_path) -> None:
    """rsync does not speak to it, and tar takes over: what a login prints is no file."""
    (box.home / ".bashrc").write_text("echo welcome to your box; echo please read the news\n")
    watch_job(home)
    done = dogwatch("fetch", "train", "--to", tmp_path / "got", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["transfer"]["way"] == "tar"
    assert contents(tmp_path / "got") == wanted(box)


def slow(box: Box) -> None:
    """The link of the box lets through 40 Mbit/s, so that a test can act in the middle of a copy."""
    box.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "40mbit", "burst", "64k", "latency", "200ms")


def fast(box: Box) -> None:
    box.run("tc", "qdisc", "del", "dev", "eth0", "root")


def test_hostile_names_and_links_lead_nowhere(box: Box, dogwatch, home, tmp_path) -> None:
    """Newlines, dashes and escape codes are only names; links out, devices and pipes are named and left there."""
    out = box.home / "exp/out"
    for name in ("new\nline", "-rf", "\x1b[31mred", "a b'\"$(id)", "*", "dots..", "…"):
        (out / name).write_text(name)
    (out / "good").symlink_to("scores.json")
    (out / "evil").symlink_to("/etc/passwd")
    (out / "up").symlink_to("../../../etc")
    os.mkfifo(out / "pipe")
    watch_job(home)
    done = dogwatch("fetch", "train", "--to", tmp_path / "got", "--json")
    assert done.returncode == 0, done.stderr
    kept = {name: sum for name, sum in wanted(box).items() if name not in ("out/evil", "out/up")}
    assert contents(tmp_path / "got") == kept
    told = json.loads(done.stdout)["transfer"]
    left = {os.path.basename(row["path"]): row["why"] for row in told["left_out"]}
    assert set(left) == {"evil", "up", "pipe", "step_200"}
    assert told["safe_to_stop"] is False
    shown = dogwatch("fetch", "train", "--list").stdout
    assert "\x1b" not in shown


@pytest.mark.long
def test_a_folder_that_is_a_link_out_is_not_followed(box: Box, dogwatch, home, tmp_path) -> None:
    """Neither below a result nor by a wildcard in the middle of a pattern."""
    (box.home / "secret").mkdir()
    (box.home / "secret/scores.json").write_text("secret")
    (box.home / "exp/evil").symlink_to(box.home.__class__("..") / "secret")
    watch_job(home)
    done = dogwatch("fetch", "train", "--to", tmp_path / "got", "--results", "~/exp/*/scores.json")
    assert done.returncode == 0, done.stderr
    assert list(contents(tmp_path / "got")) == ["out/scores.json"]
    assert "is behind a link that leads elsewhere" in done.stdout


@pytest.mark.long
def test_a_file_that_goes_on_changing_is_said_and_left(box: Box, dogwatch, home, tmp_path) -> None:
    """Once more is tried; then the rest gets its names, the fetch has failed, and the box is not to be stopped."""
    box.sh("cd ~/exp/out; (while :; do echo line >>growing.log; done) >/dev/null 2>&1 &")
    watch_job(home)
    done = dogwatch("fetch", "train", "--to", tmp_path / "got")
    assert done.returncode == 3
    assert "out/growing.log changed while being copied; copying it again" in done.stderr
    assert "changed again while being copied" in done.stderr
    there = wanted(box)
    del there["out/growing.log"]
    assert contents(tmp_path / "got") == there
    assert transfer(dogwatch)["state"] == "failed"


@pytest.mark.long
def test_nothing_there_is_not_a_success(box: Box, dogwatch, home, tmp_path) -> None:
    """A directory that exists proves nothing: no file, no fetch."""
    watch_job(home, base="~/other")
    done = dogwatch("fetch", "train", "--to", tmp_path / "got")
    assert done.returncode == 3
    assert "there is nothing to fetch on gpu" in done.stderr
    assert "matches no file" in done.stderr
    assert transfer(dogwatch)["state"] == "failed"


@pytest.mark.long
def test_a_disk_that_is_full_here_is_said_before_anything_is_copied(box: Box, dogwatch, home, tmp_path) -> None:
    """How much is free and how much is to come; with room it goes on."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "small", str(small)], check=True)
    try:
        watch_job(home)
        done = dogwatch("fetch", "train", "--to", small / "got")
        assert done.returncode == 3
        assert "are still to come" in done.stderr
        subprocess.run(["mount", "-o", "remount,size=200m", str(small)], check=True)
        assert dogwatch("fetch", "train").returncode == 0
        assert contents(small / "got") == wanted(box)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.long
def test_a_job_of_this_machine_is_fetched_alike(dogwatch, home, tmp_path) -> None:
    """The same listing, copying and comparing, without ssh; there is no box to stop."""
    out = tmp_path / "exp/out"
    out.mkdir(parents=True)
    started = dogwatch(
        "run", "--detach", "--name", "local", "--output", str(out / "*"), "--", "sh", "-c", f"echo 1 >{out}/one"
    )
    assert started.returncode == 0, started.stderr
    wait_until((out / "one").exists)
    done = dogwatch("fetch", "local", "--to", tmp_path / "got", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert contents(tmp_path / "got") == {"one": hashlib.sha256(b"1\n").hexdigest()}
    assert told["transfer"]["safe_to_stop"] is None
    events = json.loads(dogwatch("events", "--json").stdout)["events"]
    assert "transfer.done" in [event["kind"] for event in events]


@pytest.mark.long
def test_two_fetches_of_one_target_do_not_mix(box: Box, dogwatch, spawn, home, tmp_path) -> None:
    """The second says that somebody else fetches there, and the first completes."""
    watch_job(home)
    slow(box)
    first = spawn("fetch", "train", "--to", tmp_path / "got")
    wait_until((tmp_path / "got/.dogwatch-partial/files/out/big.bin").exists, timeout=30)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        second = dogwatch("fetch", "train")
    finally:
        os.kill(first.pid, signal.SIGCONT)
    fast(box)
    assert second.returncode == 2
    assert "another dogwatch fetches into" in second.stderr
    assert first.wait(60) == 0
    assert contents(tmp_path / "got") == wanted(box)


@pytest.mark.long
def test_another_machine_under_the_same_address_is_refused(box: Box, dogwatch, home, tmp_path, boxes: Boxes) -> None:
    """A recycled box does not have the directory of the run: nothing is fetched and nothing is believed."""
    track = {"chain": "/srv/runs/train-1"}
    job = Job(
        "gpu/process:run",
        "gpu",
        "process",
        "run",
        "run",
        registered=1e9,
        track=track,
        expect=Expectation(outputs=("/etc/hosts",)),
    )
    with open_store(str(home)) as store:
        register(store, job, 1e9, 1.0)
    done = dogwatch("fetch", "run", "--to", tmp_path / "got")
    assert done.returncode == 3
    assert "it is another machine, or its disk was wiped; nothing was fetched" in done.stderr


def test_a_wrong_request_is_one_sentence(dogwatch) -> None:
    """It says what is missing and what to type."""
    assert dogwatch("run", "--detach", "--name", "bare", "--", "true").returncode == 0
    for words, said in (
        (["fetch"], "JOB is missing"),
        (["fetch", "nobody"], "no job named 'nobody'"),
        (["fetch", "bare"], "declares no outputs and no checkpoints; name them"),
        (["fetch", "bare", "--results", "out/*"], "is not absolute"),
        (["fetch", "bare", "--results", "/x", "--to", "/etc/hosts"], "is no directory"),
    ):
        done = dogwatch(*words)
        assert done.returncode in (2, 4)
        assert said in done.stderr
        assert done.stdout == ""
