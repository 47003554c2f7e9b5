"""Which module needs which: a part can be understood with only what is below it in mind, types included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"


def import_graph(root: Path) -> dict[str, set[str]]:
    """By module what it imports of the same tree, wherever the import stands: at the top, in a function, or under
    TYPE_CHECKING."""
    modules = {_module_name(path, root): path for path in root.rglob("*.py")}
    return {module: {*_imported(path, modules)} - {module} for module, path in modules.items()}


def _module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: an import that names its module in full can be followed"
            for alias in node.names:
                part = f"{node.module}.{alias.name}"
                if part in modules or node.module in modules:
                    yield part if part in modules else node.module


def test_no_module_needs_one_that_needs_it():
    """No chain of imports in the sources comes back to where it began, those under TYPE_CHECKING counted."""
    graph = import_graph(SRC)
    assert sum(map(len, graph.values())) > len(graph)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " ← ".join(error.args[1]))


def test_a_cycle_that_only_types_close_is_found(tmp_path):
    """Two modules that need one another for their types alone are a cycle."""
    package = tmp_path / "pair"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from pair import b\n")
    (package / "b.py").write_text("TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from pair.a import Thing\n")
    with pytest.raises(CycleError):
        TopologicalSorter(import_graph(tmp_path)).prepare()
