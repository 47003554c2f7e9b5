"""Times, sizes and what was used: read as Slurm writes them, or not known."""

from __future__ import annotations

import pytest

from dogwatch.model import Efficiency
from dogwatch.model.time_limit import limit_to_ask
from dogwatch.sources.slurm import accounting, words
from dogwatch.sources.slurm.efficiency import efficiency
from dogwatch.sources.slurm.times import length, minutes, moment, size, spell
from tests.sources.slurm.lines import record, whole


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784),
        ("02:03:04", 7384),
        ("1:00", 60),
        ("00:00.020", 0.02),
        ("2-00", 172800),
        ("UNLIMITED", None),
        ("NOT_SET", None),
        ("INVALID", None),
        ("N/A", None),
        ("Partition_Limit", None),
        ("", None),
        ("5", None),
        ("-1:00", None),
        ("١:٠٠", None),
    ],
)
def test_a_length_of_time_is_read_or_not_known(text: str, seconds: float | None) -> None:
    """Never an error."""
    assert length(text) == seconds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1794776032", 1794776032.0),
        ("2147483648", 2147483648.0),  # past January 2038
        ("253402300799", 253402300799.0),
        ("253402300800", None),  # the year 10000
        ("0", None),
        ("Unknown", None),
        ("None", None),
        ("N/A", None),
        ("2026-11-15T18:05:08", None),  # some zone's local time
        ("9" * 400, None),
        ("", None),
    ],
)
def test_a_moment_is_read_or_not_known(text: str, at: float | None) -> None:
    """A local time of a zone that nobody named is not known either."""
    assert moment(text) == at


@pytest.mark.parametrize(
    ("text", "count"),
    [("3044K", 3044 * 1024), ("6.50G", 6979321856), ("200Mn", 209715200), ("0", 0), ("16?", None), ("", None)],
)
def test_a_size_is_read_or_not_known(text: str, count: int | None) -> None:
    """Old versions write per node and per core behind it."""
    assert size(text) == count


def test_a_time_limit_in_minutes() -> None:
    """The accounting's raw form."""
    assert (minutes("60"), minutes("UNLIMITED"), minutes("Partition_Limit")) == (3600, None, None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (85, "1 min 25 s"), (3600, "1 h"), (5400, "1 h 30 min"), (93784, "1 d 2 h"), (-5, "0 s")],
)
def test_a_length_of_time_in_words(seconds: float, text: str) -> None:
    """Two units are enough."""
    assert spell(seconds) == text


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("1:0", (1, 0)),
        ("0:125", (0, 125)),
        ("35072", (137, 0)),
        ("9", (0, 9)),
        ("0", (0, 0)),
        ("1:", None),
        ("x", None),
    ],
)
def test_an_exit_code_is_a_pair_or_a_raw_wait_status(text: str, pair: tuple[int, int] | None) -> None:
    """squeue printed the raw status until 23.11."""
    found = words.exit_of(text)
    assert (None if found is None else (found.code, found.signal)) == pair


def test_what_was_used_is_told_as_seff_tells_it() -> None:
    """Processors against cores and wall time, memory of the hungriest step, wall time against the limit."""
    step = record(
        "COMPLETED",
        id="12.0",
        TotalCPU="00:30.500",
        TRESUsageInTot="cpu=00:00:30,energy=0,fs/disk=2012,gres/gpumem=2048M,gres/gpuutil=180,mem=150M",
        TRESUsageInAve="cpu=00:00:30,gres/gpumem=1024M,gres/gpuutil=90",
        TRESUsageInMax="cpu=00:00:30,gres/gpumem=1100M,gres/gpuutil=95",
    )
    records = accounting.parse(whole() + step)
    assert records is not None
    assert efficiency(records["12"]) == Efficiency(
        wall_seconds=60.0,
        limit_seconds=3600.0,
        wall_percent=1.67,
        cpu_percent=100.42,
        cpu_seconds=120.5,
        memory_bytes=150 * 1024**2,
        memory_requested_bytes=200 * 1024**2,
        memory_percent=75.0,
        gpu_percent=90.0,
        gpu_memory_bytes=1100 * 1024**2,
        gpus=1,
        gpu_seconds=60.0,
        exceeded=False,
        ask_for_seconds=None,
    )


def test_a_job_that_never_started_used_nothing() -> None:
    """There is no efficiency of it."""
    records = accounting.parse(record("CANCELLED by 0", Start="None", ElapsedRaw=0))
    assert records is not None
    assert efficiency(records["12"]) is None


@pytest.mark.parametrize(("limit", "asked"), [(60, 600), (600, 1200), (3600, 5400), (7 * 3600, 37800)])
def test_the_limit_to_ask_for_is_half_as_much_again(limit: float, asked: float) -> None:
    """Rounded up to ten minutes."""
    assert limit_to_ask(limit, None, None) == asked


def test_a_job_is_not_whole_while_a_step_still_runs() -> None:
    """What its steps used comes late."""
    records = accounting.parse(record() + record("RUNNING", id="12.batch") + record(id="13"))
    assert records is not None
    assert not records["12"][0].whole
    assert not records["13"][0].whole
