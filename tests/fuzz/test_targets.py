"""Every fuzz target over its seeds and over every input that ever broke it; `make fuzz` looks for new ones."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.fuzz import FOLDER, NAMES, kept, load
from tests.fuzz.__main__ import run
from tests.fuzz.one import mutated

MUTANTS = 40


@pytest.mark.parametrize("name", NAMES)
def test_a_target_holds_for_its_seeds_and_for_what_broke_it_once(name: str) -> None:
    """What its docstring says, for the seeds, for some mutants that are the same each time, and for kept crashes."""
    module, chance = load(name), Random(name)
    assert module.target.__doc__
    seeds = module.seeds()
    for seed in seeds:
        module.target(seed)
    for _ in range(MUTANTS):
        module.target(mutated(chance.choice(seeds), chance))
    for path in kept(name):
        module.target(path.read_bytes())


def test_every_kept_crash_belongs_to_a_target() -> None:
    """A folder of another name would never be tried."""
    assert {path.name for path in (FOLDER / "crashes").glob("*/")} <= set(NAMES)


def test_a_search_begins_with_the_seeds_and_counts_what_it_tried(tmp_path: Path) -> None:
    """A second of it: no crash, some executions, and the inputs in the folder that was named."""
    ran = run("charset", 1, tmp_path)
    assert (ran.code, ran.crash) == (0, None), ran.output
    assert ran.executions > 0
    assert {path.read_bytes() for path in (tmp_path / "charset").iterdir()} >= set(load("charset").seeds())
