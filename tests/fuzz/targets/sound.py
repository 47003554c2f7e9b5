"""Whether files are whole: each format that can be judged, by the program that travels to where they lie."""

from __future__ import annotations

import os

from dogwatch.remote.integrity.body import Budget
from dogwatch.remote.integrity.tree import BY_NAME, TORCH_NAMES, check_file
from tests.fuzz.dice import Dice
from tests.integrity.samples import MAKERS

LONGEST = 1 << 15
ENDINGS = [*(row[0] for row in BY_NAME), *TORCH_NAMES, ".pkl", ""]
FOLDER = f"/dev/shm/dogwatch-fuzz-{os.getpid()}"


def target(data: bytes) -> None:
    """Every file gets one of three verdicts in bounded words, within its budget; nothing is raised and nothing runs."""
    dice = Dice(data)
    path = FOLDER + dice.pick(ENDINGS)
    with open(path, "wb") as file:
        file.write(dice.rest())
    try:
        row = check_file(path, Budget(5.0, 1 << 26))
    finally:
        os.unlink(path)
    assert row["verdict"] in ("intact", "damaged", "cannot tell")
    assert len(row["why"]) < 1000
    assert row["records"] is None or row["records"] >= 0


def seeds() -> list[bytes]:
    found = []
    for name, (make, _, _) in MAKERS.items():
        ending = next(ending for ending in (*ENDINGS, "") if name.endswith(ending))
        found.append(bytes([ENDINGS.index(ending)]) + make())
    return [one for one in found if len(one) <= LONGEST]
