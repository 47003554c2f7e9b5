"""The closing lines: how it ended, who says so, and what went wrong."""

from __future__ import annotations

from typing import Any

from dogwatch.clock import stamp
from dogwatch.tui.summary import summary
from tests.tui import sample
from tests.tui.sample import NOW


def test_a_success_with_one_witness_says_that_it_has_one():
    """Until something else agrees, success is the word of whoever said it."""
    assert summary(sample.ended(), NOW) == [
        "train-7b-sft (here/process:7f3a91): succeeded after 2h 33m",
        "  evidence     the supervisor's record: 4 workers: exit 0 (nothing else was declared to be checked)",
        "  progress     1,980,000 of 1,980,000 images, 1,180 images/s on average",
        "  outputs      4 files, 1.2 GB",
        "  checkpoints  14, last 19:56 (4m ago), newest step-1400.pt",
        "  workers      all 4 ended with exit code 0",
    ]


def test_a_verified_success_names_what_verified_it():
    """A second evidence ends the reservation."""
    told = summary(sample.ended(verified={"ok": True, "text": "4 outputs, all items"}), NOW)
    assert "  evidence     the supervisor's record: 4 workers: exit 0" in told
    assert "  verified     4 outputs, all items" in told


def test_a_success_that_does_not_add_up_is_said_to():
    """A contradiction stands right under the claim."""
    told = summary(sample.ended(verified={"ok": False, "text": "2 of 4 outputs are empty"}), NOW)
    assert "  NOT VERIFIED 2 of 4 outputs are empty" in told


def test_a_failure_lists_each_worker_that_did_not_succeed():
    """By index, with its exit and the reason; the others are only counted."""
    crew = [{**w, "doing": "gone", "outcome": "succeeded", "exit_code": 0} for w in sample.workers(4)]
    crew[1] |= {"outcome": "out_of_memory", "exit_code": None, "signal": 9, "reason": "the cgroup counted a kill"}
    crew[3] |= {"outcome": "unknown", "exit_code": None, "reason": "exit code unknown"}
    found = [{"rule": "worker_gone", "level": "critical", "text": "worker 1 is gone", "since": stamp(NOW - 60)}]
    why = "worker 1: the cgroup counted a kill"
    bad: Any = {"outcome": "out_of_memory", "signal": 9, "exit_code": None, "reason": why, "findings": found}
    told = summary(sample.ended(workers=crew) | bad, NOW)
    assert told[0].endswith("out of memory (SIGKILL) after 2h 33m")
    assert "  reason       worker 1: the cgroup counted a kill" in told
    assert "  !! 19:59     worker 1 is gone" in told
    assert told[-3:] == [
        "  workers      1 of 4 did not succeed; 1 of 4 ended, exit code unknown",
        "    1          out of memory: SIGKILL: the cgroup counted a kill",
        "    3          unknown: exit code unknown",
    ]


def test_workers_that_ended_alike_share_a_line():
    """The same error of eight workers is said once, with their numbers; only one has its own."""
    crew: Any = [{**w, "outcome": "failed", "exit_code": 1, "signal": None} for w in sample.workers(9)]
    for at, worker in enumerate(crew):
        worker["reason"] = f"exit code 1; ValueError: no data (worker-{at}.log:9)" if at != 4 else "exit code 1; killed"
    told = summary(sample.ended(workers=crew) | {"outcome": "failed", "exit_code": 1, "reason": ""}, NOW)
    assert told[-2:] == [
        "    0-3, 5-8   failed: exit code 1; ValueError: no data",
        "    4          failed: exit code 1; killed",
    ]


def test_an_unknown_outcome_is_never_dressed_up():
    """Nobody recorded how it ended, and that is what is said."""
    told = summary(sample.ended(outcome="unknown", exit_code=None, evidence=[]), NOW)
    assert told[0].endswith("ended, outcome unknown after 2h 33m")
    assert told[1] == "  evidence     none"
    crew = [{**worker, "doing": "gone", "outcome": "unknown"} for worker in sample.workers(2)]
    told = summary(sample.ended(outcome="unknown", exit_code=None, evidence=[], workers=crew), NOW)
    assert "  workers      2 of 2 ended, exit code unknown" in told


def test_a_job_of_which_little_is_known_still_gets_a_summary():
    """Missing values are left out, not printed as None."""
    little: Any = {"ref": "here/process:1", "id": "1", "state": "ended", "outcome": "unknown"}
    told = summary(little, NOW)
    assert told == ["1 (here/process:1): ended, outcome unknown", "  evidence     none"]


def test_what_an_evaluation_scored_is_told():
    """Below how far it came."""
    scores = [{"task": "gsm8k", "metric": "exact_match", "value": 0.671, "stderr": None}]
    assert "  scores       gsm8k: 67.1%" in summary(sample.ended(scores=scores), NOW)
