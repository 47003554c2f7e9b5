"""A job that has become slow, and a worker that falls behind its equals."""

from __future__ import annotations

import json

from dogwatch.model import Job, Point, Step, Straggler, Worker
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.slowdown import behind, count_over, equals
from dogwatch.watcher.job.state.tempo import TempoState, note_at_work, slow_since
from dogwatch.watcher.job.state.workers import MOST_POINTS, MOST_WORKERS, keep_worker_point

JOB = Job("here/process:t", "here", "process", "t", "t")
AT = 1_800_000_000.0


def crew(rates: dict[str, float], seconds: int = 3000, stop: dict[str, int] | None = None) -> Memory:
    """Workers that count at these rates, looked at every ten seconds; some stop for good at a second."""
    memory = Memory()
    for second in range(0, seconds, 10):
        for worker, rate in rates.items():
            keep_worker_point(
                memory.workers, worker, float(second), rate * min(second, (stop or {}).get(worker, seconds))
            )
    memory.silence.gaps_of("training").note(0.0, 10.0)
    return memory


def found(memory: Memory, now: float = 3000.0, *workers: Worker, total: float = 1e6) -> Straggler | None:
    steps = {worker: Step(points[-1][1], total) for worker, points in memory.workers.points.items()}
    return behind(JOB, memory, steps, workers, now, AT)


def test_the_worker_that_does_less_than_its_equals_is_named() -> None:
    """With about how much less."""
    straggler = found(crew({"0": 10.0, "1": 10.2, "2": 5.0, "3": 9.9}))
    assert straggler is not None
    assert straggler.worker == "2"
    assert "50 % less" in straggler.why


def test_equal_workers_have_no_straggler() -> None:
    """Nor have two, of which nobody knows which is the usual one."""
    assert found(crew({"0": 10.0, "1": 10.2, "2": 9.7, "3": 9.9})) is None
    assert found(crew({"0": 10.0, "1": 5.0})) is None


def test_a_worker_that_stands_while_the_others_go_on_is_named_with_the_moment() -> None:
    """After the silence limit of the job, which in its youth is long."""
    memory = crew(dict.fromkeys("0123", 10.0), seconds=9000, stop={"3": 3000})
    straggler = found(memory, 9000.0)
    assert straggler is not None
    assert straggler.worker == "3"
    assert abs(straggler.since - (AT - 6000)) < 20
    assert found(crew(dict.fromkeys("0123", 10.0), stop={"3": 2000})) is None


def test_a_worker_that_is_done_or_gone_does_not_straggle() -> None:
    """It has its own rule, or nothing more to do."""
    memory = crew(dict.fromkeys("0123", 10.0), seconds=9000, stop={"3": 3000})
    assert found(memory, 9000.0, Worker(3, "gone", 1)) is None
    assert "3" not in equals({"0": Step(5.0, 10.0), "1": Step(6.0, 10.0), "3": Step(10.0, 10.0)})


def test_workers_with_other_work_are_no_equals() -> None:
    """Another unit or another total is another job."""
    steps = {"0": Step(1.0, 100.0), "1": Step(1.0, 100.0), "2": Step(1.0, 5000.0), "3": Step(1.0, 100.0, "epochs")}
    assert equals(steps) == {"0", "1"}


def test_what_is_remembered_of_workers_is_bounded() -> None:
    """A few points each, and not of a thousand workers; a counter that falls starts again."""
    memory = crew({str(worker): 1.0 for worker in range(MOST_WORKERS + 20)})
    assert len(memory.workers.points) == MOST_WORKERS
    assert max(map(len, memory.workers.points.values())) <= MOST_POINTS
    keep_worker_point(memory.workers, "0", 4000.0, 3.0)
    assert memory.workers.points["0"] == [[4000.0, 3.0]]


def test_a_worker_that_is_done_makes_no_slow_down_and_a_memory_keeps_it() -> None:
    """Half of the throughput goes with one of two workers; the next watcher sees a real one too."""
    points = [Point(10.0 * i, 100.0 * i) for i in range(100)]
    points += [Point(1000.0 + 10.0 * i, 10000.0 + 50.0 * i) for i in range(100)]
    tempo = TempoState()
    note_at_work(tempo, count_over({"0": Step(5.0, 10.0)}, ()), 5.0)
    note_at_work(tempo, count_over({"0": Step(10.0, 10.0)}, (Worker(1, "running"),)), 1000.0)
    assert slow_since(tempo, points, 2000.0, AT) is None
    memory = Memory()
    note_at_work(memory.tempo, count_over({"0": Step(5.0, 10.0)}, ()), 5.0)
    memory = Memory.from_json(json.loads(json.dumps(memory.to_json(), allow_nan=False)))
    assert slow_since(memory.tempo, points, 2000.0, AT) is not None
    again = Memory.from_json(json.loads(json.dumps(memory.to_json(), allow_nan=False)))
    assert again.tempo.slow == memory.tempo.slow is not None


def test_a_lasting_slow_down_is_told_with_its_beginning_in_wall_time() -> None:
    """The points are on a clock of their own."""
    points = [Point(10.0 * i, 100.0 * i) for i in range(100)]
    points += [Point(1000.0 + 10.0 * i, 10000.0 + 50.0 * i) for i in range(100)]
    told = slow_since(TempoState(), points, 2000.0, AT)
    assert told is not None
    assert abs(told[0] - (AT - 1000)) < 100
    assert "50 % less" in told[1]
    assert slow_since(TempoState(), points[:100], 1000.0, AT) is None
