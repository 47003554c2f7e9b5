"""What the GPUs of a job say in its silence, beside the power that they draw when it moves."""

from __future__ import annotations

import json

from dogwatch.estimate.stall import Gpu as StallEvidence
from dogwatch.estimate.stall import power_share, waits
from dogwatch.model import Gpu, GpuProcess
from dogwatch.watcher.job.gpu_evidence import NEWEST, hear_gpus
from dogwatch.watcher.job.memory import Memory


def card(index: int, used: float, watts: float | None) -> Gpu:
    return Gpu(index, uuid=f"GPU-{index}", used=used, watts=watts)


def look(memory: Memory, mono: float, silent: float, *gpus: Gpu) -> StallEvidence | None:
    """One look at which the GPUs were read, after so much silence."""
    memory.gpu.mono = mono
    memory.silence.clock("signs").seconds = silent
    return hear_gpus(memory, gpus, mono)


def trained() -> Memory:
    """Two GPUs that draw 400 W while the job moves."""
    memory = Memory()
    for turn in range(10):
        assert look(memory, 30.0 * turn, 0.0, card(0, 0.98, 400.0), card(1, 0.97, 400.0)) is None
    return memory


def test_gpus_that_work_in_silence_are_known_by_their_power() -> None:
    """At once: one reading of work is enough."""
    found = look(trained(), 360.0, 60.0, card(0, 0.9, 390.0), card(1, 1.0, 110.0))
    assert found is not None
    assert (power_share(found) or 0.0) > 0.9
    assert not waits(found)


def test_a_hung_collective_is_believed_after_several_readings() -> None:
    """All of them full and far below their power, every time."""
    memory = trained()
    found = [look(memory, 330.0 + 30 * i, 30.0 + 30 * i, card(0, 1, 105), card(1, 1, 110)) for i in range(NEWEST)]
    assert [one is not None and waits(one) for one in found] == [False] * (NEWEST - 1) + [True]


def test_work_in_between_ends_what_looked_hung() -> None:
    """The newest readings count together."""
    memory = trained()
    for i in range(NEWEST):
        look(memory, 330.0 + 30 * i, 30.0 + 30 * i, card(0, 1, 105), card(1, 1, 110))
    found = look(memory, 450.0, 150.0, card(0, 1, 380), card(1, 1, 390))
    assert found is not None
    assert not waits(found)


def test_what_was_read_before_it_fell_silent_says_nothing() -> None:
    """It was at work then."""
    memory = trained()
    memory.silence.clock("signs").seconds = 100.0
    assert hear_gpus(memory, [card(0, 0.98, 400.0)], 375.0) is None


def test_a_reading_that_is_old_says_nothing_of_now() -> None:
    """Minutes later the job may do something else."""
    memory = trained()
    assert look(memory, 400.0, 100.0, card(0, 1, 105)) is not None
    memory.silence.clock("signs").seconds = 500.0
    assert hear_gpus(memory, [card(0, 1.0, 105.0)], 800.0) is None


def test_a_gpu_that_is_shared_or_cut_or_tells_no_power_is_no_witness_of_power() -> None:
    """Another's work would excuse a job that hangs."""
    other = GpuProcess(7, "ann", 8 << 30, "python3", ours=False)
    shared = Gpu(0, uuid="GPU-0", used=1.0, watts=400.0, processes=(other,))
    assert look(trained(), 360.0, 60.0, shared) is None
    found = look(trained(), 360.0, 60.0, card(0, 1.0, None), card(1, 1.0, 110.0))
    assert found is not None
    assert found.percent == 100.0
    assert power_share(found) is None


def test_what_was_learnt_survives_another_watcher() -> None:
    """The usual power is in the memory's JSON."""
    memory = Memory.from_json(json.loads(json.dumps(trained().to_json())))
    found = look(memory, 360.0, 60.0, card(0, 1.0, 100.0), card(1, 1.0, 110.0))
    assert found is not None
    assert found.usual_watts == 800.0
