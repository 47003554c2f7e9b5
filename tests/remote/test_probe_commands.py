"""The commands and gpu_metrics sections: only what is needed, once, never longer or larger than allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from dogwatch.model import Unreachable
from dogwatch.sources.slurm import requests
from dogwatch.transport.local import Here
from tests.remote.asking import ask
from tests.support import wait_until

ACTIVE = ("R", "PD")
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

    def command(self, *argv: str, **more: Any) -> dict[str, Any]:
        return {"argv": list(argv), "path": [str(self.directory)], "seconds": 30, **more}

    def request(
        self, ids: Sequence[str] = (), history: Sequence[str] = (), active: Sequence[str] = ACTIVE, **more: Any
    ) -> dict[str, Any]:
        """A list of jobs, and a follow-up for the ids that it leaves open."""
        rows = {"ids": list(ids), "separator": "\x1f", "id": 0, "state": 1, **more.pop("rows", {})}
        rest = {"of": "queue", "states": list(active), "always": list(history)}
        queue = self.command("squeue", "--noheader", rows=rows)
        accounting = self.command("sacct", "-P", "--jobs={ids}", after="queue", follow_up=rest)
        return {"commands": {"queue": {**queue, **more}, "accounting": accounting}}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    stage.say("squeue", ROWS)
    stage.say("sacct", "105|COMPLETED\n")
    return stage


def section(here: Here, request: dict[str, Any], deadline: float = 30.0) -> dict[str, Any]:
    answer: dict[str, Any] = ask(here, request, deadline)["commands"]
    assert answer["ok"] is True, answer
    return answer


def refusal(here: Here, commands: dict[str, Any]) -> str:
    answer = here.ask({"commands": commands}, 30.0)
    assert isinstance(answer, Unreachable)
    assert "refused the request" in answer.why
    return answer.why


def test_a_follow_up_is_not_run_while_the_list_has_all_ids(here: Here, stage: Stage) -> None:
    """Every wanted id is listed in one of the states, arrays and heterogeneous jobs by their base."""
    answer = section(here, stage.request(ids=["101", "102", "103", "104"]))
    queue = answer["ran"].pop("queue")
    assert (queue["out"], queue["rc"], queue["why"]) == (ROWS, 0, None)
    assert answer["ran"] == {}
    assert answer["counts"] == {"squeue": 1}
    assert stage.calls("sacct") == []


def test_a_follow_up_is_run_once_for_all_that_is_open(here: Here, stage: Stage) -> None:
    """What is not listed, what is listed in another state, and what the caller wants whatever the list says."""
    answer = section(here, stage.request(ids=["101", "105", "106", "999"], history=["102", "999"]))
    assert answer["ran"]["accounting"]["out"] == "105|COMPLETED\n"
    assert answer["ran"]["accounting"]["ids"] == ["105", "106", "999", "102"]
    assert stage.calls("sacct") == [["-P", "--jobs=105,106,999,102"]]
    assert answer["counts"] == {"squeue": 1, "sacct": 1}


def test_the_states_come_with_the_request(here: Here, stage: Stage) -> None:
    """A word that is not among them leaves the id open; only the first word of a state counts."""
    stage.say("squeue", "1\x1fRUNNING\n2\x1fCANCELLED by 5\n3\x1fNEW_WORD\n4\x1fCOMPLETED\n")
    answer = section(here, stage.request(ids=["1", "2", "3", "4"], active=["RUNNING", "CANCELLED"]))
    assert answer["ran"]["accounting"]["ids"] == ["3", "4"]


def test_a_follow_up_may_be_run_for_each_id_that_is_listed(here: Here, stage: Stage) -> None:
    """With the id as an argument, for the wanted ids in those states only, and at most sixteen times."""
    stage.say("squeue", "".join(f"{number}\x1fPR\n" for number in range(200, 230)) + "300\x1fR\n")
    stage.say("scontrol", "Requeue=1\n")
    request = stage.request(ids=[str(number) for number in range(210, 240)] + ["300"])["commands"]
    each = {"of": "queue", "states": ["PR"], "listed": True, "each": True}
    request["again"] = stage.command("scontrol", "show", "{id}", follow_up=each)
    answer = section(here, {"commands": request})
    assert [name for name in answer["ran"] if name.startswith("again")] == [f"again.{n}" for n in range(210, 226)]
    assert answer["ran"]["again.210"]["out"] == "Requeue=1\n"
    assert ["show", "210"] in stage.calls("scontrol")
    assert answer["counts"]["scontrol"] == len(stage.calls("scontrol")) == 16


def test_a_line_inside_a_job_name_lists_no_job(here: Here, stage: Stage) -> None:
    """With a mark only lines that carry it are rows."""
    stage.say("squeue", "1\x1fabcd\x1fR\x1fname\n2\x1fffff\x1fR\x1frest of the name\n")
    answer = section(here, stage.request(ids=["1", "2"], rows={"mark": "abcd", "mark_at": 1, "state": 2}))
    assert answer["ran"]["accounting"]["ids"] == ["2"]


def test_a_command_that_fails_is_told_verbatim_and_what_comes_after_it_is_not_run(here: Here, stage: Stage) -> None:
    """Exit code and words as they were: one dead controller is waited for once."""
    stage.play("squeue", "echo half; echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1")
    stage.say("scontrol", "ClusterName = lab")
    request = stage.request(ids=["101"], history=["102"], answers=["invalid job id"])["commands"]
    request["config"] = stage.command("scontrol", "show", "config", after="queue")
    answer = section(here, {"commands": request})
    queue = answer["ran"].pop("queue")
    assert (queue["rc"], queue["out"]) == (1, "half\n")
    assert queue["err"] == "slurm_load_jobs error: Socket timed out\n"
    assert (answer["ran"], answer["counts"]) == ({}, {"squeue": 1})


def test_a_failure_may_be_an_answer_by_what_it_says(here: Here, stage: Stage) -> None:
    """squeue fails when it is asked about one id alone that it has forgotten: then the accounting is asked."""
    stage.play("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    answer = section(here, stage.request(ids=["105"], answers=["invalid job id specified"]))
    assert answer["ran"]["accounting"]["ids"] == ["105"]


def test_more_ids_than_an_argument_holds_are_asked_about_in_parts(here: Here, stage: Stage) -> None:
    """As many as fit, said to be those, and sooner or later all of them."""
    ids = [str(number) for number in range(10_000_000, 10_020_000)]
    asked: set[str] = set()
    for _ in range(60):
        run = section(here, stage.request(ids=ids))["ran"]["accounting"]
        assert run["rc"] == 0
        assert 10_000 < len(run["ids"]) <= 100_000 / 9
        asked.update(run["ids"])
        if len(asked) == len(ids):
            break
    assert asked == set(ids)
    words = stage.calls("sacct")
    assert all(len(word) < 100_100 for call in words for word in call)


def test_a_command_killed_by_a_signal_is_not_a_success(here: Here, stage: Stage) -> None:
    """Its code is the signal, negative."""
    stage.play("squeue", "kill -9 $$")
    assert section(here, stage.request())["ran"]["queue"]["rc"] == -9


def test_a_command_that_is_not_there_is_not_an_empty_answer(here: Here, stage: Stage) -> None:
    """A host without the scheduler says so."""
    (stage.directory / "squeue").unlink()
    queue = section(here, stage.request(ids=["101"]))["ran"]["queue"]
    assert (queue["rc"], queue["out"], queue["why"]) == (None, "", "not found")


def test_a_hung_command_leaves_time_for_the_files(here: Here, stage: Stage) -> None:
    """It and all that it started are killed; the disks answer in the same round trip, sacct is not waited for."""
    stage.play("squeue", f"sleep 600 &\necho $$ $! >{stage.directory}/pids\necho 101; wait")
    body = ask(here, {**stage.request(ids=["101"]), "disks": ["/"]}, 4.0)
    queue = body["commands"]["ran"].pop("queue")
    assert (queue["why"], queue["out"], body["commands"]["ran"]) == ("late", "", {})
    assert body["disks"]["ok"] is True
    pids = (stage.directory / "pids").read_text().split()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))


def test_a_program_that_was_late_is_not_started_again(here: Here, stage: Stage) -> None:
    """Of one request: whoever it asks does not answer."""
    stage.play("scontrol", "exec sleep 600")
    commands = {name: stage.command("scontrol", name, seconds=0.5) for name in ("one", "two", "three")}
    answer = section(here, {"commands": commands})
    assert [row["why"] for row in answer["ran"].values()] == ["late"] * 3
    assert (answer["counts"], len(stage.calls("scontrol"))) == ({"scontrol": 1}, 1)


def test_endless_output_is_cut_off_and_void(here: Here, stage: Stage) -> None:
    """More than 64 MB is too much, and nothing of it is given out."""
    stage.play("squeue", "exec yes 101 R")
    queue = section(here, stage.request(ids=["101"]), 60.0)["ran"]["queue"]
    assert (queue["rc"], queue["out"], queue["why"]) == (None, "", "too much")


def test_a_command_may_be_given_less_to_print(here: Here, stage: Stage) -> None:
    """As for a batch script; text that is within it comes as it is."""
    stage.play("scontrol", "head -c 300000 /dev/zero")
    stage.say("sacct", "#!/bin/bash\n#SBATCH -J é\n")
    commands = {"much": stage.command("scontrol", bytes=262144), "script": stage.command("sacct", bytes=262144)}
    rows = section(here, {"commands": commands})["ran"]
    assert (rows["much"]["why"], rows["script"]["out"]) == ("too much", "#!/bin/bash\n#SBATCH -J é\n")


def test_endless_complaints_keep_their_end(here: Here, stage: Stage) -> None:
    """The last 2 kB of stderr, however much there was."""
    stage.play("squeue", "yes complaint | head -c 1000000 >&2; echo the end >&2")
    queue = section(here, stage.request())["ran"]["queue"]
    assert (queue["rc"], len(queue["err"])) == (0, 2048)
    assert queue["err"].endswith("the end\n")


def test_arguments_are_data(here: Here, stage: Stage) -> None:
    """Nothing in them is a shell's word, and only this user's name is filled in."""
    nasty = ["$(touch /tmp/x)", "; rm -rf /", "a b", "é\n|", "{ids}{id}", "--user=alice,{me}"]
    me = section(here, {"commands": {"queue": stage.command("squeue", *nasty)}})["me"]
    assert stage.calls("squeue") == [[*nasty[:-1], f"--user=alice,{me}"]]


def test_names_of_users_come_with_their_ids(here: Here, stage: Stage) -> None:
    """Of those that stand behind the given text; an id that nobody has is left out."""
    stage.say("sacct", "1|CANCELLED by 0\n2|CANCELLED by 3999999999\n3|0\n")
    commands = {"rest": stage.command("sacct", users_after="CANCELLED by ")}
    assert section(here, {"commands": commands})["ran"]["rest"]["users"] == {"0": "root"}


def test_the_environment_changes_no_format(stage: Stage, probe_file: str) -> None:
    """What a site or a user set for people is taken away as the request says; words are the C locale's."""
    theirs = {"SQUEUE_FORMAT": "%i", "SACCT_FORMAT": "JobID", "SLURM_CLUSTERS": "all", "SLURM_TIME_FORMAT": "relative"}
    kept = {"SLURM_CONF": "/etc/slurm/other.conf", "PATH": os.environ["PATH"]}
    commands = requests.poll(["alice"], ["999"], [], 1_000_000, 0.0)
    for command in commands.values():
        command.path = [str(stage.directory)]
    request = json.dumps({"nonce": "a1", "commands": to_builtins(commands)}).encode()
    argv = [sys.executable, "-I", "-S", probe_file]
    subprocess.run(argv, input=request, env=theirs | kept, stdout=subprocess.DEVNULL, check=True, timeout=60)
    for program in ("squeue", "sacct"):
        seen = stage.environment(program)
        assert (seen["LC_ALL"], seen["SLURM_TIME_FORMAT"], seen["SLURM_BITSTR_LEN"]) == ("C", "%s", "0")
        assert seen["SLURM_CONF"] == "/etc/slurm/other.conf"
        assert not {"SQUEUE_FORMAT", "SACCT_FORMAT", "SLURM_CLUSTERS"} & set(seen)


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"rows": {"ids": ["1; rm"]}}, "commands.queue.rows.ids"),
        ({"rows": {"ids": ["-a"]}}, "commands.queue.rows.ids"),
        ({"rows": {"ids": [""]}}, "commands.queue.rows.ids"),
        ({"rows": {"ids": ["1\n"]}}, "commands.queue.rows.ids"),
        ({"rows": {"ids": [5]}}, "commands.queue.rows.ids"),
        ({"rows": {"id": -1}}, "commands.queue.rows.id"),
        ({"rows": {"state": None}}, "commands.queue.rows.state"),
        ({"rows": {"separator": ""}}, "commands.queue.rows.separator"),
        ({"history": ["1,2"]}, "commands.accounting.follow_up.always"),
        ({"argv": "squeue -h"}, "commands.queue.argv"),
        ({"argv": [1]}, "commands.queue.argv"),
        ({"argv": []}, "commands.queue.argv"),
        ({"argv": ["../squeue"]}, "commands.queue.argv"),
        ({"path": "/usr/bin"}, "commands.queue.path"),
        ({"seconds": "1"}, "commands.queue.seconds"),
        ({"bytes": 1 << 40}, "commands.queue.bytes"),
        ({"environment": {"A": 1}}, "commands.queue.environment"),
        ({"unset": "A"}, "commands.queue.unset"),
        ({"after": "nobody"}, "commands.queue.after"),
        ({"follow_up": {"of": "nobody"}}, "commands.queue.follow_up.of"),
    ],
)
def test_a_request_of_the_wrong_shape_is_refused(here: Here, stage: Stage, wrong: dict[str, Any], where: str) -> None:
    """With the path of the wrong field, and without a traceback."""
    assert where in refusal(here, stage.request(**wrong)["commands"])


def test_a_relative_path_is_not_searched(here: Here, stage: Stage) -> None:
    """A program of that name in the working directory is not the one that is meant."""
    assert section(here, stage.request(path=["bin", "."]))["ran"]["queue"]["why"] == "not found"


HEADER = "timestamp, index, utilization.gpu [%], memory.used [MiB]"


def metrics(here: Here, path: Path | str) -> Any:
    section = ask(here, {"gpu_metrics": {"job": {"path": str(path)}}})["gpu_metrics"]
    assert section["ok"] is True, section
    return section["job"]


def test_gpu_metrics_are_a_header_and_the_last_whole_lines(here: Here, tmp_path: Path) -> None:
    """A line that is still being written is left for the next poll."""
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
    out = section(here, stage.request())["ran"]["queue"]["out"]
    assert out == "101\x1fR\x1f\ufffd\ufffd\x00\x1b[31m\n"
    assert json.loads(json.dumps(out)) == out
