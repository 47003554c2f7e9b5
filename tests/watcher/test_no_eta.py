"""When no estimate is shown of a running job, and what is said instead."""

from __future__ import annotations

import pytest

from dogwatch.estimate.silence_limit import Gaps
from dogwatch.model import Eta, Job, Progress, StallState, Step, Straggler, Verdict, Worker
from dogwatch.watcher.job import no_eta
from dogwatch.watcher.job.document import worker_document
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.progress import ProgressState
from dogwatch.watcher.job.state.silence import SilenceClock
from dogwatch.watcher.job.state.workers import WorkerState

JOB = Job("here/process:x", "here", "process", "x", "x")
ETA = Eta(540.0, 500.0, 600.0, 0.9)
LOGS = [f"/logs/worker_{index}.log" for index in range(4)]
WORKING = Verdict(StallState.WORKING, 0.0, silence_limit=300.0)


def of_shares(done: tuple[float, ...] = (500.0, 500.0, 500.0, 500.0), total: float | None = 1000.0) -> Memory:
    steps = {log: Step(each, total, "items") for log, each in zip(LOGS, done, strict=False)}
    return Memory(progress=ProgressState(steps=steps))


def crew(**ended: Worker) -> list[Worker]:
    """Four workers, of which some are replaced: w2=Worker(…)."""
    return [ended.get(f"w{index}") or Worker(index, "running", 100 + index) for index in range(4)]


def why(memory: Memory, workers: list[Worker] | None = None, **told: object) -> str:
    given: dict[str, object] = {"native": "", "eta": ETA, "verdict": WORKING, "straggler": None, **told}
    progress = Progress(2000.0, 4000.0, "items", 10.0, 10.0, 0.0)
    return no_eta.reason(
        memory,
        JOB,
        str(given["native"]),
        crew() if workers is None else workers,
        progress,
        given["eta"],  # type: ignore[arg-type]
        given["verdict"],  # type: ignore[arg-type]
        given["straggler"],  # type: ignore[arg-type]
        1000.0,
    )


def test_a_job_that_works_keeps_its_estimate() -> None:
    """Nothing stands against it."""
    assert why(of_shares()) == ""


@pytest.mark.parametrize("outcome", ["failed", "out_of_memory", "unknown", None])
def test_a_worker_that_left_its_share_undone_means_that_it_cannot_finish(outcome: str | None) -> None:
    """However it ended: each counts up to a total of its own, so nobody else does its items."""
    assert why(of_shares(), crew(w2=Worker(2, "gone", 102, outcome=outcome))) == "cannot finish: worker 2 exited"


def test_several_that_left_are_named_together() -> None:
    """Two by their numbers, many by how many they are."""
    gone = {f"w{index}": Worker(index, "gone", outcome="failed") for index in range(4)}
    both = {key: gone[key] for key in ("w1", "w3")}
    assert why(of_shares(), crew(**both)) == "cannot finish: workers 1 and 3 exited"
    assert why(of_shares(), crew(**gone)) == "cannot finish: 4 workers exited"


@pytest.mark.parametrize("outcome", ["succeeded", "unknown", None])
def test_a_worker_that_did_its_share_takes_no_estimate_away(outcome: str | None) -> None:
    """Also where nobody knows its exit code, and where its last few items were never told."""
    workers = crew(w2=Worker(2, "gone", outcome=outcome))
    assert why(of_shares((500.0, 500.0, 1000.0, 500.0)), workers) == ""
    untold = of_shares((500.0, 500.0, 950.0, 500.0))
    untold.workers.points["2"] = [[0.0, 850.0], [10.0, 900.0], [20.0, 950.0]]
    assert why(untold, workers) == ""


def test_a_worker_that_left_well_in_the_middle_of_its_share_did_not_do_it() -> None:
    """Exit code 0 does not do the other half, unless its log speaks of early stopping."""
    workers, memory = crew(w2=Worker(2, "gone", outcome="succeeded")), of_shares()
    assert why(memory, workers) == "cannot finish: worker 2 exited"
    memory.log.may_stop = True
    assert why(memory, workers) == ""


def test_others_may_take_over_where_no_worker_has_a_share_of_its_own() -> None:
    """Without own totals, or where each tells the whole job's, nobody can know."""
    workers = crew(w2=Worker(2, "gone", outcome="failed"))
    assert why(of_shares(total=None), workers) == "may not finish: worker 2 exited"
    assert why(of_shares(total=4000.0), workers) == "may not finish: worker 2 exited"
    assert why(of_shares(total=None), crew(w2=Worker(2, "gone", outcome="succeeded"))) == ""


def test_a_stalled_or_held_job_says_so() -> None:
    """By the verdict, by a worker that stands while the others go on, by signals, by Slurm."""
    memory = of_shares()
    assert why(memory, verdict=Verdict(StallState.STALLED, 0.0, silence_limit=300.0)) == "stalled"
    assert why(memory, straggler=Straggler("3", 0.0, "has stood still", stands=True)) == "worker 3 stalled"
    assert why(memory, straggler=Straggler("3", 0.0, "does about 50 % less")) == ""
    assert why(memory, [Worker(index, "stopped", 1) for index in range(2)]) == "suspended"
    assert why(memory, crew(w1=Worker(1, "stopped", 1))) == "worker 1 stopped"
    assert why(memory, [], native="SUSPENDED") == "suspended"


def test_a_worker_that_hangs_with_its_share_undone_is_named_also_when_the_others_are_done() -> None:
    """The last it did is longer ago than the silence limit; what the others did does not count for it."""
    memory = of_shares((1000.0, 1000.0, 500.0, 1000.0))
    memory.workers.points["2"] = [[100.0 * i, 100.0 * i] for i in range(1, 6)]
    assert why(memory) == "worker 2 stalled"
    memory.workers.points["2"] = [[100.0 * i, 100.0 * i] for i in range(5, 10)]
    assert why(memory) == ""


def test_a_counter_that_stands_for_longer_than_the_silence_limit_gives_no_estimate() -> None:
    """Though its log goes on talking; within the limit, and within what its own moves take, the estimate stays."""
    memory = of_shares()
    memory.silence.counter = Gaps(count=20, longest=10.0)
    memory.silence.clocks["progress"] = SilenceClock(299.0)
    assert why(memory) == ""
    memory.silence.clocks["progress"] = SilenceClock(301.0)
    assert why(memory) == "no progress"
    assert why(memory, verdict=Verdict(StallState.SILENT_BUT_BUSY, 0.0, silence_limit=300.0)) == "no progress"
    memory.silence.counter = Gaps(count=20, longest=600.0)  # it counts epochs
    assert why(memory) == ""


def test_where_nothing_can_be_estimated_it_says_what_is_missing() -> None:
    """Not only that there is no estimate."""
    assert why(of_shares(), eta=None) == "no end in sight"
    assert no_eta.reason(Memory(), JOB, "", (), None, None, WORKING, None, 0.0) == "no progress counted yet"
    endless = Progress(5.0, None, "items", 1.0, 1.0, 0.0)
    assert no_eta.reason(Memory(), JOB, "", (), endless, None, WORKING, None, 0.0) == "no total known"


def test_a_worker_that_does_not_count_any_more_shows_no_rate() -> None:
    """Gone, stopped, or silent for several times its longest gap; one that counts does."""
    memory = Memory(workers=WorkerState(steps={"2": [90.0, 900.0, 10.0]}))
    memory.workers.points["2"] = [[70.0, 700.0], [80.0, 800.0], [90.0, 900.0]]

    def rate(doing: str, mono: float) -> float | None:
        found: float | None = worker_document(Worker(2, doing, 7), memory, 0.0, mono)["rate"]
        return found

    assert rate("running", 100.0) == 10.0
    assert rate("gone", 100.0) is None
    assert rate("stopped", 100.0) is None
    assert rate("running", 151.0) is None
