"""The slurm, scripts and gpu_metrics sections: only what is needed, once, never longer or larger than allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dogwatch.model import Dark
from dogwatch.reach.here import Here
from tests.aboard.asking import ask
from tests.support import wait_until

ROWS = "101\x1fR\n102\x1fPD\n103_[2-9%2]\x1fPD\n104+1\x1fR\n105\x1fCD\n106\x1fCA\nnoise\nx\x1fR\n"


class Stage:
    """Programs of the test's own in place of Slurm's, found by the request's `path`; they note how they were called."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.notes = directory / "notes"
        self.notes.mkdir()

    def play(self, name: str, body: str) -> None:
        script = self.directory / name
        call = f"{self.notes}/{name}.$$"
        script.write_text(f'#!/bin/sh\n{{ printf "%s\\\\0" "$@"; }} >{call}\nenv -0 >{self.notes}/env-{name}\n{body}\n')
        script.chmod(0o755)

    def calls(self, name: str) -> list[list[str]]:
        found = [path.read_text().split("\0")[:-1] for path in self.notes.glob(f"{name}.*")]
        return found

    def environment(self, name: str) -> dict[str, str]:
        pairs = (self.notes / f"env-{name}").read_text().split("\0")[:-1]
        return dict(pair.split("=", 1) for pair in pairs)

    def say(self, name: str, out: str) -> None:
        (self.directory / f"{name}.out").write_text(out)
        self.play(name, f"cat {self.directory}/{name}.out")

    def request(self, **more: Any) -> dict[str, Any]:
        slurm = {"path": [str(self.directory)], "columns": {"id": 0, "state": 1}, "separator": "\x1f"}
        return {"slurm": {**slurm, "squeue": ["--noheader"], "sacct": ["-P", "--jobs="], **more}}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    stage.say("squeue", ROWS)
    stage.say("sacct", "105|COMPLETED\n")
    return stage


def section(here: Here, request: dict[str, Any], deadline: float = 30.0) -> dict[str, Any]:
    found: dict[str, Any] = ask(here, request, deadline)["slurm"]
    assert found["ok"] is True, found
    return found


def test_the_accounting_is_not_asked_while_the_queue_knows_it_all(here: Here, stage: Stage) -> None:
    """Every wanted id is listed in a state that is not final, arrays and heterogeneous jobs by their base."""
    said = section(here, stage.request(ids=["101", "102", "103", "104"]))
    assert said["queue"]["out"] == ROWS
    assert (said["queue"]["rc"], said["queue"]["why"], said["accounting"]) == (0, None, None)
    assert said["counts"] == {"squeue": 1, "sacct": 0, "scontrol": 0}
    assert stage.calls("sacct") == []


def test_the_accounting_is_asked_once_for_all_that_is_open(here: Here, stage: Stage) -> None:
    """What left the queue, what is listed as final, and what the caller wants whatever the queue says."""
    said = section(here, stage.request(ids=["101", "105", "106", "999"], history=["102", "999"]))
    assert said["accounting"]["out"] == "105|COMPLETED\n"
    assert said["accounting"]["ids"] == ["105", "106", "999", "102"]
    assert stage.calls("sacct") == [["-P", "--jobs=105,106,999,102"]]
    assert said["counts"] == {"squeue": 1, "sacct": 1, "scontrol": 0}


def test_the_words_for_active_may_come_with_the_request(here: Here, stage: Stage) -> None:
    """A word that is not among them is not active, so the accounting is asked."""
    stage.say("squeue", "1\x1fRUNNING\n2\x1fCANCELLED by 5\n3\x1fNEW_WORD\n4\x1fCOMPLETED\n")
    said = section(here, stage.request(ids=["1", "2", "3", "4"]))
    assert said["accounting"]["ids"] == ["2", "4"]
    said = section(here, stage.request(ids=["1", "2", "3", "4"], active=["RUNNING"]))
    assert said["accounting"]["ids"] == ["2", "3", "4"]


def test_a_line_inside_a_job_name_lists_no_job(here: Here, stage: Stage) -> None:
    """With a mark only lines that carry it are rows."""
    stage.say("squeue", "1\x1fabcd\x1fR\x1fname\n2\x1fffff\x1fR\x1frest of the name\n")
    said = section(here, stage.request(ids=["1", "2"], mark="abcd", columns={"id": 0, "mark": 1, "state": 2}))
    assert said["accounting"]["ids"] == ["2"]


def test_a_queue_that_fails_is_told_verbatim_and_nobody_else_is_asked(here: Here, stage: Stage) -> None:
    """Exit code and words as they were. What the accounting says of an ending would be void: one dead controller is
    waited for once."""
    stage.play("squeue", "echo half; echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1")
    stage.say("scontrol", "ClusterName = lab")
    said = section(here, stage.request(ids=["101"], history=["102"], about=True, answers=["invalid job id"]))
    assert (said["queue"]["rc"], said["queue"]["out"]) == (1, "half\n")
    assert said["queue"]["err"] == "slurm_load_jobs error: Socket timed out\n"
    assert (said["accounting"], said["answered"]) == (None, False)
    assert said["counts"] == {"squeue": 1, "sacct": 0, "scontrol": 0}


def test_a_failure_that_says_the_job_is_unknown_is_an_answer(here: Here, stage: Stage) -> None:
    """squeue fails when it is asked about one id alone that it has forgotten: then the accounting is asked."""
    stage.play("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    said = section(here, stage.request(ids=["105"], answers=["invalid job id specified"]))
    assert (said["answered"], said["accounting"]["ids"]) == (True, ["105"])


def test_more_ids_than_an_argument_holds_are_asked_about_in_parts(here: Here, stage: Stage) -> None:
    """As many as fit, said to be those, and sooner or later all of them."""
    ids = [str(number) for number in range(10_000_000, 10_020_000)]
    asked: set[str] = set()
    for _ in range(60):
        said = section(here, stage.request(ids=ids))["accounting"]
        assert said["rc"] == 0
        assert 10_000 < len(said["ids"]) <= 100_000 / 9
        asked.update(said["ids"])
        if len(asked) == len(ids):
            break
    assert asked == set(ids)
    words = stage.calls("sacct")
    assert all(len(word) < 100_100 for call in words for word in call)


def test_a_command_killed_by_a_signal_is_not_a_success(here: Here, stage: Stage) -> None:
    """Its code is the signal, negative."""
    stage.play("squeue", "kill -9 $$")
    assert section(here, stage.request())["queue"]["rc"] == -9


def test_a_command_that_is_not_there_is_not_an_empty_answer(here: Here, stage: Stage) -> None:
    """A host without Slurm says so."""
    (stage.directory / "squeue").unlink()
    said = section(here, stage.request(ids=["101"]))
    assert (said["queue"]["rc"], said["queue"]["out"], said["queue"]["why"]) == (None, "", "not found")


def test_a_hung_queue_leaves_time_for_the_files(here: Here, stage: Stage) -> None:
    """squeue and all that it started are killed; the disks answer in the same round trip, sacct is not waited for."""
    stage.play("squeue", f"sleep 600 &\necho $$ $! >{stage.directory}/pids\necho 101; wait")
    body = ask(here, {**stage.request(ids=["101"]), "disks": ["/"]}, 4.0)
    assert (body["slurm"]["queue"]["why"], body["slurm"]["queue"]["out"]) == ("late", "")
    assert body["slurm"]["accounting"] is None
    assert body["disks"]["ok"] is True
    pids = (stage.directory / "pids").read_text().split()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))


def test_endless_output_is_cut_off_and_void(here: Here, stage: Stage) -> None:
    """More than 64 MB is too much, and nothing of it is given out."""
    stage.play("squeue", "exec yes 101 R")
    queue = section(here, stage.request(ids=["101"]), 60.0)["queue"]
    assert (queue["rc"], queue["out"], queue["why"]) == (None, "", "too much")


def test_endless_complaints_keep_their_end(here: Here, stage: Stage) -> None:
    """The last 2 kB of stderr, however much there was."""
    stage.play("squeue", "yes complaint | head -c 1000000 >&2; echo the end >&2")
    queue = section(here, stage.request())["queue"]
    assert (queue["rc"], len(queue["err"])) == (0, 2048)
    assert queue["err"].endswith("the end\n")


def test_arguments_are_data(here: Here, stage: Stage) -> None:
    """Nothing in them is a shell's word, and only this user's name is filled in."""
    nasty = ["$(touch /tmp/x)", "; rm -rf /", "a b", "é\n|", "--user=alice,{me}"]
    me = section(here, stage.request(squeue=nasty))["me"]
    assert stage.calls("squeue") == [[*nasty[:-1], f"--user=alice,{me}"]]


def test_mine_adds_this_user_to_the_owners(here: Here, stage: Stage) -> None:
    """Once, behind those whose jobs are asked for anyway."""
    me = section(here, stage.request(squeue=["-h", "--user=alice"], mine=True))["me"]
    assert stage.calls("squeue") == [["-h", f"--user=alice,{me}"]]


def test_the_environment_changes_no_format(stage: Stage, probe_file: str) -> None:
    """What a site or a user set for people is taken away; times are unix seconds, words are the C locale's."""
    theirs = {"SQUEUE_FORMAT": "%i", "SACCT_FORMAT": "JobID", "SLURM_CLUSTERS": "all", "SLURM_TIME_FORMAT": "relative"}
    kept = {"SLURM_CONF": "/etc/slurm/other.conf", "PATH": os.environ["PATH"]}
    request = json.dumps({"nonce": "a1", **stage.request(ids=["999"])}).encode()
    argv = [sys.executable, "-I", "-S", probe_file]
    subprocess.run(argv, input=request, env=theirs | kept, stdout=subprocess.DEVNULL, check=True, timeout=60)
    for program in ("squeue", "sacct"):
        seen = stage.environment(program)
        assert (seen["LC_ALL"], seen["SLURM_TIME_FORMAT"], seen["SLURM_BITSTR_LEN"]) == ("C", "%s", "0")
        assert seen["SLURM_CONF"] == "/etc/slurm/other.conf"
        assert not {"SQUEUE_FORMAT", "SACCT_FORMAT", "SLURM_CLUSTERS"} & set(seen)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ids": ["1; rm"]},
        {"ids": ["-a"]},
        {"history": ["1,2"]},
        {"ids": [5]},
        {"squeue": "squeue -h"},
        {"squeue": [1]},
        {"columns": {"id": -1, "state": 0}},
        {"columns": None},
        {"separator": ""},
        {"path": "/usr/bin"},
    ],
)
def test_a_request_of_the_wrong_shape_is_refused(here: Here, stage: Stage, wrong: dict[str, Any]) -> None:
    """In words, without a traceback."""
    answer = here.ask(stage.request(**wrong), 30.0)
    assert isinstance(answer, Dark)
    assert "refused the request" in answer.why


def test_a_relative_path_is_not_searched(here: Here, stage: Stage) -> None:
    """A program of that name in the working directory is not Slurm's."""
    assert section(here, stage.request(path=["bin", "."]))["queue"]["why"] == "not found"


def test_about_names_cluster_and_version(here: Here, stage: Stage) -> None:
    """By the controller's own word, only when asked for."""
    stage.say(
        "scontrol", "Configuration data as of now\nClusterName             = lab\nSLURM_VERSION           = 22.05.8\n"
    )
    assert section(here, stage.request())["version"] is None
    said = section(here, stage.request(about=True))
    assert (said["cluster"], said["version"], said["counts"]["scontrol"]) == ("lab", "22.05.8", 1)


SCRIPTS = {"one": {"id": "101"}, "two": {"id": "103_4"}}


def test_batch_scripts_come_as_they_are_kept(here: Here, stage: Stage) -> None:
    """One call per job, with the id as an argument."""
    stage.say("scontrol", "#!/bin/bash\n#SBATCH -J é\n")
    body = ask(here, {**stage.request(), "scripts": SCRIPTS})
    assert body["scripts"]["one"]["out"] == "#!/bin/bash\n#SBATCH -J é\n"
    assert sorted(stage.calls("scontrol")) == [
        ["write", "batch_script", "101", "-"],
        ["write", "batch_script", "103_4", "-"],
    ]


def test_a_huge_script_is_too_much(here: Here, stage: Stage) -> None:
    """More than 256 kB."""
    stage.play("scontrol", "head -c 300000 /dev/zero")
    body = ask(here, {**stage.request(), "scripts": SCRIPTS})
    assert body["scripts"]["one"]["why"] == "too much"


def test_a_queue_that_does_not_answer_is_not_asked_for_scripts(here: Here, stage: Stage) -> None:
    """One dead controller is waited for once."""
    stage.play("squeue", "exit 1")
    stage.say("scontrol", "x")
    body = ask(here, {**stage.request(), "scripts": SCRIPTS})
    assert {row["why"] for row in (body["scripts"]["one"], body["scripts"]["two"])} == {"late"}
    assert stage.calls("scontrol") == []


@pytest.mark.parametrize("wrong", ["-", "", "1;2", "--help", "1\n", None, 7])
def test_a_script_of_no_job_is_refused(here: Here, stage: Stage, wrong: Any) -> None:
    """An id is digits, and nothing else reaches a command line."""
    answer = here.ask({**stage.request(), "scripts": {"one": {"id": wrong}}}, 30.0)
    assert isinstance(answer, Dark)


HEADER = "timestamp, index, utilization.gpu [%], memory.used [MiB]"


def metrics(here: Here, path: Path | str) -> Any:
    section = ask(here, {"gpu_metrics": {"job": str(path)}})["gpu_metrics"]
    assert section["ok"] is True, section
    return section["job"]


def test_gpu_metrics_are_a_header_and_the_last_whole_lines(here: Here, tmp_path: Path) -> None:
    """A line that is still being written is left for the next look."""
    file = tmp_path / "gpu_metrics.csv"
    file.write_text(f"{HEADER}\nt1, 0, 97 %, 100 MiB\nt2, 0, [N/A], 200 MiB\nt3, 0, 9")
    said = metrics(here, file)
    assert said["header"] == HEADER
    assert said["text"] == "t1, 0, 97 %, 100 MiB\nt2, 0, [N/A], 200 MiB\n"
    assert said["size"] == file.stat().st_size


def test_a_long_gpu_file_gives_its_end(here: Here, tmp_path: Path) -> None:
    """At most 64 kB, beginning with a whole line."""
    file = tmp_path / "gpu_metrics.csv"
    file.write_text(HEADER + "\n" + "".join(f"line {number:07d}, 0, 50 %\n" for number in range(20_000)))
    said = metrics(here, file)
    lines = said["text"].splitlines()
    assert (said["header"], lines[-1]) == (HEADER, "line 0019999, 0, 50 %")
    assert all(len(line) == len(lines[-1]) for line in lines)
    assert 60_000 < len(said["text"]) <= 65536


def test_a_gpu_file_that_is_not_there_is_silence(here: Here, tmp_path: Path) -> None:
    """None, and no error; so is one with half a header, except that it is there."""
    assert metrics(here, tmp_path / "none.csv") is None
    (tmp_path / "half.csv").write_text("timest")
    assert metrics(here, tmp_path / "half.csv")["text"] == ""
    assert metrics(here, tmp_path)["why"] == "is a directory, not a regular file"
    assert "absolute" in metrics(here, "gpu.csv")["why"]


def test_the_whole_answer_is_json(here: Here, stage: Stage) -> None:
    """Bytes that are no text, control characters and the separator survive the way."""
    (stage.directory / "raw").write_bytes(b"101\x1fR\x1f\xff\xfe\x00\x1b[31m\n")
    stage.play("squeue", f"cat {stage.directory}/raw")
    out = section(here, stage.request())["queue"]["out"]
    assert out == "101\x1fR\x1f\ufffd\ufffd\x00\x1b[31m\n"
    assert json.loads(json.dumps(out)) == out
