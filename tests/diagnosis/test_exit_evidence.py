"""What is known beside the logs: exit codes, the scheduler's word, who cancelled, what was measured at the end."""

from __future__ import annotations

import pytest

from dogwatch.diagnosis import OutsideEvidence
from tests.diagnosis.failing_logs import STEPS, TRACEBACK, why


@pytest.mark.parametrize(
    ("known", "cause"),
    [
        ({"state": "TIMEOUT"}, "time_limit"),
        ({"state": "CANCELLED by 1000"}, "cancelled"),
        ({"state": "OUT_OF_MEMORY", "exit_code": 0, "signal": 125}, "host_oom"),
        ({"state": "NODE_FAIL"}, "node_failure"),
        ({"state": "PREEMPTED"}, "preempted"),
        ({"exit_code": 139}, "segfault"),
        ({"signal": 6}, "aborted"),
        ({"exit_code": 137}, "killed"),
        ({"exit_code": 137, "oom_kills": 1}, "host_oom"),
        ({"signal": 2}, "interrupted"),
        ({"exit_code": 127}, "launch_failed"),
        ({"state": "CANCELLED by 0"}, "cancelled"),
        ({"state": "CANCELLED+"}, "cancelled"),
        ({"state": "canceled"}, "cancelled"),
        ({"state": "DEADLINE"}, "time_limit"),
        ({"state": "BOOT_FAIL"}, "node_failure"),
        ({"state": "REVOKED"}, "cancelled"),
        ({"state": "SPECIAL_EXIT"}, "unknown"),
        ({"state": "FAILED"}, "unknown"),
        ({"state": "CA"}, "cancelled"),
        ({"state": "TO"}, "time_limit"),
        ({"state": "OOM"}, "host_oom"),
        ({"state": "NF"}, "node_failure"),
        ({"state": "PR"}, "preempted"),
        ({"state": "TERM_RUNLIMIT"}, "time_limit"),
        ({"state": "TERM_MEMLIMIT"}, "host_oom"),
        ({"state": "KILLED"}, "killed"),
        ({"signal": 24}, "time_limit"),
        ({"signal": 10}, "unknown"),
        ({"reason": "DependencyNeverSatisfied"}, "dependency_failed"),
        ({"stalled": True}, "stalled"),
        ({"exit_code": 1}, "unknown"),
    ],
)
def test_what_is_known_without_a_log_is_evidence(known, cause):
    """The scheduler's word, exit code, signal and memory kills speak where the log is silent."""
    assert why(STEPS, **known).cause == cause


@pytest.mark.parametrize("state", ["COMPLETED", "CD", "RUNNING", "R", "PENDING", "REQUEUED", "CG"])
def test_a_word_of_success_or_of_life_is_no_cause(state):
    """Nor is a word that Slurm shortens."""
    assert why(STEPS, state=state) is None


def test_whoever_cancelled_a_job_is_quoted():
    """Slurm says who: nobody has to look it up."""
    assert why(STEPS, state="CANCELLED by 1000").evidence[0].text == "scheduler state CANCELLED by 1000"
    assert why(STEPS, state="TO").evidence[0].text == "scheduler state TIMEOUT"


def test_a_line_that_only_says_cancelled_gives_way_to_the_word_that_says_why():
    """Slurm cancels what is over its time or memory, and its line does not always add the reason."""
    line = STEPS + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***\n"
    assert why(line, state="TIMEOUT").cause == "time_limit"
    assert why(line, state="OUT_OF_MEMORY").cause == "host_oom"
    assert why(line, state="PREEMPTED").cause == "preempted"
    assert why(line, state="FAILED").cause == "cancelled"


def test_a_job_that_had_hung_before_it_was_cancelled_hung():
    """A collective that waited half an hour was not interrupted by whoever cancelled the job after it."""
    hung = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL ran for 1800055 milliseconds\n"
    for state in ("CANCELLED by 1000", "TIMEOUT"):
        assert why(STEPS + hung, state=state).cause == "nccl_timeout"
    assert why(STEPS + hung, state="NODE_FAIL").cause == "node_failure"


def test_an_inode_shortage_is_told_from_a_full_disk_by_what_was_measured():
    """The same words come from a full disk and from a disk without inodes; the count decides."""
    text = STEPS + TRACEBACK + "OSError: [Errno 28] No space left on device: 'out/9.npy'\n"
    assert why(text).cause == "disk_full"
    assert why(text, free_inodes=0, free_bytes=10**12).cause == "inodes_full"


FULL = OutsideEvidence("disk_full", "the disk of /scratch had 0.0 MB left at its end")
XID = OutsideEvidence("gpu_hardware", "the driver reported Xid 79 of GPU 3 while it ran")


@pytest.mark.parametrize(
    ("text", "witness", "cause"),
    [
        ("step 1 loss 2\n", FULL, "disk_full"),
        (STEPS + TRACEBACK + "RuntimeError: write failed\n", FULL, "disk_full"),
        (STEPS + "Aborted (core dumped)\n", FULL, "disk_full"),
        (STEPS + TRACEBACK + "KeyError: 'x'\n", FULL, "code_error"),
        (STEPS + TRACEBACK + "KeyboardInterrupt\n", FULL, "interrupted"),
        (STEPS + TRACEBACK + "RuntimeError: CUDA error: unspecified launch failure\n", XID, "gpu_hardware"),
        (STEPS + "[rank1]: NCCL error in: x.cpp:9, unhandled cuda error\n", XID, "gpu_hardware"),
        (STEPS + TRACEBACK + "KeyError: 'x'\n", XID, "code_error"),
        (STEPS + TRACEBACK + "KeyboardInterrupt\n", XID, "interrupted"),
    ],
)
def test_what_was_measured_at_the_end_explains_what_the_logs_leave_open(text, witness, cause):
    """A full disk behind a vague error, a broken board behind a kernel's; neither behind a plain error."""
    found = why(text, exit_code=1, evidence=(witness,))
    assert found.cause == cause
    assert any(quote.text == witness.says for quote in found.evidence) is (cause == witness.cause)


def test_a_witness_of_what_the_log_says_is_quoted_beside_it():
    """And makes the answer surer."""
    log = STEPS + TRACEBACK + "OSError: [Errno 28] No space left on device\n"
    found = why(log, exit_code=1, evidence=(FULL,))
    assert [quote.text for quote in found.evidence] == ["OSError: [Errno 28] No space left on device", FULL.says]
    assert found.confidence >= why(log, exit_code=1).confidence
