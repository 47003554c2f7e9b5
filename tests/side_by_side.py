"""Tests side by side (`pytest -n 3 -p tests.side_by_side`): which of them stay together, and which come first."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling

# The one laboratory serves one process. It waits more than it works and takes longest, so it comes first.
# Journeys that need it are called test_slurm_*.
LABORATORY = (
    *("tests/lab/", "tests/slurm/", "tests/slurm_link/", "tests/transport/", "tests/api/test_on_the_cluster.py"),
    "tests/journeys/test_slurm_",
)

# Of the rest, those that take longest: begun last, one of them would run alone at the end.
LONG = tuple(f"tests/journeys/test_{name}.py" for name in ("stall_and_slow", "common_issues_slow", "no_false_eta"))


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """The tests of a file run in one process, and all that use the laboratory do."""

    def _split_scope(self, nodeid: str) -> str:
        return "laboratory" if nodeid.startswith(LABORATORY) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (not item.nodeid.startswith(LABORATORY), not item.nodeid.startswith(LONG)))
