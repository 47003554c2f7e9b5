"""Patrol: changes put together by job and by run, with scores, and a failure with its diagnosis."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dogwatch.api import patrol
from dogwatch.model import Ended, Evidence, Job, Known, Outcome, Running, State, Waiting
from dogwatch.store.rows import tick
from dogwatch.store.rows.jobs import JobRow
from dogwatch.store.rows.registration import forget, register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store

NOW = 1_794_780_000.0
DIAGNOSIS = {
    "cause": "cuda_oom",
    "title": "the GPU ran out of memory",
    "confidence": 0.92,
    "evidence": [{"file": "/x/train.log", "line": 412, "text": "CUDA out of memory\x1b[31m"}],
    "advice": ["halve the batch size", "shard the optimizer"],
}


@pytest.fixture
def store(home: Path):
    with open_store(str(home)) as opened:
        yield opened


def add(store: Store, *names: str) -> None:
    for name in names:
        register(store, Job(f"here/process:{name}", "here", "process", name, name, registered=NOW), NOW, 1.0)


def move(store: Store, name: str, before: str, state: State, scores: list | None = None, finding: str = "") -> None:
    """A change of state, with its event, as a watcher commits it."""
    ref = f"here/process:{name}"
    known = Known(state, NOW, "", "", "1", 1, NOW, (Evidence("supervisor", "", NOW),))
    after = {Waiting: "waiting", Running: "running", Ended: "ended"}[type(state)]
    body: Any = {"before": before or None, "after": after}
    text = f"{before or 'new'} → {after}"
    if isinstance(state, Ended):
        body["outcome"] = state.outcome.value
        text += f", {state.outcome.value}"
    events = [tick.Event("job.state", text, ref=ref, body=body)]
    if finding:
        events.append(tick.Event("finding.opened", f"about {finding}", ref=ref, body={"rule": finding, "what": ""}))
    detail: Any = {"scores": scores or []}
    update = tick.JobUpdate(ref, known, detail=detail)
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(update,), events=tuple(events)))


def score(value: float, task: str = "task") -> dict:
    return {"task": task, "metric": "acc", "value": value, "stderr": None}


def said(store: Store) -> list[str]:
    report = patrol.report(store, [])
    patrol.reported(store, report)
    return report.lines()


def test_the_jobs_of_a_run_are_counted_together_with_their_scores(store):
    """Two of four completed is said with what they scored, whenever the others completed."""
    names = ["exp1/GSM8K/0", "exp1/IFEval/0", "exp1/MMLU-Pro/0", "exp1/gpqa/0"]
    add(store, *names, "exp2/GSM8K/0", "exp2/gpqa/0")
    move(store, names[2], "running", Ended(Outcome.SUCCEEDED, 0), [score(0.423)])
    move(store, names[1], "", Running(NOW))
    move(store, names[3], "", Waiting("Priority"))
    assert said(store)[0] == "exp1: 1 of 4 completed (MMLU-Pro: 42.3%), 1 running, 1 pending, 1 not polled"
    move(store, names[0], "running", Ended(Outcome.SUCCEEDED, 0), [score(0.671)])
    assert said(store) == [
        "exp1: 2 of 4 completed (GSM8K: 67.1%, MMLU-Pro: 42.3%), 1 running, 1 pending",
        "exp1/GSM8K/0: running → ended, succeeded",
    ]
    assert said(store) == []


def test_a_failed_job_of_a_run_is_counted_by_its_outcome(store):
    """Its run has no score of it."""
    add(store, "r/a/0", "r/b/0", "r/c/0")
    move(store, "r/a/0", "running", Ended(Outcome.OUT_OF_MEMORY, signal=9), [score(0.1)])
    move(store, "r/b/0", "running", Ended(Outcome.UNKNOWN))
    move(store, "r/c/0", "", Running(NOW))
    assert said(store)[0] == "r: 0 of 3 completed, 1 of unknown outcome, 1 out of memory, 1 running"


def test_epochs_of_one_task_are_told_apart_and_several_scores_go_by_their_own_names(store):
    """A job that evaluates many tasks lists some of them, and how many more there are."""
    add(store, "r/arc/0", "r/arc/1", "r/all/0")
    move(store, "r/arc/0", "running", Ended(Outcome.SUCCEEDED, 0), [score(0.1)])
    move(store, "r/arc/1", "running", Ended(Outcome.SUCCEEDED, 0), [score(0.2)])
    move(store, "r/all/0", "running", Ended(Outcome.SUCCEEDED, 0), [score(0.3, f"t{n}") for n in range(6)])
    assert said(store)[0] == (
        "r: 3 of 3 completed (t0: 30.0%, t1: 30.0%, t2: 30.0%, t3: 30.0%, t4: 30.0%, t5: 30.0% and 2 more)"
    )
    report = patrol.report(store, [], "patrol:other")
    assert report.groups == []
    move(store, "r/arc/0", "running", Ended(Outcome.SUCCEEDED, 0), [score(0.1)])
    (group,) = [one.document() for one in patrol.report(store, []).groups]
    assert group["scores"][-2:] == ["arc epoch 0: 10.0%", "arc epoch 1: 20.0%"]
    assert (group["run"], group["total"], group["counts"]) == ("r", 3, {"completed": 3})


def test_jobs_without_a_run_are_counted_with_all_that_were_watched_beside_them(store):
    """Also with what earlier patrols told of; one job alone is not counted at all."""
    add(store, "solo")
    move(store, "solo", "", Running(NOW))
    assert said(store) == ["solo: new → running"]
    add(store, "other")
    move(store, "other", "", Running(NOW))
    assert said(store) == ["0 of 2 completed, 2 running", "other: new → running"]
    move(store, "solo", "running", Ended(Outcome.SUCCEEDED, 0), [score(0.5, "arc")])
    assert said(store)[0] == "1 of 2 completed (arc: 50.0%), 1 running"
    move(store, "other", "running", Ended(Outcome.SUCCEEDED, 0))
    assert said(store) == ["2 of 2 completed (arc: 50.0%)", "other: running → ended, succeeded"]


def test_the_tasks_of_an_array_are_counted_like_the_jobs_of_a_run(store):
    """Two of twenty completed, three failed: all of them, whatever else is watched."""
    add(store, "sweep")
    states = {"failed": 3, "running": 10, "succeeded": 2, "waiting": 5}
    detail: Any = {"tasks": {"count": 20, "states": states, "rows": [{"id": "1", "state": "ended"}]}}
    known = Known(Running(NOW), NOW, "", "", "1", 1, NOW, ())
    event = tick.Event("job.state", "new → running", ref="here/process:sweep", body={"after": "running"})
    update = tick.JobUpdate("here/process:sweep", known, detail=detail)
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(update,), events=(event,)))
    assert said(store)[0] == "tasks of sweep: 2 of 20 completed, 3 failed, 10 running, 5 pending"


def test_an_evaluation_that_was_submitted_again_counts_once(store):
    """The newest job of a name stands for it; what failed before it is not counted beside it."""
    add(store, "r/arc/0", "r/gpqa/0")
    move(store, "r/arc/0", "", Ended(Outcome.FAILED, 1))
    assert said(store)[0] == "r: 0 of 2 completed, 1 failed, 1 not polled"
    job = Job("here/process:again", "here", "process", "again", "r/arc/0", registered=NOW + 60)
    register(store, job, NOW + 60, 1.0)
    move(store, "again", "", Running(NOW))
    assert said(store)[0] == "r: 0 of 2 completed, 1 running, 1 not polled"


def test_what_happened_to_a_job_since_is_one_line_and_its_troubles(store):
    """From where it was to where it is; a finding that says the same as the ending is left out."""
    add(store, "bad")
    move(store, "bad", "", Waiting("Priority"))
    move(store, "bad", "waiting", Running(NOW), finding="silent")
    move(store, "bad", "running", Ended(Outcome.FAILED, 1), finding="all_ended")
    assert said(store) == ["bad: new → ended, failed", "bad: about silent"]


def test_a_failure_comes_with_its_diagnosis(store, home):
    """Cause, the line that shows it, and what to do, below the job's own line and in the JSON of its ending."""
    add(store, "bad")
    move(store, "bad", "running", Ended(Outcome.FAILED, 1))
    _diagnose(store, "bad")
    report = patrol.report(store, [])
    assert report.lines() == [
        "bad: running → ended, failed",
        "    cause: the GPU ran out of memory (92 % confidence)",
        "    /x/train.log:412: CUDA out of memory",
        "    do: halve the batch size",
    ]
    diagnosis: Any = report.changes[-1]["diagnosis"]
    assert diagnosis["cause"] == "cuda_oom"


def test_an_end_that_nothing_explains_is_told_without_a_share_and_without_a_file():
    """What is known from outside the logs stands in no file, and to be half sure of nothing means nothing."""
    told = {"file": "", "line": None, "text": "exit code 3"}
    unknown: Any = {"cause": "unknown", "title": "cause not found", "confidence": 0.5, "evidence": [told]}
    assert patrol.diagnosis_lines(unknown) == ["cause: not found", "exit code 3"]


def _diagnose(store: Store, name: str) -> None:
    """As whoever diagnoses will write it: into the job's document."""
    with store.writing() as tx:
        row = tx.find(JobRow, f"here/process:{name}")
        assert row is not None
        tx.change(row, diagnosis=DIAGNOSIS)


@pytest.mark.parametrize(
    ("name", "run"), [("a/b/0", "a"), ("a/b", "a"), ("a", None), ("a/", None), ("/a", None), ("", None)]
)
def test_a_run_is_the_first_part_of_a_name_that_has_parts(name, run):
    """RUN/TASK/EPOCH, or RUN/TASK."""
    assert patrol.run_of(name) == run


def test_the_scores_of_real_jobs_are_read_from_their_outputs_when_they_end(dogwatch, tmp_path):
    """Each writes its results as the tools do; results that lay there before are not its own."""
    stale = tmp_path / "b" / "model" / "results_2020.json"
    stale.parent.mkdir(parents=True)
    stale.write_text(json.dumps({"results": {"stale": {"acc,none": 0.99}}}))
    (tmp_path / "c").mkdir()
    os.utime(stale, (1e9, 1e9))
    lm_eval = json.dumps({"results": {"mmlu_pro": {"alias": "mmlu_pro", "acc,none": 0.423}}})
    nel = "results: {tasks: {gsm8k: {metrics: {score: {scores: {micro: {value: 0.671}}}}}}}"
    write = 'mkdir -p "$(dirname "$1")"; printf %s "$2" >"$1"'
    jobs = {
        "e/MMLU-Pro/0": (tmp_path / "b", tmp_path / "b/model/results_2026.json", lm_eval),
        "e/GSM8K/0": (tmp_path / "c", tmp_path / "c/artifacts/results.yml", nel),
    }
    for name, (folder, path, text) in jobs.items():
        command = [
            "run",
            "--detach",
            "--name",
            name,
            "--output",
            f"{folder}/*",
            "--",
            "sh",
            "-c",
            write,
            "sh",
            path,
            text,
        ]
        assert dogwatch(*command).returncode == 0
        dogwatch("wait", name, "--timeout", "20")
    done = dogwatch("patrol")
    assert done.stdout.startswith("e: 2 of 2 completed (GSM8K: 67.1%, MMLU-Pro: 42.3%)\n"), done
    (job,) = json.loads(dogwatch("status", "e/MMLU-Pro/0", "--json").stdout)["jobs"]
    assert job["scores"] == [{"task": "mmlu_pro", "metric": "acc", "value": 0.423, "stderr": None}]


def test_a_job_that_was_forgotten_is_no_news(store):
    """Whoever forgets a job hears no more of it: no change, no bad ending, no place in a count."""
    add(store, "run/a", "run/b", "run/c")
    for name in ("run/a", "run/b", "run/c"):
        move(store, name, "running", Ended(Outcome.FAILED, 1, None, NOW))
    forget(store, "here/process:run/b", NOW, 1.0)
    report = patrol.report(store, [])
    assert {change["name"] for change in report.changes} == {"run/a", "run/c"}
    assert [group.total for group in report.groups] == [2]
    for name in ("run/a", "run/c"):
        forget(store, f"here/process:{name}", NOW, 1.0)
    report = patrol.report(store, [])
    assert (report.changes, report.lines(), report.bad_ending) == ([], [], False)


def test_a_job_that_is_watched_again_is_news_again(store):
    """Taking a forgotten job back makes it an ordinary one."""
    add(store, "again")
    forget(store, "here/process:again", NOW, 1.0)
    add(store, "again")
    move(store, "again", "", Running(NOW))
    assert any("again" in line for line in patrol.report(store, []).lines())
