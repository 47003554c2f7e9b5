"""The lines of examples.txt: what shows each cause, and what only looks like it."""

from __future__ import annotations

from pathlib import Path

LINES = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").splitlines()


def _read() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    shown, alike, cause = [], [], ""
    for line in LINES:
        mark, text = line[:2], line[2:]
        match mark:
            case "==":
                cause = line.removeprefix("=== ")
            case "+ ":
                shown.append((cause, text))
            case "- ":
                alike.append((cause, text))
            case _:
                assert not line.strip() or line.startswith("#"), f"examples.txt: what is {line!r}?"
    return shown, alike


EXAMPLES, COUNTEREXAMPLES = _read()
EXAMPLES_OF = {cause: [line for name, line in EXAMPLES if name == cause] for cause, _ in EXAMPLES}
