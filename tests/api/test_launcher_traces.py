"""Traces of launchers: runs put together from their files, with the job ids that they mean, and nothing guessed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.api import launcher_traces
from tests.api import launchers

NOW = 1_794_780_000.0


def evaluations(tmp_path: Path, **environment: str) -> list[launcher_traces.Trace]:
    return launcher_traces.evaluations(NOW, str(tmp_path), str(tmp_path / "work"), environment)


def experiments(tmp_path: Path, **environment: str) -> list[launcher_traces.Trace]:
    return launcher_traces.experiments(NOW, str(tmp_path), str(tmp_path / "work"), environment)


def test_the_jobs_of_one_nel_invocation_are_one_run(tmp_path):
    """Newest run first, with the Slurm ids, host, user and tasks; what is older than some days is left out."""
    launchers.nel(tmp_path, "aa11", NOW - 7200, {"harness.ifeval": "4401", "harness.mmlu_pro": "4402"})
    launchers.nel(tmp_path, "bb22", NOW - 60, {"harness.gsm8k": "4410"})
    launchers.nel(tmp_path, "cc33", NOW - 30 * 86400, {"harness.gsm8k": "17"})
    new, old = evaluations(tmp_path)
    assert (old.id, old.jobs, old.host, old.user, old.at) == ("aa11", ("4401", "4402"), "login.hpc", "ada", NOW - 7200)
    assert (old.title, old.tool, old.over) == ("harness.ifeval, harness.mmlu_pro", "nel", None)
    assert (new.id, new.jobs) == ("bb22", ("4410",))


def test_the_last_line_of_a_nel_job_counts(tmp_path):
    """A resumed job has another Slurm id; a line that is cut or foreign is passed over."""
    path = launchers.nel(tmp_path, "aa11", NOW - 7200, {"ifeval": "4401"})
    with path.open("a") as file:
        file.write('{"invocation_id": "aa11", "job\n[]\n\n')
    launchers.nel(tmp_path, "aa11", NOW - 60, {"ifeval": "4499"})
    (run,) = evaluations(tmp_path)
    assert run.jobs == ("4499",)


def test_a_nel_run_on_this_machine_is_over_when_its_files_say_so(tmp_path):
    """By the record of its last stage."""
    launchers.nel_here(tmp_path, "aa11", NOW - 60, over=True)
    launchers.nel_here(tmp_path, "bb22", NOW - 50, over=False)
    assert {run.id: (run.jobs, run.over) for run in evaluations(tmp_path)} == {"aa11": ((), True), "bb22": ((), False)}


def test_the_newer_nel_keeps_a_file_per_run(tmp_path):
    """Also where its data are kept elsewhere."""
    launchers.nel_next(tmp_path, "20261115_200000_ab12", "2026-11-15T20:00:00.5+00:00", "5501")
    (run,) = evaluations(tmp_path)
    assert (run.jobs, run.host, run.title, run.at) == (("5501",), "login.hpc", "gsm8k", 1_794_772_800.0)
    assert evaluations(tmp_path, XDG_DATA_HOME=str(tmp_path / "none")) == []


def test_an_inspect_log_is_an_evaluation_without_a_job(tmp_path):
    """Open until its header is written."""
    for task, over in (("capital", True), ("maths_hard", False)):
        path = launchers.inspect(tmp_path / "work" / "logs", task, over=over)
        os.utime(path, (NOW - 100, NOW - 100))
    (tmp_path / "work" / "logs" / "2026-11-15T18-03-15-00-00_torn_VpzHsdiQAEN4DHWvkLwBCu.eval").write_bytes(b"PK\x03")
    os.utime(next((tmp_path / "work" / "logs").glob("*torn*")), (NOW - 100, NOW - 100))
    found = {run.title: (run.tool, run.jobs, run.over) for run in evaluations(tmp_path)}
    assert found == {
        "capital": ("inspect", (), True),
        "maths_hard": ("inspect", (), False),
        "torn": ("inspect", (), None),
    }


def test_the_jobs_of_one_nemo_run_experiment_are_one(tmp_path):
    """From its own home, from where the variable says, and from the directory it was started in."""
    launchers.nemo_run(tmp_path / ".nemo_run", f"tune_{int(NOW) - 100}", {"a_0": "61", "b_0": "62"})
    launchers.nemo_run(tmp_path / "work", f"cicd_{int(NOW) - 50}507348577", {"smoke_0": "63"}, host="localhost")
    launchers.nemo_run(tmp_path / "other", f"far_{int(NOW) - 10}", {"x_0": "64"})
    found = {one.title: (one.jobs, one.host, one.at) for one in experiments(tmp_path)}
    assert found == {"tune": (("61", "62"), "login.hpc", NOW - 100), "cicd": (("63",), "localhost", NOW - 50)}
    more = experiments(tmp_path, NEMORUN_HOME=str(tmp_path / "other"))
    assert [one.title for one in more] == ["far", "cicd", "tune"]


def test_a_local_nemo_run_job_and_a_sweep_of_srtctl_are_found(tmp_path):
    """Whether the first is over is in its index."""
    (tmp_path / ".nemo_run").mkdir()
    folder = f"/h/.nemo_run/experiments/ptq/ptq_{int(NOW) - 5}000000000/ptq_0"
    (tmp_path / ".nemo_run" / ".local_jobs.json").write_text(
        json.dumps({"ptq_0-x": ["FAILED", "ptq_0-x", folder, ["p"]]})
    )
    launchers.srtctl(tmp_path / "work", "454250", "demo-1p2d")
    os.utime(tmp_path / "work/outputs/454250/454250.json", (NOW - 9, NOW - 9))
    local, sweep = experiments(tmp_path)
    assert (local.title, local.over, local.jobs) == ("ptq: ptq_0-x", True, ())
    assert (sweep.tool, sweep.title, sweep.jobs, sweep.host) == ("srtctl", "demo-1p2d", ("454250",), None)


def test_a_machine_where_nothing_was_launched_has_no_traces(tmp_path):
    """Nothing there, files that are none, and links to devices cost nothing and mean nothing."""
    assert (evaluations(tmp_path), experiments(tmp_path)) == ([], [])
    (tmp_path / ".nemo-evaluator" / "exec-db").mkdir(parents=True)
    (tmp_path / ".nemo-evaluator" / "exec-db" / "exec.v1.jsonl").symlink_to("/dev/zero")
    (tmp_path / ".nemo_run").mkdir()
    os.mkfifo(tmp_path / ".nemo_run" / ".slurm_jobs")
    assert (evaluations(tmp_path), experiments(tmp_path)) == ([], [])


@pytest.mark.parametrize("bad", ["-1", "12; id", "0", "x", "9" * 30, "$(id)"])
def test_what_is_no_slurm_id_is_none_of_theirs(tmp_path, bad):
    """An id is digits, whoever wrote it down."""
    launchers.nel(tmp_path, "aa11", NOW - 60, {"ifeval": bad})
    launchers.nemo_run(tmp_path / ".nemo_run", f"tune_{int(NOW) - 100}", {"a_0": bad})
    assert [run.jobs for run in evaluations(tmp_path)] == [()]
    assert experiments(tmp_path) == []


@given(st.text(max_size=300))
def test_no_text_breaks_a_finder(text):
    """Whatever stands in such files."""
    launcher_traces.nel_runs(text, "p", lambda path: False)
    list(launcher_traces.nel_run(text, "p"))
    launcher_traces.nemo_run_jobs("1 = " + text, "p")
    launcher_traces.nemo_run_local(text, "p")
    list(launcher_traces.srtctl_output(text, "p", 0.0))
    launcher_traces.inspect_logs([(text, 0.0)], "/f", lambda path: None)


KEYS = ["invocation_id", "job_id", "data", "config", "evaluation", "tasks", "name", "details", "job_ids", "run_id"]
KEYS += ["started_at", "timestamp"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_no_document_breaks_a_finder(value):
    """Of any shape."""
    text = json.dumps(value)
    launcher_traces.nel_runs(
        json.dumps({"invocation_id": "a", "job_id": "a.0", "data": value, "config": value}), "p", bool
    )
    launcher_traces.nel_runs(text, "p", bool)
    list(launcher_traces.nel_run(text, "p"))
    list(
        launcher_traces.nel_run(
            json.dumps({"run_id": "x", "started_at": "2026-11-15T20:00:00Z", "details": value}), "p"
        )
    )
    launcher_traces.nemo_run_local(text, "p")
