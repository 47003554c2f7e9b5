"""The conformance checks pass for what we ship, and catch what breaks a promise."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from dogwatch.channels.terminal import Terminal
from dogwatch.logs.formats import hf_trainer, tqdm
from dogwatch.model import Ended, Job, Observation, Outcome
from dogwatch.sources.process import ProcessSource, source
from dogwatch.sources.slurm import source as slurm
from dogwatch.testing import check_channel, check_log_format, check_source
from tests.sources.slurm.lines import ran
from tests.sources.test_process import process

JOB = Job("here/process:1", "here", "process", "1", "one", track={"workers": [[1, 2, "boot"]]})
GONE = {"ok": True, "runs": {}, "pids": {JOB.ref: [process("gone", pid=1)]}, "find": {}}


def test_the_sources_that_we_ship_conform() -> None:
    """Both kinds, with an answer and with an empty one."""
    check_source(source, [JOB], [GONE])
    check_source(
        slurm,
        [replace(JOB, ref="hpc/slurm:7", id="7", source="slurm", track={})],
        [{"ok": True}, {"ok": True, "ran": {"slurm.queue": ran(rc=1)}}],
    )


def test_a_source_that_reads_silence_as_success_is_caught() -> None:
    """The one bug that this field shares."""

    class Hopeful(ProcessSource):
        def read(self, answer: Any, jobs: Any, known: Any, at: float) -> Any:
            seen = {job.ref: Observation(job.ref, "1", Ended(Outcome.SUCCEEDED)) for job in jobs}
            return frozenset(seen), seen

    with pytest.raises(AssertionError, match="without any evidence"):
        check_source(Hopeful(), [JOB], [GONE])


def test_log_formats_conform_and_a_format_that_misses_its_own_lines_is_caught() -> None:
    """An example without a needle would never be read in a real log."""
    check_log_format(tqdm.PLUGIN, [" 37%|###7      | 37/100 [00:10<00:17,  3.61it/s]"])
    check_log_format(hf_trainer.PLUGIN, ["{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 1.2}"])
    with pytest.raises(AssertionError, match="no needle"):
        check_log_format(tqdm.PLUGIN, ["nothing to see here"])


def test_the_terminal_conforms_also_when_it_is_gone() -> None:
    """It says so in its receipt."""
    stream = io.StringIO()
    check_channel(Terminal(stream))
    stream.close()
    check_channel(Terminal(stream))
