"""The way in: help, versions, wrong words."""

from __future__ import annotations

import re

import pytest

from dogwatch import __version__
from dogwatch.cli.main import VERBS, Given, load, parser_of


def test_the_overview_names_every_verb(dogwatch) -> None:
    """With what it is for and the exit codes."""
    done = dogwatch("--help")
    assert done.returncode == 0
    for verb in VERBS:
        assert re.search(rf"^  {verb} +\w", done.stdout, re.M)
    assert "124 wait timed out" in done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(dogwatch, verb: str) -> None:
    """`--help` and `help VERB` print the same to stdout."""
    done = dogwatch(verb, "--help")
    assert done.returncode == 0
    inner = {"add": ["process"], "host": ["add"]}.get(verb, [])
    assert "--json" in dogwatch(verb, *inner, "--help").stdout
    assert dogwatch("help", verb).stdout == done.stdout


def test_the_version_is_the_packages(dogwatch) -> None:
    """Printed without loading anything."""
    assert dogwatch("--version").stdout == f"dogwatch {__version__}\n"


@pytest.mark.parametrize("words", [["lss"], ["nonsense"], ["ls", "--bogus"], ["wait"], ["events", "--since", "soon"]])
def test_wrong_words_are_exit_2_and_say_what_to_do(dogwatch, words: list[str]) -> None:
    """On stderr, with nothing on stdout."""
    done = dogwatch(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_near_miss_is_suggested(dogwatch) -> None:
    """One letter off is not a riddle."""
    assert "did you mean `status`?" in dogwatch("statsu").stderr


@pytest.mark.parametrize("verb", [verb for verb in VERBS if hasattr(load(verb), "FLAGS")])
def test_flags_mean_the_same_without_a_parser(verb: str) -> None:
    """A verb that must be quick is given its flags as argparse would give them."""
    module = load(verb)
    for count in range(len(module.FLAGS) + 1):
        words = list(module.FLAGS[:count])
        assert vars(parser_of(verb, module).parse_args(words)) == vars(Given(module.FLAGS, words))
