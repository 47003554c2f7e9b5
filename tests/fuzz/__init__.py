"""A fuzz target for every parser of foreign text (`make fuzz`).

Each file of `targets/` is one target: `target(data)` feeds a parser with the bytes and says in its docstring what must
hold whatever they are, `seeds()` gives small inputs to begin with. Nothing lists them: a new file is a new target.
`one.py` runs a single target, `__main__.py` all of them, two at a time. An input that once broke a parser stays in
`crashes/TARGET/` and is tried by `test_targets.py` ever after.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in (FOLDER / "targets").glob("[!_]*.py"))


def load(name: str) -> ModuleType:
    return importlib.import_module(f"tests.fuzz.targets.{name}")


def kept(name: str) -> Iterator[Path]:
    """Inputs that broke this target once."""
    return (path for path in sorted((FOLDER / "crashes" / name).glob("*")) if path.is_file())
