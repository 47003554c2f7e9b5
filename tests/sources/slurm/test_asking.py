"""What the probe is asked to do, and what cannot be slipped into it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from dogwatch.model import Ended, Facts, Job, Known, Missing, Outcome, RareFacts, Running
from dogwatch.sources.interface import RareAnswers, RarelyAsked
from dogwatch.sources.slurm import accounting, queue, source
from dogwatch.wire.commands import Command, CommandsSection
from tests.sources.slurm.lines import GONE, NOW, REF, SUBMIT, answer, job, ran, record, row


def commands(*jobs: Job, known: Mapping[str, Known] | None = None, at: float = NOW) -> dict[str, Command]:
    """What the probe is asked to run, checked against the types of a request."""
    request = source.ask(jobs, known or {}, at).to_request()
    return msgspec.convert(request["commands"], dict[str, Command])


def rare(runs: Mapping[str, object]) -> RareAnswers:
    """An answer to what is asked seldom."""
    return RareAnswers(msgspec.convert({"ok": True, "ran": runs}, CommandsSection), {})


def wanted(asked: Mapping[str, Command]) -> list[str]:
    rows = asked["slurm.queue"].rows
    assert rows is not None
    return rows.ids


def history(asked: Mapping[str, Command]) -> list[str]:
    follow_up = asked["slurm.accounting"].follow_up
    assert follow_up is not None
    return follow_up.always


def mark(asked: Mapping[str, Command]) -> str:
    rows = asked["slurm.queue"].rows
    assert rows is not None
    return rows.mark


def test_one_question_for_all_jobs_by_their_owners() -> None:
    """`squeue --user` costs the least; ids are left to the reader."""
    asked = commands(job("12"), job("7", user="bob"), job("7", user="bob"))
    assert (wanted(asked), history(asked)) == (["7", "12"], [])
    squeue, sacct = asked["slurm.queue"].argv, asked["slurm.accounting"].argv
    assert "--user=alice,bob" in squeue
    assert not any(word.startswith("--jobs") for word in squeue)
    assert sacct[-1] == "--jobs={ids}"
    assert f"--starttime=uts{SUBMIT - 86400}" in sacct


def test_jobs_of_unknown_owners_are_asked_for_by_id() -> None:
    """Nothing else is known of a job that was added by its id; its end may be weeks ago."""
    asked = commands(job("12"), job("7", user=None, submit=None))
    assert asked["slurm.queue"].argv[-1] == "--jobs=7,12"
    assert f"--starttime=uts{SUBMIT + 5 - 30 * 86400}" in asked["slurm.accounting"].argv


def test_more_ids_than_an_argument_holds_ask_for_the_whole_queue() -> None:
    """Linux takes no argument of more than 128 KiB."""
    asked = commands(*(job(str(number), user=None) for number in range(10_000_000, 10_015_000)))
    assert not any("--jobs" in word or "--user" in word for word in asked["slurm.queue"].argv)


def test_what_is_over_or_missing_is_asked_of_the_accounting() -> None:
    """Ended and not settled, missing, or looked for in vain before; a job that runs is not."""
    known = {
        "lab/slurm:1": Known(Running()),
        "lab/slurm:2": Known(Ended(Outcome.FAILED), settled=False),
        "lab/slurm:3": Known(Missing(NOW)),
        "lab/slurm:4": Known(reason="not listed"),
        "lab/slurm:5": Known(),
    }
    assert history(commands(*(job(number) for number in "12345"), known=known)) == ["2", "3", "4"]


@pytest.mark.parametrize("user", ["--all", "a;b", "a,b", "", "a b", "$(id)", "x" * 65, 7, None])
def test_an_owner_that_is_no_user_name_never_becomes_an_argument(user: object) -> None:
    """The job is asked for by its id instead."""
    asked = commands(job(user=user))
    assert not any(word.startswith("--user") for word in asked["slurm.queue"].argv)


@pytest.mark.parametrize("id", ["-1", "1;2", "", "12_3", "１２", "9" * 30, "--me"])
def test_an_id_that_is_no_number_never_becomes_an_argument(id: str) -> None:
    """Not even an option that squeue knows."""
    assert wanted(commands(job(id), job("7"))) == ["7"]


def test_all_versions_get_the_same_command_lines() -> None:
    """Fields that 22.05 lacks are not asked for, and no state is left out."""
    asked = commands(job())
    squeue, sacct = asked["slurm.queue"], asked["slurm.accounting"]
    assert squeue.argv[:4] == ["squeue", "--noheader", "--all", "--states=all"]
    assert squeue.argv[4].startswith(f"--Format=JobArrayID:\x1f{mark(asked)}\x1f,State:\x1f,")
    assert "Restarts" not in accounting.FIELDS
    assert "StdOut" not in accounting.FIELDS
    assert {one.environment["SLURM_TIME_FORMAT"] for one in asked.values()} == {"%s"}
    assert squeue.rows is not None
    assert (squeue.rows.id, squeue.rows.mark_at, squeue.rows.state) == (0, 1, 2)
    assert sacct.follow_up is not None
    assert "PENDING" in sacct.follow_up.states
    assert "FAILED" not in sacct.follow_up.states
    assert accounting.argv(["1", "2"], NOW, "0" * 8)[-1] == "--jobs=1,2"


def test_the_cluster_s_name_is_asked_for_until_it_is_known() -> None:
    """One more command, once."""
    assert "slurm.config" in commands(job(), job("7", cluster=None))
    assert "slurm.config" not in commands(job(), job("7"))


def test_the_mark_is_another_each_time() -> None:
    """A name that was given before cannot hold it."""
    assert mark(commands(job())) != mark(commands(job(), at=NOW + 0.001))


def test_one_s_own_jobs_can_be_listed() -> None:
    """For adding all of them, or finding the one that is meant."""
    assert source.ask_mine(NOW).to_request()["commands"]["slurm.queue"]["argv"][-1] == "--user={me}"
    listed = source.listed(
        answer(row("RUNNING", "7") + row("COMPLETED", "8") + row("PENDING", "9_[0-4]") + row("RUNNING", "9_5"))
    )
    assert [(line.base, line.user, line.name) for line in listed] == [("7", "alice", "train"), ("9", "alice", "train")]


def test_a_batch_script_that_came_names_the_logs_it_writes() -> None:
    """It is asked for once per job that runs, and only if the queue answered."""
    watched, facts = job(), {REF: Facts(stdout="/w/slurm-12.out", workdir="/w")}
    asked = source.also_ask(RarelyAsked([watched], {REF: Known(Running())}, facts, turn=1)).commands or {}
    assert asked["slurm.script.12"].argv == ["scontrol", "write", "batch_script", "12", "-"]
    assert asked["slurm.script.12"].after == "slurm.queue"
    body = rare({"slurm.script.12": ran("#!/bin/sh\npython t.py >out.log 2>&1\n")})
    assert source.also_read(body, RarelyAsked([watched], facts=facts))[REF] == RareFacts(script_logs=("/w/out.log",))
    late = rare({"slurm.script.12": ran(rc=None, why="late")})
    for nothing in (late, rare({})):
        assert source.also_read(nothing, RarelyAsked([watched], facts=facts)) == {}


def test_why_the_queue_said_nothing_is_told_in_one_sentence() -> None:
    """For the one alert about the cluster."""
    assert source.trouble(answer(row()), [job()]) is None
    assert source.trouble(answer(ran(rc=1, err=GONE)), [job()]) == (
        "squeue: the Slurm controller cannot be reached"
        " (slurm_load_jobs error: Unable to contact slurm controller (connect failure))"
    )
    assert source.trouble(answer(ran(rc=None, why="late")), [job()]) == "squeue: it did not answer in time"
    munge = "squeue: error: Munge encode failed: x\nslurm_load_jobs error: Protocol authentication error\n"
    assert "munge" in (source.trouble(answer(ran(rc=1, err=munge)), [job()]) or "")


def test_a_name_cannot_pass_for_another_record() -> None:
    """Newlines, separators and a whole forged line in a name stay in the name."""
    forged = row("COMPLETED", "13").replace("0123abcd", "deadbeef")
    out = row("RUNNING", "12", Name=f'a|b\n"ü"\n{forged}') + row("PENDING", "14")
    rows = queue.parse(out)
    assert rows is not None
    assert {base: [line.word for line in group] for base, group in rows.items()} == {
        "12": ["RUNNING"],
        "14": ["PENDING"],
    }
    assert rows["12"][0].name.startswith('a|b\n"ü"\n13\x1fdeadbeef')


def test_a_path_cannot_pass_for_another_record() -> None:
    """Nor can a line of sacct be forged by a work directory."""
    forged = record("FAILED", id="13").replace("0123abcd", "deadbeef")
    records = accounting.parse(record(WorkDir=f"/x\n{forged}") + record(id="14"))
    assert records is not None
    assert sorted(records) == ["12", "14"]


def test_the_accounting_is_believed_only_about_what_it_was_asked() -> None:
    """A job that the probe did not ask about is missing, and nothing follows from having no record."""
    asked = {**ran(""), "ids": ["99"]}
    watched = job()
    known = {REF: Known(Running(), attempt=f"{SUBMIT}:0", attempts=1)}
    _, seen = source.read(answer("", asked), [watched], known, NOW)
    assert seen[REF].state == Missing(NOW)
    assert seen[REF].track is None
