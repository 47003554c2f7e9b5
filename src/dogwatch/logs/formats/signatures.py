"""Lines by which a program is known although others print its progress: axolotl trains with the HF Trainer."""

from __future__ import annotations

from functools import partial

from dogwatch.logs.interface import SUITE, TRAINER, Format, FormatPlugin
from dogwatch.model import LogEvent, Origin

# program, literals of its own lines, how much it outweighs
SIGNATURES = (
    ("axolotl", (b"[axolotl.",), SUITE),
    ("llamafactory", (b"llamafactory.",), SUITE),
    ("lm_eval", (b"likelihood requests", b"generate_until requests"), SUITE),
    ("lightning", (b"pytorch_lightning", b"lightning.pytorch", b"lightning/pytorch"), TRAINER),
    ("lightning", (b"`trainer",), TRAINER),
)


def _read(program: str, needles: tuple[str, ...], line: str) -> list[LogEvent]:
    low = line.lower()
    return [Origin(program)] if any(needle in low for needle in needles) else []


def _row(program: str, needles: tuple[bytes, ...], weight: int) -> Format:
    read = partial(_read, program, tuple(needle.decode() for needle in needles))
    return Format(f"{program} by {needles[0].decode()}", needles, read, family=program, weight=weight)


rows = tuple(_row(*signature) for signature in SIGNATURES)

PLUGIN = FormatPlugin("signatures", rows)
