"""A job's YAML file."""

from __future__ import annotations

import os

from dogwatch.config import load_job_file
from dogwatch.errors import UsageError
from tests.fuzz.dice import refused_well

LONGEST = 4096
PATH = f"/dev/shm/dogwatch-fuzz-{os.getpid()}.yaml"


def target(data: bytes) -> None:
    """It is a job, or it is refused with one clean sentence that names the file."""
    with open(PATH, "wb") as file:
        file.write(data)
    try:
        load_job_file(PATH)
    except UsageError as wrong:
        refused_well(wrong, PATH)
    finally:
        os.unlink(PATH)


def seeds() -> list[bytes]:
    return [
        b"job:\n  name: train\n  workers: 4\n  output: out/*.jsonl\n",
        b"monitoring:\n  progress_patterns:\n    step: 'step (\\d+)/(\\d+)'\n  stall_timeout: 30m\n",
        b"errors:\n  patterns: [OOM, {pattern: 'NaN', severity: critical}]\n",
        b"alerts:\n  email: {to: a@b.c, smtp_server: x}\n",
        b"launch: {timeout: 2h, gpus: [0, 1]}\npreflight:\n  disk: 10GB\n",
        b"a: &x [1]\nb: *x\n",
        b"? [1, 2]\n: 3\n--- !!python/object:x\n",
        b'"quoted\\n key": |\n  block\n  text\nno: .5e3\n',
    ]
