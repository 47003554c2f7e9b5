"""Advice that can be followed as it stands, on a cluster and without one."""

from __future__ import annotations

import re

import pytest

from dogwatch.diagnosis import CAUSES, Cause, Diagnosis, Evidence, OnScheduler, diagnose
from dogwatch.diagnosis.advice import advice, alternatives

OF_SLURM = re.compile(r"\bs(?:acct|control|info|queue|batch|run|alloc|cancel|eff)\b|\bJOB\b|(?i:slurm)|--requeue")


def found(**evidence) -> Diagnosis:
    told = diagnose(Evidence(**evidence))
    assert told is not None
    return told


def test_commands_of_slurm_name_the_job():
    """Nobody has to look up its id first."""
    told = found(state="OUT_OF_MEMORY", command_id="4711")
    assert any("sacct -j 4711 -o" in words for words in told.advice)
    assert "JOB" not in " ".join(told.advice)
    killed = found(signal=9, command_id="4711")
    assert any("sacct -j 4711" in other.tell for other in killed.alternatives)


def test_where_no_slurm_ran_it_nothing_is_said_of_slurm():
    """Its commands, its flags, and what only a scheduler does to a job are left out; what holds anywhere stays."""
    told = found(signal=9, command_id="")
    assert told.cause == "killed"
    assert told.advice[0] == CAUSES["killed"].advice[0]
    assert told.advice[1] == "then check limits and who could have killed it: the system log"
    assert [(other.cause, other.tell) for other in told.alternatives] == [("host_oom", "dmesg -T | grep -i oom")]


def test_where_nobody_knows_who_ran_it_the_reader_puts_the_id_in():
    """A bare log may be of a cluster: the commands are named, with a word where the id belongs."""
    told = found(signal=9)
    assert any("sacct -j JOB" in words for words in told.advice)
    assert {"host_oom", "cancelled"} <= {other.cause for other in told.alternatives}


@pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda cause: cause.name)
def test_there_is_always_something_to_do(cause: Cause):
    """Whoever ran it, some advice stays, and all of it for a job of Slurm's."""
    assert advice(cause, "")
    assert len(advice(cause, "7")) == len(advice(cause, None)) == len(cause.advice)


@pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda cause: cause.name)
def test_a_row_holds_the_words_for_slurm_apart(cause: Cause):
    """Nothing of Slurm stands in the words for a job that it did not run, and the id of one that it did is put in."""
    elsewhere = [*advice(cause, ""), *(other.tell for other in alternatives([(cause, 1.0)], ""))]
    assert not [words for words in elsewhere if OF_SLURM.search(words)]
    there = [*advice(cause, "7"), *(other.tell for other in alternatives([(cause, 1.0)], "7"))]
    assert not [words for words in there if re.search(r"\bJOB\b", words)]


def test_words_for_slurm_alone_are_left_out_elsewhere():
    """Advice without words for elsewhere is not said there, and a cause that only Slurm's commands would tell from
    others is no likely one there."""
    there, both = OnScheduler("sacct -j JOB"), OnScheduler("scontrol show job JOB", "look")
    cause = Cause("c", "t", CAUSES["killed"].retry, ("wait", there, both), tell=there)
    assert advice(cause, "9") == ("wait", "sacct -j 9", "scontrol show job 9")
    assert advice(cause, "") == ("wait", "look")
    assert advice(cause, None) == ("wait", "sacct -j JOB", "scontrol show job JOB")
    assert alternatives([(cause, 0.5)], "") == ()
    assert [other.tell for other in alternatives([(cause, 0.5)], "9")] == ["sacct -j 9"]
