"""Advice can be followed: every command in a sentence for users is one that the program takes."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import dogwatch
from dogwatch.cli.parser import parser_of
from dogwatch.cli.verbs import VERBS

ROOT = Path(dogwatch.__file__).parent
FOLDERS = ("api", "diagnosis", "rules", "watcher", "sources", "tui", "channels", "cli")
COMMAND = re.compile(r"\bdogwatch ((?:[a-z]+)(?: [^\s`;,)\]]+)*)")
HOLE = "x1"


def sentences() -> Iterator[tuple[str, str]]:
    """(where, text) of every string that is not a docstring, with a word in place of what is filled in."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            skip = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
            skip |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            skip |= {id(one) for node in ast.walk(tree) if _is_help(node) for one in ast.walk(node)}
            for node in ast.walk(tree):
                if id(node) not in skip and (text := _text(node)):
                    yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", text


def _is_help(node: ast.AST) -> bool:
    """What argparse prints: there REF stands for what is to be typed."""
    if isinstance(node, ast.Assign):
        return any(isinstance(one, ast.Name) and one.id in ("ABOUT", "DETAILS", "HEAD") for one in node.targets)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else HOLE for part in node.values]
        return "".join(str(part) for part in parts)
    return ""


def commands() -> Iterator[tuple[str, list[str]]]:
    for where, text in sentences():
        for found in COMMAND.finditer(text):
            words = [word if word == "." else word.strip("'\"").rstrip(".:…") for word in _split(found[1])]
            if words[0] in VERBS and len(words) > 1:  # a verb alone names it
                yield where, [word for word in words if word]


def _split(text: str) -> list[str]:
    """As a shell does; a sentence with an apostrophe is no shell's."""
    with contextlib.suppress(ValueError):
        return shlex.split(text)
    return text.split()


def parses(words: list[str]) -> bool:
    """Whether the program takes the words, or the beginning of them that holds all flags: a sentence may go on."""
    verb, *rest = words
    if verb == "add" and rest[0] == HOLE:  # the kind of job, filled in by its source
        rest[0] = "slurm"
    flags = [at for at, word in enumerate(rest) if word.startswith("--") and word != "--"]
    least = flags[-1] + 1 if flags else 0
    for end in range(len(rest), least - 1, -1):
        parser = parser_of(verb)
        given = [("1" if word == HOLE else word) for word in rest[:end]]
        given = given[: given.index("--")] if "--" in given else given
        quiet = io.StringIO()
        try:
            with contextlib.redirect_stderr(quiet), contextlib.redirect_stdout(quiet):
                if not parser.parse_known_args(given)[1]:
                    return True
        except SystemExit as done:
            if done.code == 0:  # its help
                return True
    return False


def test_no_sentence_shows_the_name_of_an_argument() -> None:
    """A literal REF is nothing that anybody could type."""
    assert [(where, text) for where, text in sentences() if re.search(r"\bREF\b(?!:)", text)] == []


@pytest.mark.parametrize(
    ("where", "words"), [*commands()], ids=lambda one: one if isinstance(one, str) else " ".join(one)
)
def test_every_command_in_a_sentence_is_one_that_the_program_takes(where: str, words: list[str]) -> None:
    """By the real parser, with its flags."""
    assert parses(words), where


def test_the_commands_are_really_found() -> None:
    """The search sees the sentences of the decision tree."""
    found = [" ".join(words) for where, words in commands() if where.startswith("api/decision_tree")]
    assert any(line.startswith("logs") for line in found)
    assert any("--for running" in line for line in found)
