"""The judge: the program as it travels, run here."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dogwatch.remote import extra_probe

Judge = Callable[[Path], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def judge_all() -> Judge:
    names: dict[str, Any] = {"__name__": "extra_probe"}
    exec(zlib.decompress(base64.b64decode(extra_probe("integrity"))), names)  # noqa: S102

    def judge(path: Path) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = names["extra_probe"]({"paths": [str(path)], "seconds": 5.0, "bytes": 1 << 40})[
            "files"
        ]
        return rows

    return judge


@pytest.fixture(scope="session")
def judge(judge_all: Judge) -> Callable[[Path], dict[str, Any]]:
    def judge(path: Path) -> dict[str, Any]:
        (row,) = judge_all(path)
        return row

    return judge
