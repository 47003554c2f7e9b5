"""Whatever a cluster prints, it is read or it is not known: never an error, and never a success made of nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from dogwatch.model import Answered, Ended, Facts, Known, Missing, Outcome, Running, Waiting, follow
from dogwatch.sources.slurm import accounting, logs_of, queue, reasons, source, spans, times, words
from tests.sources.slurm.lines import MARK, NOW, REF, SUBMIT, answer, capture, job, ran, record, row, whole

ODD = st.sampled_from(
    [*"0\x1f\n٣", "", "Unknown", "None", "N/A", "INVALID", "UNLIMITED", "1-02:03:04", "-1", "9" * 30, "(null)", "1.5K"]
)
TEXT = st.one_of(ODD, st.text(max_size=40))
STATES = st.sampled_from([*words.ACTIVE, *words.ENDED, "REVOKED", "TELEPORTING", "CANCELLED by 7", ""])
IDS = st.sampled_from(["12", "12_3", "12_[4-9%2]", "12_4", "12+0", "12+1", "13", "12_[1,...]"])
LINES = st.builds(
    lambda state, id, fields: row(state, id, **fields),
    STATES,
    IDS,
    st.dictionaries(st.sampled_from(queue.FIELDS[2:]), TEXT, max_size=6),
)
RECORDS = st.builds(
    lambda state, exit_code, id, fields: record(state, exit_code, id, **fields),
    STATES,
    st.one_of(TEXT, st.sampled_from(["0:0", "1:0", "0:125", "0:9"])),
    st.sampled_from(["12", "12.batch", "12.0", "12_3", "12_3.extern", "12_[4-9]", "12+1", "12+1.0", "13"]),
    st.dictionaries(st.sampled_from(accounting.FIELDS[3:]), TEXT, max_size=6),
)
STATE = [None, Waiting(), Running(), Missing(NOW - 400), Ended(Outcome.UNKNOWN), Ended(Outcome.FAILED)]
KNOWN = st.builds(
    Known,
    state=st.sampled_from(STATE),
    native=st.sampled_from(["", "PREEMPTED", "RUNNING"]),
    attempt=st.one_of(st.sampled_from(["", f"{SUBMIT}:0", f"{SUBMIT}:2", "?:0", "x"]), st.text(max_size=10)),
    settled=st.booleans(),
)
TRACK = st.fixed_dictionaries(
    {},
    optional={
        "user": st.sampled_from([None, "alice", "bob"]),
        "submit": st.sampled_from([None, SUBMIT, float(SUBMIT), "x", -1]),
        "missing_since": st.sampled_from([NOW - 400, NOW, NOW + 400, "x", None]),
        "ended": st.sampled_from([{"COMPLETED": "0-5"}, {"X": 7}, [], "x"]),
    },
)
PLACES = st.sampled_from(["stdout", "stderr", "workdir", "name", "user", "nodes"])


@given(TEXT)
def test_every_small_reader_survives_any_text(text: str) -> None:
    """Times, lengths, sizes, exit codes, reasons, task lists."""
    for read in (times.moment, times.length, times.minutes, times.size, times.resources, times.number):
        read(text)
    words.exit_of(text)
    words.bare(text)
    assert reasons.meaning(text).words
    assert len(spans.span(text)) >= 0


@given(st.text(max_size=300), st.booleans())
def test_squeue_and_sacct_may_print_anything(text: str, marked: bool) -> None:
    """Also what looks like the beginning of a record."""
    start = f"12\x1f{MARK}\x1f" if marked else ""
    queue.parse(start + text)
    accounting.parse(start + text)


@given(st.data())
def test_a_real_capture_cut_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    """Half an answer is no answer: a record that is not whole makes all of it void."""
    queued, booked = capture("22.05", "squeue.txt"), capture("22.05", "sacct.txt")
    cut = data.draw(st.integers(1, len(queued) - 1))
    if not queued[:cut].endswith("\x1f\n"):
        assert queue.parse(queued[:cut]) is None
    accounting.parse(booked[: data.draw(st.integers(0, len(booked)))])


@given(st.lists(LINES, max_size=5), st.lists(RECORDS, max_size=6), KNOWN, TRACK, st.booleans())
def test_any_answer_makes_a_sighting_that_can_be_followed_and_stored(
    rows: list[str], records: list[str], known: Known, track: dict[str, Any], books: bool
) -> None:
    """And a success has a word of Slurm's behind it."""
    watched = job(**track)
    booked = ran("".join(records)) if books else ran(rc=1, err="Connection refused")
    asked, seen = source.read(answer("".join(rows), booked), [watched], {REF: known}, NOW)
    follow({REF: known}, Answered("lab", NOW, 0.1, asked, seen))
    for observation in seen.values():
        json.dumps([to_builtins(observation.facts), observation.track])
        if isinstance(observation.state, Ended) and observation.state.outcome is Outcome.SUCCEEDED:
            assert "COMPLETED" in observation.native


@given(st.lists(RECORDS, max_size=8), st.integers(0, 4000))
def test_a_job_that_left_the_queue_succeeds_only_by_a_record_of_its_own(records: list[str], waited: int) -> None:
    """Whatever else is booked, and however long one waits."""
    foreign = "".join(line for line in records if not line.startswith("12"))
    known = Known(Running(), attempt=f"{SUBMIT}:0", attempts=1, confirmed_at=NOW)
    watched = job(missing_since=NOW - waited)
    _, seen = source.read(answer("", foreign + whole(id="99")), [watched], {REF: known}, NOW)
    for observation in seen.values():
        assert isinstance(observation.state, Missing) or observation.state.outcome is Outcome.UNKNOWN  # type: ignore[union-attr]


@given(st.dictionaries(PLACES, TEXT), st.text(max_size=200))
def test_any_script_and_any_pattern_gives_globs_below_a_known_place(named: Any, script: str) -> None:
    """Absolute, of one line, and not at the root."""
    for path in logs_of(Facts(**named), "12", script):
        assert path.startswith("/")
        assert not path.startswith("/*")
        assert "\n" not in path
        assert "\0" not in path
