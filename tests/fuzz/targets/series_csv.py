"""The CSV file of a run's steps that `dogwatch eta` reads."""

from __future__ import annotations

import math
import os
import tempfile

from dogwatch.api.eta import series
from dogwatch.errors import DogwatchError
from tests.fuzz.dice import refused_well

LONGEST = 4096


def target(data: bytes) -> None:
    """It is rows of finite numbers, or it is refused with one clean sentence."""
    with tempfile.NamedTemporaryFile() as file:
        os.write(file.fileno(), data)
        try:
            rows = series(file.name)
        except DogwatchError as wrong:
            refused_well(wrong)
            return
    assert all(math.isfinite(cell) for row in rows for cell in row if cell is not None)


def seeds() -> list[bytes]:
    head = b"unix_seconds,step,total\n"
    return [head + b"0,0,100\n1,5,100\n2.5,9,100\n", head + b"1e308,1,\n1e309,2,nan\n", head + b'"0","1\n', b"", head]
