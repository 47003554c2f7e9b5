"""Why a job waits, in plain words, and whether it can ever start."""

from __future__ import annotations

import pytest

from dogwatch.model import Waiting
from dogwatch.sources.slurm.reasons import Chance, meaning
from tests.sources.slurm.lines import SUBMIT, Watcher, row

# Every reason that Slurm 26.05 can give; what is not in a table has to be put together from its parts.
LIMITS = """
QOSGrpCpuLimit QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpJobsLimit QOSGrpMemLimit QOSGrpNodeLimit
QOSGrpSubmitJobsLimit QOSGrpWallLimit QOSMaxCpuPerJobLimit QOSMaxCpuMinutesPerJobLimit QOSMaxNodePerJobLimit
QOSMaxWallDurationPerJobLimit QOSMaxCpuPerUserLimit QOSMaxJobsPerUserLimit QOSMaxNodePerUserLimit
QOSMaxSubmitJobPerUserLimit QOSMinCpuNotSatisfied AssocGrpCpuLimit AssocMaxJobsLimit AssocMaxCpuPerJobLimit
AssocMaxWallDurationPerJobLimit AssocMaxSubmitJobLimit AssocGrpUnknownRunMinutes AssocMaxUnknownPerNode
AssocMaxMemMinutesPerJob AssocGrpEnergy AssocGrpGRESMinutes AssocMaxGRESPerJob AssocGrpLicense AssocMaxBBPerNode
QOSMaxCpuPerNode QOSGrpMemoryMinutes QOSMaxMemoryPerUser QOSMinMemory QOSMaxGRESPerUser QOSMinGRES QOSMinNode
MaxGRESPerAccount MaxJobsPerAccount MaxSubmitJobsPerAccount MaxCpuRunMinsPerAccount MaxGRESRunMinsPerUser
QOSGrpBillingMinutes QOSMaxBillingPerUser
"""


@pytest.mark.parametrize(
    ("reason", "words", "chance"),
    [
        ("Priority", "other jobs have a higher priority", Chance.WAITS),
        ("(Resources)", "as soon as the resources it asks for are free", Chance.WAITS),
        ("ReqNodeNotAvail, UnavailableNodes:gpu05", "not available: UnavailableNodes:gpu05", Chance.WAITS),
        ("JobHeldUser", "held by its owner", Chance.HELD),
        ("JobHeldAdmin", "an administrator releases it", Chance.HELD),
        ("job requeued in held state", "put back in the queue and held", Chance.HELD),
        ("launch failed requeued held", "its launch failed", Chance.HELD),
        ("DependencyNeverSatisfied", "blocks this one forever", Chance.NEVER),
        ("PartitionTimeLimit", "more time than its partition allows", Chance.NEVER),
        ("PartitionNodeLimit", "more nodes than its partition allows", Chance.NEVER),
        ("BadConstraints", "no node has what it asks for", Chance.NEVER),
        ("QOSMaxWallDurationPerJobLimit", "more run time than its QOS allows for one job", Chance.NEVER),
        ("QOSMaxGRESPerJob", "more GPUs or other devices than its QOS allows for one job", Chance.NEVER),
        ("QOSMinGRES", "less GPUs or other devices than its QOS demands", Chance.NEVER),
        ("QOSMaxJobsPerUserLimit", "its owner already has as many jobs as its QOS allows at once", Chance.WAITS),
        ("QOSMaxGRESPerUser", "its owner already has as many GPUs", Chance.WAITS),
        ("AssocGrpCPUMinutesLimit", "its account has used up its budget of CPUs time", Chance.WAITS),
        ("MaxGRESPerAccount", "its account already has as many GPUs", Chance.WAITS),
        ("SomethingNew", "SomethingNew", Chance.WAITS),
        ("", "no reason", Chance.WAITS),
    ],
)
def test_a_reason_is_told_in_plain_words_with_its_chance(reason: str, words: str, chance: Chance) -> None:
    """A reason nobody knows is kept as it is, and is not said to be hopeless."""
    found = meaning(reason)
    assert words in found.words
    assert found.chance is chance


@pytest.mark.parametrize("reason", LIMITS.split())
def test_every_limit_is_put_into_words(reason: str) -> None:
    """The many limits share their parts, so that none is shown as a bare name."""
    assert reason not in meaning(reason).words


def test_a_job_that_can_never_start_says_so() -> None:
    """The rule that makes a finding of it needs one sentence."""
    watcher = Watcher()
    known = watcher.look(
        row("PENDING", Reason="DependencyNeverSatisfied", Dependency="afterok:27(failed)", StartTime="N/A", NodeList="")
    )
    words = "the job it depends on ended in a way that blocks this one forever"
    assert known.state == Waiting(f"{words} (afterok:27(failed))")
    assert watcher.facts.never_starts == words
    assert watcher.facts.expected_start is None


def test_a_held_job_says_so() -> None:
    """It is not hopeless; somebody has to act."""
    watcher = Watcher()
    watcher.look(row("PENDING", Reason="JobHeldUser", StartTime="N/A"))
    assert not watcher.facts.never_starts
    assert "held by its owner" in watcher.facts.held


def test_when_it_will_start_and_must_end_is_told_as_far_as_slurm_knows() -> None:
    """The expected start of what waits, the time limit of what runs."""
    watcher = Watcher()
    watcher.look(row("PENDING", Reason="Resources", StartTime=SUBMIT + 900, EndTime=SUBMIT + 4500))
    assert (watcher.facts.expected_start, watcher.facts.time_limit_at) == (SUBMIT + 900, None)
    watcher.look(row("RUNNING"))
    assert (watcher.facts.expected_start, watcher.facts.time_limit_at) == (None, SUBMIT + 3610)
    assert (watcher.facts.limit_seconds, watcher.facts.nodes) == (3600, "gpu01")
