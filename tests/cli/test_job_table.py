"""The table of `dogwatch ls`: it fits the terminal, leaves out what matters least, and cuts nothing in a pipe."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dogwatch.cli import job_table
from dogwatch.cli.out import cells

NOW = 1_800_000_000.0


def job(name: str, number: str = "1a2b3c", **more: object) -> Any:
    """A local job that has run for an hour and will need 12 minutes more."""
    known: dict = dict.fromkeys(
        (
            "outcome",
            "nodes",
            "time_limit_at",
            "time_limit_seconds",
            "expected_start",
            "waits_for",
            "cause",
            "no_eta_reason",
        )
    )
    known |= dict.fromkeys(("worst", "alert", "unreachable_since"))
    known |= {"ref": f"here/process:{name}-{number}", "id": f"{name}-{number}", "place": "here", "name": name}
    known |= {"state": "running", "reason": "", "verdict": "working", "step": 421, "fraction": 0.4219}
    known |= {"native": "sleeping", "attempts": 1}
    known |= {"started": NOW - 3600, "since": NOW - 3600, "confirmed_at": NOW - 62}
    return known | {"eta_at": "2027-01-15T08:12:00.000Z"} | more


SLOW = {"rule": "slow", "text": "throughput is 32 % below its peak", "opened": NOW}
JOBS = [
    job("train"),
    job(
        "llama-7b-sft-lr3e-4-seed0-with-a-very-long-name", place="lab", nodes="gpu[01-04]", worst="warning", alert=SLOW
    ),
    job(
        "\u8a13\u7df4\U0001f680",
        state="waiting",
        waits_for="other jobs have a higher priority",
        place="lab",
        started=None,
    ),
    job("eval\x1b[31m", unreachable_since=NOW - 120, place="lab"),
    job("cafe\u0301 \u26a0\ufe0f", state="ended", outcome="out_of_memory", cause="CUDA ran out of memory", eta_at=None),
]


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 100, 120, 160, 200, 300])
def test_no_line_is_wider_than_the_terminal(width):
    """Whatever the names hold: escape codes, letters of two columns, marks that take none."""
    lines = job_table.table(JOBS, NOW, width)
    assert [line for line in lines if cells(line) > width] == []
    assert len(lines) == len(JOBS) + 1
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_columns_stand_under_their_heads(width):
    """Also behind a name in letters of two columns."""
    head, *lines = job_table.table(JOBS, NOW, width)
    at = head.index("PROGRESS")
    for line in lines:
        before = next(n for n in range(len(line) + 1) if cells(line[:n]) == at)
        assert (line[before - 1] == " ", line[before] == " ") == (True, False)


def test_a_narrow_terminal_still_says_how_far_each_job_is():
    """At 40 columns: name, state and progress, and a mark where an alert is left out."""
    head, *lines = job_table.table(JOBS, NOW, 40)
    assert head.split()[:3] == ["NAME", "STATE", "PROGRESS"]
    assert "! running" in lines[1]
    assert "unreachable" in lines[3]


def test_a_pipe_gets_everything_uncut():
    """All eight columns, with the whole name, the whole alert and the ref."""
    head, *lines = job_table.table(JOBS, NOW, None)
    assert head.split() == list(job_table.HEAD)
    assert "llama-7b-sft-lr3e-4-seed0-with-a-very-long-name  running" in lines[1]
    assert re.search(r"  throughput is 32 % below its peak  +here/process:llama", lines[1])
    assert "lab: other jobs have a higher priority" in lines[2]
    assert re.search(r"unreachable since \d\d:\d\d; last confirmed 62 s ago \(running\)", lines[3])
    assert "\u2026" not in "".join(lines)


def test_two_jobs_of_one_name_are_told_apart():
    """By their ids, which every command takes."""
    shown = job_table.table([job("train"), job("train", "4d5e6f"), job("eval")], NOW, 80)
    assert [line.split()[0] for line in shown[1:]] == ["train-1a2b3c", "train-4d5e6f", "eval"]
    slurm = [job("train", id="4711"), job("train", id="4712")]
    assert [line.split("  ")[0] for line in job_table.table(slurm, NOW, 80)[1:]] == ["train 4711", "train 4712"]


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({}, "1h"),
        ({"time_limit_seconds": 7200.0}, "1h/2h"),
        ({"time_limit_at": "2027-01-15T09:00:00.000Z"}, "1h/2h"),
        ({"state": "waiting", "started": None, "time_limit_seconds": 7200.0}, "-/2h"),
        ({"state": "ended", "outcome": "succeeded", "since": NOW - 1800}, "30m"),
    ],
)
def test_elapsed_is_shown_of_the_limit(more, shown):
    """Until it ended, or until now; a job that waits has none yet."""
    head, line = job_table.table([job("train", **more)], NOW, None)
    assert line[head.index("ELAPSED") :].split("  ")[0] == shown


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({}, "12m"),
        ({"eta_at": NOW + 720}, "12m"),
        ({"eta_at": "2027-01-15T07:55:00.000Z"}, "overdue 5m"),
        ({"eta_at": NOW + 720, "time_limit_at": NOW + 60}, "past limit"),
        ({"eta_at": None}, "-"),
        ({"eta_at": None, "no_eta_reason": "cannot finish: worker 2 exited"}, "cannot finish"),
        ({"state": "ended", "outcome": "failed"}, "-"),
    ],
)
def test_the_eta_counts_from_the_promised_moment(more, shown):
    """So that an old list does not promise anew."""
    head, line = job_table.table([job("train", **more)], NOW, None)
    assert line[head.index("ETA") :].split("  ")[0] == shown


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [("working", "running"), ("stalled", "stalled"), ("slow", "running, slow"), ("cannot tell", "running")],
)
def test_the_state_says_whether_it_is_stuck(verdict, shown):
    """In a word or two."""
    assert job_table.state(job("train", verdict=verdict)) == shown


@pytest.mark.parametrize(
    ("outcome", "shown", "told"),
    [
        ("succeeded", "succeeded", "-"),
        ("completed", "completed", "exit status unknown"),
        ("incomplete", "incomplete", "only 3 of 4 items"),
        ("timed_out", "timed out", "only 3 of 4 items"),
        ("unknown", "outcome unknown", "only 3 of 4 items"),
        (None, "ended, checking", "-"),
    ],
)
def test_an_ending_is_told_by_its_outcome(outcome, shown, told):
    """And by why, where it did not end well."""
    ended = job("train", state="ended", outcome=outcome, reason="only 3 of 4 items")
    assert (job_table.state(ended), job_table.alert(ended, NOW)) == (shown, told)


def test_the_age_is_said_once_or_by_host():
    """One age where all are alike, else one for each host; ended jobs do not age."""
    assert job_table.age([job("a"), job("b")], NOW) == "last confirmed 62 s ago"
    far = job("c", place="lab", confirmed_at=NOW - 300)
    assert job_table.age([job("a"), far], NOW) == "last confirmed: here 62 s ago, lab 5 min ago"
    assert job_table.age([job("d", state="ended")], NOW) == ""


def tokens(text: str) -> int:
    """About as many as a tokenizer makes of it: words (with the mark before them), numbers of up to three digits, runs
    of punctuation."""
    return len(re.findall(r"[-_/]?[A-Za-z]{1,10}|\d{1,3}|[^A-Za-z\d\s]+", text))


def test_the_brief_form_costs_at_most_twenty_tokens_a_job():
    """And at most 80 bytes, with names as people give them, in every state."""
    names = ["train", "llama-7b-sft", "eval/gsm8k/3", "embed_worker_12"]
    jobs = [job(name) for name in names]
    jobs += [
        job(name, worst="critical", alert={"rule": "checkpoint_overdue", "text": "x", "opened": 1}) for name in names
    ]
    jobs += [job(name, state="ended", outcome="out_of_memory", eta_at=None) for name in names]
    for one in jobs:
        (row,) = job_table.brief([one], NOW)["jobs"]
        text = json.dumps(row, separators=(",", ":"))
        assert (len(text) <= 80, tokens(text) <= 20) == (True, True), text
    assert job_table.brief([job("train", worst="warning", alert=SLOW)], NOW) == {
        "columns": ["name", "state", "progress_percent", "eta_seconds", "alert"],
        "jobs": [["train", "running", 42, 720, "slow"]],
    }
