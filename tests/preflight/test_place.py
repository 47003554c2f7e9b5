"""Directories, room, inputs and the network, looked at for real where the job will run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.preflight.conftest import PYTHON, Preflight, program
from tests.remote.test_probe_hung import stop


def test_a_place_that_is_ready_passes(preflight: Preflight, tmp_path: Path) -> None:
    """Exit 0; everything that was named has its line, warnings do not fail, and nothing was left behind. Only the disk
    of the machine that runs this may be nearly full."""
    data = tmp_path / "data"
    data.mkdir()
    for n in range(4):
        (data / f"shard-{n}.jsonl").write_text('{"x": 1}\n')
    out = tmp_path / "out"
    told = preflight(
        *("--workers", 2, "--inputs", f"{data}/shard-*.jsonl", "--output-dir", out, "--log-dir", tmp_path),
        *("--require", "json", "email.mime", "--env", "HOME", "MODE=fast", "--", PYTHON, "-u", "-m", "json.tool"),
    )
    failed = {line["what"] for line in told.lines if line["verdict"] == "fail"}
    assert failed <= {"disk", "inodes"}, told.lines
    assert told.code == (1 if failed else 0)
    assert told.document["verdict"] == ("fail" if failed else "warn")
    assert told.document["host"] == "here"
    assert told.of("output directory") == ("pass", f"{out} does not exist yet and can be created")
    assert told.of("inputs")[1].endswith(" bytes, all readable, 4 intact")
    assert told.of("split") == ("pass", f"4 files of {data}/shard-*.jsonl for 2 workers: 2 each")
    assert told.of("logging") == ("pass", "unbuffered: python -u")
    assert told.verdict("disk")
    assert told.verdict("variables") == "pass"
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "home", "start"]


@pytest.mark.needs_root
@pytest.mark.needs_tool("mount", "umount")
def test_a_full_disk_fails_although_files_can_be_made_on_it(preflight: Preflight, small_disk: Path) -> None:
    """The directory takes a name and no byte; the room says why."""
    (small_disk / "filler").write_bytes(b"x" * (1 << 20))
    told = preflight("--log-dir", small_disk, "--", "true")
    assert told.code == 1
    assert told.of("log directory") == ("fail", f"{small_disk} cannot be written to: No space left on device")
    assert told.of("disk") == ("fail", f"only 0 % free under {small_disk} (0.0 GB)")
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


@pytest.mark.needs_root
@pytest.mark.needs_tool("mount", "umount")
def test_a_fifth_of_the_disk_and_of_its_inodes_must_be_free(preflight: Preflight, small_disk: Path) -> None:
    """85 % full fails, 75 % does not; so with inodes, which run out on their own."""
    (small_disk / "filler").write_bytes(b"x" * int(0.85 * (1 << 20)))
    assert preflight("--log-dir", small_disk, "--", "true").verdict("disk") == "fail"
    (small_disk / "filler").write_bytes(b"x" * int(0.75 * (1 << 20)))
    told = preflight("--log-dir", small_disk, "--", "true")
    assert (told.verdict("disk"), told.verdict("inodes")) == ("pass", "pass")
    for n in range(60):
        (small_disk / f"small-{n}").touch()
    told = preflight("--log-dir", small_disk, "--", "true")
    assert (told.verdict("disk"), told.verdict("inodes"), told.code) == ("pass", "fail", 1)


@pytest.mark.needs_root
@pytest.mark.needs_tool("mount", "umount")
def test_a_read_only_disk_is_found_also_by_root(preflight: Preflight, small_disk: Path) -> None:
    """Permissions say yes and the mount says no: only trying tells."""
    (small_disk / "out").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    told = preflight("--output-dir", small_disk / "out", "--checkpoint-dir", small_disk / "deep" / "er", "--", "true")
    assert told.of("output directory")[1].endswith("cannot be written to: Read-only file system")
    text = f"{small_disk}/deep/er cannot be made in {small_disk}: Read-only file system"
    assert told.of("checkpoint directory") == ("fail", text)
    assert told.code == 1


def test_an_output_directory_must_be_empty_unless_the_job_goes_on(preflight: Preflight, tmp_path: Path) -> None:
    """Its own log and checkpoint directories inside do not count; with --resume a checkpoint must be there, whole."""
    out = tmp_path / "out"
    (out / "logs").mkdir(parents=True)
    told = preflight("--output-dir", out, "--log-dir", out / "logs", "--", "true")
    assert told.of("output directory") == ("pass", f"{out} can be written to, empty")
    (out / "result.json").write_text("{}")
    told = preflight("--output-dir", out, "--log-dir", out / "logs", "--", "true")
    assert told.of("output directory") == ("fail", f"{out} is not empty: result.json")
    told = preflight("--output-dir", out, "--resume", "--", "true")
    assert told.verdict("output directory") == "pass"
    assert told.verdict("resume") == "fail"
    (out / "checkpoint-100.json").write_text('{"step": 100}')
    text = f"1 checkpoint, the newest {out}/checkpoint-100.json, intact"
    assert preflight("--output-dir", out, "--resume", "--", "true").of("resume") == ("pass", text)
    (out / "checkpoint-100.json").write_text('{"step": 1')
    assert preflight("--output-dir", out, "--resume", "--", "true").verdict("resume") == "fail"


def test_a_directory_that_is_a_file_fails(preflight: Preflight, tmp_path: Path) -> None:
    """Also where only its parent is one."""
    (tmp_path / "taken").touch()
    told = preflight("--output-dir", tmp_path / "taken", "--log-dir", tmp_path / "taken" / "logs", "--", "true")
    assert told.of("output directory") == ("fail", f"{tmp_path}/taken is a file")
    assert told.code == 1


def test_inputs_that_are_missing_cut_or_a_fifo_are_told_and_nothing_hangs(preflight: Preflight, tmp_path: Path) -> None:
    """A FIFO that nobody writes to is never opened; a cut file is named with what is wrong with it."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "cut.json").write_text('{"a": [1, 2')
    words = ("--inputs", tmp_path / "none-*.bin", tmp_path / "pipe.jsonl", tmp_path / "cut.json")
    told = preflight(*words, "--", "true")
    rows = {line["text"].split()[0]: line["verdict"] for line in told.lines if line["what"] == "inputs"}
    assert rows == {"no": "fail", f"{tmp_path}/pipe.jsonl": "warn", f"{tmp_path}/cut.json": "fail"}
    assert told.code == 1


@pytest.mark.parametrize(
    ("files", "workers", "verdict"), [(4, 4, "pass"), (8, 4, "pass"), (3, 4, "fail"), (7, 4, "warn")]
)
def test_inputs_are_split_as_many_ways_as_there_are_workers(
    preflight: Preflight, tmp_path: Path, files: int, workers: int, verdict: str
) -> None:
    """Each worker its own, or as many for each; a worker without any fails."""
    for n in range(files):
        (tmp_path / f"part-{n}.csv").write_text("a,b\n1,2\n")
    assert (
        preflight("--workers", workers, "--inputs", f"{tmp_path}/part-*.csv", "--", "true").verdict("split") == verdict
    )


def test_a_link_is_followed_to_its_data_and_a_dangling_one_fails(preflight: Preflight, tmp_path: Path) -> None:
    """Caches of datasets are made of links that lead elsewhere."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "abc").write_text('{"a": 1}\n')
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / "train.jsonl").symlink_to(tmp_path / "blobs" / "abc")
    assert preflight("--inputs", tmp_path / "snapshot", "--", "true").verdict("inputs") == "pass"
    (tmp_path / "snapshot" / "test.jsonl").symlink_to(tmp_path / "blobs" / "gone")
    told = preflight("--inputs", tmp_path / "snapshot", "--", "true")
    assert told.of("inputs") == ("fail", f"{tmp_path}/blobs/gone cannot be read: No such file or directory")


@pytest.mark.needs_fuse
def test_a_hung_mount_costs_its_own_line_only(
    preflight: Preflight, tmp_path: Path, frozen_disk: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    """What lies elsewhere is judged, in the same round trip; what hangs fails, because a job would hang there too."""
    mount, server = frozen_disk
    stop(server.pid)
    told = preflight("--output-dir", mount / "out", "--log-dir", tmp_path, "--most", "3s", "--", "true")
    assert told.of("output directory") == ("fail", f"{mount}/out cannot be read: it did not answer in 3 s")
    assert told.verdict("log directory") == "pass"
    assert told.verdict("command") == "pass"
    assert told.code == 1


def test_the_network_is_tried_from_there_and_told_nothing(preflight: Preflight) -> None:
    """A port that listens, one that does not, and a name that does not exist."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        told = preflight("--network", f"127.0.0.1:{port}", "127.0.0.1:1", "no-such-host.invalid:443", "--", "true")
        server.settimeout(5)
        with server.accept()[0] as made:
            assert made.recv(100) == b""
    assert told.verdict(f"network 127.0.0.1:{port}") == "pass"
    assert told.of("network 127.0.0.1:1") == ("fail", "cannot be reached: nothing listens there")
    assert told.verdict("network no-such-host.invalid:443") == "fail"


def test_a_job_file_says_it_all_and_flags_win(preflight: Preflight, tmp_path: Path, bin_dir: Path) -> None:
    """The YAML of `watch --config` with a section of its own."""
    program(bin_dir / "train", "#!/bin/sh\ntrap 'exit 0' USR1\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "worker_0.log").write_text("step 3/10\nstep 4/10\nfine\n")
    file = tmp_path / "job.yaml"
    file.write_text(
        f"""
job: {{name: train, num_workers: 2, gpu_ids: [0, 1, 2]}}
paths: {{output_dir: {tmp_path}/out, log_dir: {tmp_path}/logs}}
progress_patterns: {{step: 'step (\\d+)/(\\d+)', item: 'item (\\d+)', any: '(x*)'}}
error_patterns:
  - pattern: 'step'
  - pattern: 'CUDA error'
preflight:
  command: {bin_dir}/train --save-steps=500
  variables: [NOT_SET_AT_ALL]
  signals: [USR1, TERM]
"""
    )
    told = preflight(file, "--env", "NOT_SET_AT_ALL=1")
    assert told.of("workers") == ("fail", "2 workers, 3 GPUs")
    assert told.of("checkpoint frequency") == ("pass", "--save-steps 500")
    assert told.verdict("variables") == "pass"
    assert told.of("signal USR1") == ("pass", f"handled at line 2 of {bin_dir}/train")
    assert told.verdict("signal TERM") == "warn"
    assert told.of("pattern step") == ("pass", "reads 2 lines of earlier logs, the last as 4")
    assert told.verdict("pattern item") == "warn"
    assert told.of("pattern any") == ("warn", "matches an empty line, and so every line")
    assert told.verdict("error pattern step") == "warn"
    assert told.verdict("error pattern CUDA error") == "pass"
    assert preflight(file, "--gpu-ids", "0", "1").verdict("workers") == "pass"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "nothing to check; give CONFIG"),
        (("--network", "nowhere", "--", "true"), "HOST:PORT"),
        (("--gpu-memory", "lots", "--", "true"), "40GB"),
        (("--signal", "9!", "--", "true"), "TERM"),
        (("--most", "9h", "--", "true"), "--most"),
        (("--host", "nobody", "--", "true"), "no host named 'nobody'"),
        (("no-such.yaml",), "does not exist"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(preflight: Preflight, words: tuple[str, ...], part: str) -> None:
    """Exit 2, and nothing is asked of any place."""
    told = preflight(*words)
    assert (told.code, told.lines) == (2, [])
    assert part in told.said


def test_people_get_lines_with_remedies(dogwatch, tmp_path: Path) -> None:
    """Verdict, item and text, and below what does not pass what to do about it."""
    done = dogwatch("preflight", "--output-dir", tmp_path, "--", "no-such-program")
    assert done.returncode == 1
    assert "fail  command: no-such-program was not found\n      correct the command" in done.stdout
    assert "\x1b" not in done.stdout


def test_names_from_a_place_reach_a_terminal_cleaned(dogwatch, tmp_path: Path) -> None:
    """A file name may hold an escape sequence; JSON passes it on, a terminal never sees it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x\x1b]0;owned\x07").touch()
    done = dogwatch("preflight", "--output-dir", tmp_path / "out", "--", "true")
    assert "is not empty: x" in done.stdout
    assert "\x1b" not in done.stdout
    told = dogwatch("preflight", "--json", "--output-dir", tmp_path / "out", "--", "true")
    assert "\x1b]0;owned" in json.dumps(json.loads(told.stdout), ensure_ascii=False).replace("\\u001b", "\x1b")
