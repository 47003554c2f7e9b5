"""What was measured where a job ended: full disks, used-up quotas, GPUs that the driver complained of."""

from __future__ import annotations

import pytest

from dogwatch.model import Ended, Gpu, Known, Outcome
from dogwatch.rules.interface import Disk, Quota
from dogwatch.watcher.job.ending_evidence import ending_evidence
from dogwatch.watcher.job.log_evidence import LogEvidence

TB = 10**12


@pytest.mark.parametrize(
    ("disk", "gpu", "causes"),
    [
        (Disk("/d", TB // 2, TB, 9, 9), Gpu(0), []),
        (Disk("/d", 0, TB, 9, 9), Gpu(0), ["disk_full"]),
        (Disk("/d", TB // 2, TB, 0, 9), Gpu(0), ["inodes_full"]),
        (Disk("/d", TB // 2, TB, 0, 0), Gpu(0), []),
        (Disk("/d", TB // 2, TB, 9, 9, Quota("user", 0, 10**9, 0, 0)), Gpu(0), ["disk_quota"]),
        (Disk("/d", TB // 2, TB, 9, 9, Quota("user", 10**8, 10**9, 0, 0)), Gpu(0), []),
        (Disk("/d", TB // 2, TB, 9, 9), Gpu(0, xid=(31, 79)), ["gpu_hardware"]),
        (Disk("/d", TB // 2, TB, 9, 9), Gpu(0, xid=(31,)), []),
        (Disk("/d", TB // 2, TB, 9, 9), Gpu(0, trouble="it is lost"), ["gpu_hardware"]),
    ],
)
def test_what_speaks_for_a_cause(disk, gpu, causes):
    """Nothing that is in order speaks for any."""
    assert [one.cause for one in ending_evidence({"/d": disk}, [gpu])] == causes


def test_a_job_that_ended_without_a_word_on_a_full_disk_is_told_with_the_disk():
    """From the poll to the document."""
    ended = Known(state=Ended(Outcome.FAILED, 1, None, 5.0))
    found = LogEvidence().diagnosis(ended, {"/d": Disk("/d", 0, TB, 9, 9)}, (Gpu(0),))
    assert found is not None
    assert found["cause"] == "disk_full"
    assert found["evidence"] == [{"file": "", "line": None, "text": "the disk of /d had 0.0 MB left at its end"}]
