"""The error patterns that are on by default: what they take for a report, and what they leave alone."""

from __future__ import annotations

import pytest

from dogwatch.logs.default_errors import DEFAULT_ERRORS, PREFIX
from dogwatch.logs.user import compile_patterns

DEFAULTS = compile_patterns({}, [(PREFIX + name, "warning") for name in DEFAULT_ERRORS], "defaults")

REPORTS = {
    "oom": [
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "ERROR: OOM on rank 3",
        "[WARNING] caught OOM, halving the batch size",
        "ERROR GPU 0 out of memory",
        "java.lang.OutOfMemoryError: Java heap space",
        "2025-01-15 10:23:45 [ERROR] CUDA out of memory",
        "OOM detected, reducing batch size",
    ],
    "connection": [
        "requests.exceptions.ConnectionError: Connection refused",
        "Connection refused by 10.0.0.1:29500, retrying in 5 s",
        "[WARNING] connection timeout, attempt 3",
        "WARNING: request timeout",
        "urllib3.exceptions.ReadTimeoutError: Read timed out. (read timeout=10)",
        "ERROR network error: host unreachable",
        "OSError: [Errno 101] Network is unreachable",
        "TimeoutError: [Errno 110] Connection timed out",
        "curl: (7) Failed to connect: Connection refused",
        "timeout waiting for the data server",
        "connection refused",
        "Connection reset by peer",
    ],
    "data_error": [
        "WARNING: shard-0012.tar is corrupted, skipping",
        "Skipping corrupt image img_0001.jpg",
        "ValueError: invalid data in column 3",
        "parse error at line 120",
        "json parse error: expected ',' at line 3",
        "ERROR data corruption in block 7",
    ],
    "cuda_error": [
        "RuntimeError: CUDA error: device-side assert triggered",
        "CUDA error: an illegal memory access was encountered",
        "CUDA error (700) at kernel.cu:12",
    ],
}
HARMLESS = [
    "timeout=30",
    "  timeout: 30",
    "Namespace(lr=0.1, timeout=30, retries=3)",
    '{"timeout": 30, "on_oom": "retry"}',
    "config.connect_timeout = 10.0",
    "Using a timeout of 30 s",
    "Setting read timeout to 60",
    "NCCL timeout set to 1800 s",
    "python train.py --timeout 30 --skip-corrupt",
    "0 errors",
    "finished with 0 connection errors, 0 timeouts",
    "connection errors: 0, timeouts: 0",
    "OOM score: 12",
    "oom_score_adj = 0",
    "no OOM so far",
    "OOM events: 0",
    "parse error rate: 0",
    "parse error rate: 0.02",
    "parse errors: 0",
    "corrupted: 0",
    "corrupted=0 skipped=0",
    "checking for corrupt files",
    "skip_corrupt=True",
    "0 corrupt records found",
    "found no corrupted samples",
    "no CUDA error",
    "CUDA errors: 0",
    "to avoid out of memory, lower the batch size",
    "You may run out of memory with this batch size",
    "gradient checkpointing enabled to avoid OOM",
    "Processed 100/1000 items (timeout 30s per item)",
    "Connection to 10.0.0.1 established",
    "network: resnet50",
    "epoch 3 loss 0.1",
    "oom_kill 0",
    '    raise RuntimeError("CUDA error: device-side assert triggered")',
]


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in REPORTS.items() for line in lines])
def test_a_line_that_reports_is_taken(name: str, line: str) -> None:
    """By the pattern that it belongs to, or one beside it."""
    (found,) = DEFAULTS.troubles(line.encode())
    assert found.level == "warning"
    assert found.pattern == PREFIX + name


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_that_only_has_the_words_is_left_alone(line: str) -> None:
    """A printed configuration, a count of none, a rate and advice report nothing."""
    assert DEFAULTS.troubles(line.encode()) == []


def test_the_owners_pattern_comes_first() -> None:
    """It has the level that the owner gave it."""
    both = compile_patterns({}, [(PREFIX + "oom", "warning"), ("(?i)cuda out", "critical")], "f")
    (found,) = both.troubles(b"CUDA out of memory")
    assert (found.level, found.pattern, found.words) == ("critical", "(?i)cuda out", "CUDA out")
