"""One verdict from all evidence: what each of them is worth."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.estimate.last_lines import Lines
from dogwatch.estimate.milestones import UNKNOWN_POSITION, Position, RunPosition
from dogwatch.estimate.silence_limit import STEADY, Gaps, silence_limit
from dogwatch.estimate.stall import Evidence, Gpu, Usage, ask_after, asleep, verdict, waits
from dogwatch.model import StallState, Verdict

AT = 1_800_000_000.0
KNOWN = Gaps()
for _ in range(3):
    for _ in range(50):
        KNOWN.note(0.0, 10.0)
    KNOWN.note(600.0, 10.0)
GAPS = {STEADY: KNOWN}
ALLOWED = silence_limit(GAPS, STEADY)
CALM = Evidence(AT, {"progress": 5.0, "log": 5.0}, 5.0, AT - 5.0, STEADY, GAPS)
WORKING = Verdict(StallState.WORKING, AT - 1000.0)
IDLE = Usage(over=300.0, cores=0.001, bytes=0.0, processes=2, usual=0.9)
SPIN = Usage(over=300.0, cores=4.0, bytes=0.0, processes=4, usual=4.0)
READS = Usage(over=300.0, cores=0.2, bytes=5e6, processes=4, usual=2.0)


def silent(seconds: float, **more) -> Evidence:
    return replace(CALM, silent=seconds, moved_at=AT - seconds, quiet={"progress": seconds, "log": seconds}, **more)


def word(evidence: Evidence, before: Verdict | None = WORKING) -> StallState:
    return verdict(evidence, before).word


def test_a_sign_of_life_within_its_patience_is_work() -> None:
    """And the verdict keeps its beginning while its word holds."""
    found = verdict(CALM, WORKING)
    assert (found.word, found.since, found.silence_limit) == (StallState.WORKING, WORKING.since, ALLOWED)
    assert word(silent(ALLOWED - 1)) is StallState.WORKING


def test_silence_beyond_its_patience_is_a_stall_since_the_last_sign() -> None:
    """By the log alone, where nothing else can be asked."""
    found = verdict(silent(ALLOWED), WORKING)
    assert (found.word, found.since) == (StallState.STALLED, AT - ALLOWED)
    assert {witness.by for witness in found.evidence} == {"progress", "log"}


def test_a_log_that_stands_beside_a_checkpoint_that_grows_is_work() -> None:
    """Block-buffered output says nothing for as long as it likes."""
    quiet = {"log": 9 * ALLOWED, "checkpoint": 3.0}
    assert word(replace(CALM, quiet=quiet, silent=3.0)) is StallState.WORKING


@pytest.mark.parametrize("seconds", [ALLOWED, 4 * ALLOWED, 50 * ALLOWED])
def test_processes_that_read_and_write_are_busy_for_as_long_as_they_do(seconds: float) -> None:
    """Bytes are work."""
    assert word(silent(seconds, usage=READS)) is StallState.SILENT_BUT_BUSY


def test_a_trickle_of_bytes_is_no_work() -> None:
    """A logger or heartbeat goes on while the work hangs."""
    assert word(silent(ALLOWED, usage=replace(IDLE, bytes=6000.0))) is StallState.STALLED


def test_cpu_alone_does_not_excuse_a_job_whose_pauses_are_known() -> None:
    """A hung collective spins."""
    found = verdict(silent(ALLOWED, usage=SPIN), WORKING)
    assert found.word is StallState.STALLED
    assert "uses the CPU or GPU" in found.why


def test_cpu_buys_no_time_where_the_job_may_do_something_for_the_first_time() -> None:
    """The silence limit there is long enough for jobs whose processes nobody can see."""
    allowed = silence_limit({}, STEADY)
    young = replace(silent(0.99 * allowed, usage=SPIN), gaps={})
    assert word(young) is StallState.WORKING
    assert word(replace(young, silent=allowed)) is StallState.STALLED


def test_busy_gpus_weigh_as_little_as_busy_cores_unless_they_draw_their_usual_power() -> None:
    """Utilisation is 100 % in a hung collective too; power is not."""
    full = Gpu(percent=100.0)
    assert word(silent(ALLOWED, gpu=full)) is StallState.STALLED
    assert word(silent(ALLOWED, gpu=replace(full, watts=600.0, usual_watts=650.0))) is StallState.SILENT_BUT_BUSY
    assert word(silent(ALLOWED, gpu=replace(full, watts=140.0, usual_watts=650.0))) is StallState.STALLED


def test_processes_that_usually_compute_and_sleep_now_end_patience_sooner() -> None:
    """A job that loads, validates or saves is not asleep."""
    few = {STEADY: Gaps()}
    evidence = replace(silent(300.0), gaps=few)
    assert word(evidence) is StallState.WORKING
    assert word(replace(evidence, usage=IDLE)) is StallState.STALLED


@pytest.mark.parametrize(
    "usage",
    [
        replace(IDLE, usual=0.01),  # a launcher: its work is done elsewhere
        replace(IDLE, usual=None),
        replace(IDLE, over=5.0),  # not seen for long enough
        replace(IDLE, cores=0.1),
        replace(IDLE, bytes=5000.0),
    ],
)
def test_sleep_that_proves_nothing_shortens_nothing(usage: Usage) -> None:
    """Only processes that compute can be caught sleeping."""
    assert not asleep(silent(300.0, usage=usage))


def test_a_gpu_at_100_percent_with_nothing_moving_is_a_hang() -> None:
    """Past the job's silence limit, in every reading, whatever it draws: work has its lulls. Before that it proves
    nothing, and bytes are work still."""
    full = Gpu(percent=100.0, watts=650.0, usual_watts=650.0, share=1.0, lowest=100.0)
    found = verdict(silent(ALLOWED, usage=SPIN, gpu=full), WORKING)
    assert found.word is StallState.STALLED
    assert "100 %" in found.why
    assert word(silent(ALLOWED, usage=SPIN, gpu=replace(full, lowest=97.0))) is StallState.SILENT_BUT_BUSY
    assert word(silent(0.9 * ALLOWED, usage=SPIN, gpu=full)) is StallState.WORKING


def test_gpus_that_are_all_busy_far_below_their_usual_power_wait_for_another_rank() -> None:
    """A hung collective: silence limit ends as for processes that sleep, and the verdict says why."""
    hung = Gpu(percent=100.0, watts=300.0, usual_watts=1300.0, share=0.28, lowest=100.0)
    young = Gaps()
    for _ in range(60):
        young.note(0.0, 10.0)
    found = verdict(silent(300.0, gaps={STEADY: young}, usage=SPIN, gpu=hung), WORKING)
    assert found.word is StallState.STALLED
    assert "28% of their usual power" in found.why
    assert word(silent(300.0, gaps={STEADY: young}, usage=SPIN, gpu=Gpu(percent=100.0))) is StallState.WORKING


def test_one_rank_that_validates_while_the_others_wait_is_work() -> None:
    """Seven of eight GPUs spin in a barrier; the one that works draws its power."""
    eighth = Gpu(percent=98.0, watts=1000.0, usual_watts=2600.0, share=0.9, lowest=85.0)
    assert not waits(eighth)
    assert word(silent(5 * ALLOWED, usage=SPIN, gpu=eighth)) is StallState.SILENT_BUT_BUSY


def test_one_reading_is_not_enough_for_a_hung_collective() -> None:
    """Without what was seen all the time there is only how busy they were."""
    assert not waits(Gpu(percent=100.0, watts=300.0, usual_watts=1300.0, share=0.28))


def test_idle_gpus_beside_a_cpu_that_spins_are_told() -> None:
    """A reader of the verdict knows where to look."""
    found = verdict(silent(ALLOWED, usage=SPIN, gpu=Gpu(percent=0.0)), WORKING)
    assert found.word is StallState.STALLED
    assert "while its GPUs are idle" in found.why


def test_a_gpu_at_work_is_not_asleep() -> None:
    """The host may wait for a long kernel."""
    assert not asleep(silent(300.0, usage=IDLE, gpu=Gpu(percent=97.0)))


def test_the_owners_limit_is_the_most_patience_and_bytes_still_excuse() -> None:
    """CPU does not: what is asked for is an end of waiting."""
    assert word(silent(9.0, limit=10.0)) is StallState.WORKING
    assert word(silent(10.0, limit=10.0)) is StallState.STALLED
    assert word(silent(10.0, limit=10.0, usage=SPIN)) is StallState.STALLED
    assert word(silent(10.0, limit=10.0, usage=READS)) is StallState.SILENT_BUT_BUSY


def test_a_job_that_is_stopped_does_not_wait_for_its_patience() -> None:
    """Every process stopped by a signal is evidence, after a minute in which it may be continued."""
    assert word(silent(59.0, stopped=True)) is StallState.WORKING
    assert word(silent(61.0, stopped=True)) is StallState.STALLED


def test_while_the_processes_have_not_answered_yet_the_word_stays() -> None:
    """A verdict waits for the evidence that it has called."""
    stalled = Verdict(StallState.STALLED, AT - 9.0, why="nothing moves")
    assert word(silent(2 * ALLOWED, asking=True)) is StallState.WORKING
    assert verdict(silent(2 * ALLOWED, asking=True), stalled).why == "nothing moves"


def test_what_could_not_be_seen_makes_no_stall_and_ends_none() -> None:
    """Our own blindness is not the job's silence, nor its return."""
    blind = silent(9 * ALLOWED, unseen="its files could not be read")
    assert word(blind) is StallState.CANNOT_TELL
    stalled = Verdict(StallState.STALLED, AT - 9.0)
    assert verdict(blind, stalled).word is StallState.STALLED
    assert verdict(blind, stalled).since == stalled.since


def test_a_job_that_shows_nothing_that_could_stand_still_cannot_be_judged() -> None:
    """Unless its owner gave a limit."""
    bare = replace(silent(1e6), quiet={})
    assert word(bare) is StallState.CANNOT_TELL
    assert word(replace(bare, limit=100.0)) is StallState.STALLED


def test_a_server_that_nobody_asks_is_not_stalled() -> None:
    """However long it waits for a request; its owner may set a limit."""
    waits = silent(100 * ALLOWED, phase="serving", usage=IDLE)
    assert word(waits) is StallState.CANNOT_TELL
    assert word(replace(waits, limit=600.0)) is StallState.STALLED


def test_nobody_can_tell_by_its_log_alone_whether_a_job_that_has_hardly_begun_hangs() -> None:
    """For three hours; and sooner where its processes were asked, where it has begun to count, or where its owner said
    how long to wait."""
    young = {"starting": Gaps(count=2, seconds=60.0, longest=30.0)}
    counted = Gaps(count=9, seconds=90.0, longest=10.0)
    start = silent(5400.0, phase="starting", gaps=young)
    found = verdict(start, WORKING)
    assert found.word is StallState.CANNOT_TELL
    assert "started recently" in found.why
    assert word(start, found) is StallState.CANNOT_TELL
    assert word(silent(10_800.0, phase="starting", gaps=young), found) is StallState.STALLED
    for more in ({"usage": SPIN}, {"counter": counted}, {"limit": 3000.0}, {"gaps": {STEADY: replace(KNOWN)}}):
        assert word(replace(start, **more)) is StallState.STALLED


def test_a_lasting_slow_down_is_said_with_its_beginning() -> None:
    """As long as it moves at all."""
    found = verdict(replace(CALM, slow_since=AT - 4000.0, slow_why="half as fast"), WORKING)
    assert (found.word, found.since, found.why) == (StallState.SLOW, AT - 4000.0, "half as fast")
    assert word(silent(ALLOWED, slow_since=AT - 4000.0)) is StallState.STALLED


def moves(count: int) -> Gaps:
    """A counter that has moved so often."""
    gaps = Gaps()
    for _ in range(count):
        gaps.note(10.0, 10.0)
    return gaps


def test_a_counter_that_stands_while_the_log_goes_on_is_slow() -> None:
    """A hung job may print that it waits, for ever."""
    waits = replace(CALM, quiet={"progress": 7200.0, "log": 5.0}, counter=moves(5))
    assert word(waits) is StallState.SLOW
    assert word(replace(waits, quiet={"progress": 900.0, "log": 5.0})) is StallState.WORKING


def test_a_counter_that_has_hardly_moved_or_a_phase_that_is_announced_is_not_slow() -> None:
    """An epoch may take hours, and the first line says that it begins; an evaluation counts something else."""
    waits = replace(CALM, quiet={"progress": 7200.0, "log": 5.0}, counter=moves(5))
    assert word(replace(waits, counter=moves(2))) is StallState.WORKING
    assert word(replace(waits, phase="validating")) is StallState.WORKING


@given(
    st.lists(st.floats(0.0, 2000.0), min_size=1, max_size=40),
    st.sampled_from(["training", "validating", "exporting"]),
    st.sampled_from(list(Position)),
    st.integers(1, 300),
    st.booleans(),
    st.booleans(),
)
def test_nobody_is_out_of_patience_before_it_is_asked_where_a_job_is(
    silences: list[float], phase: str, position: Position, times: int, several: bool, is_asleep: bool
) -> None:
    """Until then every job is taken for one of which nothing tells that."""
    gaps = Gaps()
    for silent in silences:
        gaps.note(silent, 10.0)
    seen = {"step": times, "saved": 1} if several else {"step": times}
    lines = Lines(seen, "step", dict.fromkeys(seen, gaps.longest))
    least = silence_limit({STEADY: gaps}, phase, asleep=is_asleep, where=RunPosition(position, 0.6), lines=lines)
    lost = silence_limit({STEADY: gaps}, phase, asleep=is_asleep, where=UNKNOWN_POSITION, lines=lines)
    assert ask_after({STEADY: gaps}, phase, None, lines) <= 0.5 * min(least, lost)
