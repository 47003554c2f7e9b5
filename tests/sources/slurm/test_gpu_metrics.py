"""gpu_metrics.csv as nvidia-smi writes it, and as it is found half-way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.model import GpuFigures, GpuSummary
from dogwatch.sources.interface import RareAnswers, RarelyAsked
from dogwatch.sources.slurm import source
from dogwatch.sources.slurm.gpu_metrics import add, newest
from dogwatch.wire.commands import CommandsSection
from dogwatch.wire.sections import GpuMetrics
from tests.sources.slurm.lines import REF, job

HEADER = "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]"


def test_the_newest_tick_of_several_gpus_is_their_mean_use_and_summed_memory() -> None:
    """An older tick of the same GPUs does not count."""
    text = (
        "2026/11/15 20:00:00.000, 0, 10 %, 100 MiB, 1000 MiB\n2026/11/15 20:00:00.000, 1, 10 %, 100 MiB, 1000 MiB\n"
        "2026/11/15 20:00:10.000, 0, 90 %, 300 MiB, 1000 MiB\n2026/11/15 20:00:10.000, 1, 70 %, 500 MiB, 1000 MiB\n"
    )
    assert newest(HEADER, text) == GpuFigures(80.0, 800 << 20, 2000 << 20, 2)


def test_columns_are_found_by_their_header_whatever_their_order() -> None:
    """And a file without a column for the GPU has one line a tick."""
    assert newest("memory.used [GiB], utilization.gpu [%]", "3 GiB, 50 %\n4 GiB, 60 %\n") == GpuFigures(
        60.0, 4 << 30, None, 1
    )


def test_what_is_not_available_or_not_whole_counts_for_nothing() -> None:
    """MIG prints [N/A]; the last line may still be being written."""
    text = "t, 0, [N/A], 300 MiB, 1000 MiB\nt, 0, 9"
    found = newest(HEADER, text)
    assert found is not None
    assert (found.gpu_percent, found.gpu_memory_used_bytes) == (None, 300 << 20)
    assert newest(HEADER, "t, 0, [N/A], [N/A], [N/A]\n") is None
    assert newest("something, else", "1, 2\n") is None


def test_a_missing_file_is_silence() -> None:
    """The probe says null, or why it could not be read."""
    for row in (None, GpuMetrics(why="Permission denied")):
        assert source.also_read(RareAnswers(CommandsSection(ok=True), {REF: row}), RarelyAsked([job()])) == {}


@given(st.text(), st.text())
def test_no_file_makes_it_fall(header: str, text: str) -> None:
    """Whatever stands in it."""
    newest(header, text)


def test_what_looks_saw_is_kept_as_mean_use_and_most_memory() -> None:
    """For the figures at the end of a job, where the accounting has none; a poll without a figure changes nothing."""
    looks = [(40.0, 5), (None, 9), (60.0, 7)]
    seen = None
    for use, memory in looks:
        seen = add(seen, GpuFigures(use, memory))
    assert seen == GpuSummary(2, 50.0, 9)
    assert add(None, GpuFigures()).gpu_percent is None
