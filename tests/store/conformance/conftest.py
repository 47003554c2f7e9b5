"""A store of each kind, and processes beside it that are killed when the test is over."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dogwatch.store.interface import Store
from tests.store.conformance.stores import KINDS, fresh, opened
from tests.store.sample import ROOT

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(params=KINDS)
def name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What another process opens the same store by."""
    return fresh(request.param, tmp_path)


@pytest.fixture
def store(name: str) -> Iterator[Store]:
    with opened(name) as made:
        yield made
        assert made.check() == []


@pytest.fixture
def start(name: str) -> Iterator[Start]:
    """Starts one of the programs on the same store, with pipes to talk to it."""
    begun: list[subprocess.Popen[str]] = []

    def run(program: str, *words: object) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "tests.store.conformance.programs", program, name, *map(str, words)]
        begun.append(subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return begun[-1]

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def heard(process: subprocess.Popen[str]) -> str:
    """The next line that a program says."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def told(process: subprocess.Popen[str]) -> None:
    """Let a program go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
