"""What a job has used is added up over the time that somebody watched, and its numbers are kept now and then."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.model import Ended, Gpu, GpuFigures, Job, Known, Outcome, Progress, Running, Worker
from dogwatch.watcher.job import resources as module
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.readings import MOST_AT_ONCE, due_readings
from dogwatch.watcher.job.resources import Sample, Spent, add_up, document, measured, sampled
from dogwatch.watcher.job.watched import WatchedJob

RUNNING = Known(Running(0.0, "here"), 0.0)


def workers(*sizes: int | None) -> list[Worker]:
    return [Worker(index, "running", memory_bytes=size) for index, size in enumerate(sizes)]


def watched(number: int) -> WatchedJob:
    job = Job(f"here/process:{number}", "here", "process", str(number), "t")
    return WatchedJob(job, RUNNING, Memory(), Readers(None))


def test_peaks_are_kept_and_only_of_what_was_seen() -> None:
    """The memory of all workers together; a worker that nobody may inspect adds nothing."""
    total = Spent()
    for at, sizes in enumerate([(5, 5), (9, None), (2, 3)]):
        add_up(total, float(at), float(at), workers(*sizes), None)
    assert document(total, 3.0)["memory_peak_bytes"] == 10
    assert document(Spent(), 0.0)["memory_peak_bytes"] is None


def test_gpu_seconds_fall_into_tenths_of_use() -> None:
    """Every GPU counts for the seconds between two polls; one below five percent is idle."""
    total = Spent()
    for at in range(0, 31, 10):
        add_up(total, float(at), float(at), (), Sample((1.0, 0.96, 0.04), 3, 7))
    told = document(total, 30.0)
    assert told["gpu_tenths_seconds"] == [30.0, *[0.0] * 8, 60.0]
    assert (told["gpu_idle_seconds"], told["gpus"], told["gpu_memory_peak_bytes"]) == (30.0, 3, 7)


def test_energy_is_the_area_under_the_watts_that_were_watched() -> None:
    """From 100 to 300 watts in ten seconds are 2,000 joules; a gap of our own adds nothing, nor does a reboot."""
    total = Spent()
    for age, mono, watts in [(0.0, 1000.0, 100.0), (10.0, 1010.0, 300.0)]:
        add_up(total, age, mono, (), Sample((0.5,), 1, None, watts))
    assert (total.joules, total.metered) == (2000.0, 10.0)
    add_up(total, 10.0, 9000.0, (), Sample((0.5,), 1, None, 300.0))  # nobody watched for two hours
    add_up(total, 20.0, 50.0, (), Sample((0.5,), 1, None, 300.0))  # another boot
    assert total.joules == 2000.0
    add_up(total, 30.0, 60.0, (), Sample((0.5,), 1, None, 100.0))
    assert (total.joules, total.metered) == (4000.0, 20.0)
    add_up(total, 40.0, 70.0, (), Sample((0.5,), 1))  # it does not say
    add_up(total, 50.0, 80.0, (), Sample((0.5,), 1, None, 100.0))
    assert total.joules == 4000.0
    assert sum(total.tenths) == 40.0


@given(st.lists(st.tuples(st.floats(0, 700), st.booleans(), st.floats(0, 1)), max_size=40))
def test_no_more_is_added_up_than_was_watched(looks: list[tuple[float, bool, float]]) -> None:
    """Whatever the pauses between polls are, and whichever of them we slept through."""
    total, age, mono = Spent(), 0.0, 0.0
    for passed, was_there, use in looks:
        mono += passed
        age += passed if was_there else 0.0
        add_up(total, age, mono, (), Sample((use,), 1, None, 1.0))
    assert sum(total.tenths) <= age * (1 + 2 * module.MISSED) + 1e-6
    assert total.joules is None or abs(total.joules - total.metered) < 1e-6


def test_what_was_spent_survives_a_restart_of_the_watcher() -> None:
    """With the last sample, so that a short restart loses nothing."""
    memory = Memory(age=10.0)
    add_up(memory.spent, 10.0, 10.0, workers(5), Sample((0.5,), 1, 3, 100.0))
    again = Memory.from_json(json.loads(json.dumps(memory.to_json())))
    assert again.spent == memory.spent
    assert Memory.from_json({"age": 1.0}).spent == Spent()


def test_slurm_metrics_count_for_all_gpus_of_the_job() -> None:
    """The mean of its file stands for each of them; a file that says nothing of the use has no use."""
    assert sampled(GpuFigures(50.0, 7, gpus=2)) == Sample((0.5, 0.5), 2, 7)
    assert sampled(GpuFigures(gpus=1)) == Sample((), 1)
    assert sampled(None) is None


def test_what_was_read_of_gpus_counts_each_and_the_memory_of_slices_once() -> None:
    """A whole GPU's memory holds that of its slices; what one does not tell is not made up."""
    whole = Gpu(0, "GPU-a", used=0.5, memory_used=40, watts=300.0)
    assert sampled(None, [whole, Gpu(1, "GPU-b")]) == Sample((0.5,), 2, 40, 300.0)
    part = Gpu(0, "MIG-a", memory_used=30, parent="GPU-a")
    assert sampled(GpuFigures(1.0), [whole, part]) == Sample((0.5,), 2, 30, 300.0)


def test_a_reading_holds_what_is_known_and_nothing_else() -> None:
    """Rounded, so that a history is small."""
    progress = Progress(1200.0, 8000.0, "items", 81.234567, 79.0, 0.0)
    outputs = {"/o/1": [[0.0, 5.0], [1.0, 7.0]], "/o/2": [[0.0, 1.0]], "/o/3": []}
    losses: dict[str, list[list[float | None]]] = {
        "loss": [[0.0, 1.0, 2.5], [20.0, 2.0, 2.25]],
        "val_loss": [[0.0, 1.0, None]],
    }
    assert measured(progress, workers(5, 6), Sample((0.5, 1.0), 2, 9, 250.04), outputs, losses) == {
        "step": 1200.0,
        "rate": 81.23,
        "rss": 11,
        "gpu_used": 0.75,
        "gpu_memory": 9,
        "watts": 250.0,
        "output_bytes": 8.0,
        "loss": 2.25,
    }
    assert measured(None, (), None, {}, {"loss": [[0.0, 1.0, None]]}) == {}


def test_a_reading_is_kept_when_it_is_due_and_at_the_end() -> None:
    """Every half minute at first, seldom later; a job of which nothing is known costs nothing."""
    one = watched(1)
    assert [reading.body for reading in due_readings([(one, {"step": 1})], 100.0)] == [{"step": 1}]
    assert due_readings([(one, {"step": 2})], 129.0) == ()
    assert len(due_readings([(one, {"step": 3})], 130.0)) == 1
    assert due_readings([(watched(2), {})], 100.0) == ()
    one.memory.age = 7 * 24 * 3600.0
    assert due_readings([(one, {"step": 4})], 1000.0) == ()
    one.known = Known(Ended(Outcome.SUCCEEDED, 0, None, 1.0), 1.0)
    assert len(due_readings([(one, {"step": 4})], 1001.0)) == 1


def test_many_jobs_that_are_due_at_once_are_spread_over_ticks() -> None:
    """Those that have waited longest come first, and each has its turn."""
    jobs = [watched(number) for number in range(3 * MOST_AT_ONCE)]
    seen: list[str] = []
    for at in range(3):
        kept = due_readings([(one, {"step": 1.0}) for one in jobs], 1000.0 + at)
        assert len(kept) == MOST_AT_ONCE
        seen += [reading.ref for reading in kept]
    assert len(set(seen)) == len(jobs)
