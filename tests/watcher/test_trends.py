"""What a poll adds to the trends of a job: the memory it holds, the loss its log prints."""

from __future__ import annotations

from dogwatch.model import Worker
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.memory_use import held
from dogwatch.watcher.job.read_files import News, Readers, read_logs
from dogwatch.watcher.job.state.loss import watch_loss
from dogwatch.watcher.job.state.ram import RamState
from dogwatch.wire.sections import LogFile, Logs

GB = 10**9


def worker(used: float, limit: int = 64 * GB, shared: bool = False, own: float = 0.0) -> Worker:
    return Worker(
        0, "running", 7, memory_bytes=int(own), memory_used=int(used), memory_limit=limit, memory_shared=shared
    )


def test_a_leak_is_seen_over_looks_and_survives_a_restart():
    """The memory is written as JSON and read again half-way."""
    memory, found = Memory(), None
    for look in range(40):
        found = held(memory.ram, [worker((10 + look) * GB)], 120.0 * look)
        if look == 20:
            memory = Memory.from_json(memory.to_json())
    assert found is not None
    assert found.full_in is not None
    assert 1200 < found.full_in < 2400


def test_on_a_machine_without_limits_only_who_rises_is_told_of():
    """A neighbour that fills the machine is not this job's leak."""
    mine, other = RamState(), RamState()
    for look in range(40):
        grown = (10 + look) * GB
        risen = held(mine, [worker(grown, shared=True, own=grown / 2)], 120.0 * look)
        still = held(other, [worker(grown, shared=True, own=GB)], 120.0 * look)
    assert risen is not None
    assert risen.full_in is not None
    assert still is not None
    assert still.full_in is None


def test_a_place_that_says_nothing_of_memory_leaves_it_open():
    """No limit is known for a worker that was not seen."""
    assert held(RamState(), [Worker(0, "hidden")], 1.0) is None


def test_a_loss_that_turns_into_nan_is_read_from_the_log():
    """From the bytes of the log to what is wrong with it."""
    memory, readers, found = Memory(), Readers(None), None
    offset = 0
    for look in range(12):
        text = f"step {look + 1}/100 | loss: {'nan' if look > 8 else 3 - look / 10} | lr 1e-4\n"
        news = News()
        log = LogFile(1, 1, 1, 1, offset + len(text), 1.0, offset, text, None, 0)
        read_logs(memory, readers, Logs({"/l": log}), news)
        offset += len(text)
        told, judged = watch_loss(memory.loss, news.metrics, news.broken, None, 60.0 * look)
        found = judged if told else found
    assert found is not None
    assert (found.name, found.broken) == ("loss", True)
