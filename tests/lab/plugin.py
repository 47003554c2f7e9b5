"""The laboratory as pytest fixtures; a conftest.py takes them with `from tests.lab.plugin import calm_lab, lab`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.lab.ground import LabError, why_not
from tests.lab.lab import Lab
from tests.lab.lease import SESSION, only_one

# Several folders may import the fixtures, and pytest takes each for another one: they share what is here.
_open: list[Lab] = []


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The running laboratory, or one that lives as long as this test session; for one session at a time."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    if _open:
        yield _open[0]
        return
    silence_limit = float(os.environ.get("LAB_WAIT", "200"))
    busy = f"another test session has used the laboratory for more than {silence_limit:g} s (LAB_WAIT)"
    try:
        with only_one(SESSION, silence_limit, busy):
            yield from _session()
    except LabError as error:
        pytest.fail(str(error))


def _session() -> Iterator[Lab]:
    lab = Lab.start()
    _open.append(lab)
    try:
        lab.heal()
        yield lab
    finally:
        _open.clear()
        lab.leave()


@pytest.fixture
def calm_lab(lab: Lab) -> Lab:
    """The laboratory without a fault, a job or a delay of the test before."""
    lab.heal()
    return lab
