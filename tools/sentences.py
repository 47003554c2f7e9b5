"""Writes tests/wording/sentences.txt: every sentence that a user can meet, one per line, taken from the code.

A text counts as a sentence if it has two words; the parts of an f-string that change are written as {…}. With --check
nothing is written, and the exit code says whether the file is up to date; with --where each line names its file, for
reading. `make sentences` runs it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "dogwatch"
SENTENCES = ROOT / "tests" / "wording" / "sentences.txt"

# Their texts are matched against the words of others, are SQL, or are documented elsewhere (docs/json.md).
NOT_OURS = (
    "diagnosis/alternatives.py",
    "diagnosis/confidence.py",
    "diagnosis/line_collector.py",
    "diagnosis/tracebacks.py",
    "logs/ending",
    "logs/formats",
    "logs/log_clock.py",
    "logs/meaning.py",
    "logs/reader.py",
    "logs/shape.py",
    "logs/stamps.py",
    "plot.py",
    "redaction/",
    "store/sqlite/faults.py",
    "store/sqlite/schema.py",
    "wire/documents",
)
# Calls whose texts are patterns, SQL, types or programs.
CALLS = "cast compile execute executemany executescript find findall finditer fullmatch getattr lazily match Pattern"
NOT_SHOWN = frozenset(f"{CALLS} _row Row search startswith endswith sub".split())
HOLE = "{…}"
WORD = re.compile(r"[^\W\d_]{2,}")
PATTERN = re.compile(r"\(\?|\\[bdswWSDA]|\[\^|\{\d+,\d*\}|\.\{|\.\*|\|\w+\||\)\?|\[a-z")
CODE = re.compile(r"^\s*<\w|[{;]\s*[\w-]+:[^ ]|^\w+\[\w|--[a-z]+:#|</\w+>$|^\w+=\{?")
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|WITH|FROM|WHERE|AND|ORDER|LEFT)\b ")


def texts_of(path: Path) -> Iterator[str]:
    """The texts of a file that could be shown to somebody."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    yield from _walk(tree, _docstrings(tree))


def _docstrings(tree: ast.Module) -> set[ast.AST]:
    """Texts that stand alone as a statement: docstrings."""
    alone = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return {value for value in alone if isinstance(value, ast.Constant)}


def _walk(node: ast.AST, skipped: set[ast.AST]) -> Iterator[str]:
    if node in skipped:
        return
    match node:
        case ast.Constant(value=str(text)):
            yield text
            return
        case ast.JoinedStr(values=parts):
            yield "".join(part.value if isinstance(part, ast.Constant) else HOLE for part in parts)
            for part in parts:
                if isinstance(part, ast.FormattedValue):
                    yield from _walk(part.value, skipped)
            return
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in NOT_SHOWN:
            return
        case ast.FunctionDef(body=body, args=ast.arguments(defaults=defaults, kw_defaults=more)):
            for part in (*defaults, *filter(None, more), *body):
                yield from _walk(part, skipped)
            return
        case ast.Subscript(value=value, slice=ast.Constant()):
            yield from _walk(value, skipped)
            return
        case ast.AnnAssign(value=value):
            if value is not None:
                yield from _walk(value, skipped)
            return
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, skipped)


def is_sentence(text: str) -> bool:
    """Two words at least, and neither a pattern nor a statement for the database."""
    words = WORD.findall(text.replace(HOLE, " "))
    with_hole = HOLE in text and bool(words) and bool(re.search(r"\s", text.strip()))
    if len(words) < 2 and not with_hole:
        return False
    return bool(re.search(r"\s", text.strip())) and not PATTERN.search(text) and not SQL.match(text)


def sentences(where: bool = False) -> list[str]:
    """Every sentence once, in order; each line of a longer text for itself."""
    lines: set[str] = set()
    for path in sorted(SRC.rglob("*.py")):
        name = path.relative_to(SRC).as_posix()
        if name.startswith(NOT_OURS):
            continue
        for text in filter(is_sentence, texts_of(path)):
            shown = [line.strip() for line in text.splitlines()]
            kept = [line for line in shown if WORD.search(line) and not CODE.search(line)]
            lines.update(f"{name}: {line}" if where else line for line in kept)
    return sorted(lines)


def main() -> int:
    if "--where" in sys.argv:
        sys.stdout.write("\n".join(sentences(where=True)) + "\n")
        return 0
    text = "\n".join(sentences()) + "\n"
    if SENTENCES.exists() and SENTENCES.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in sys.argv:
        sys.stderr.write("tests/wording/sentences.txt is out of date; `make sentences` writes it again\n")
        return 1
    SENTENCES.parent.mkdir(exist_ok=True)
    SENTENCES.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
