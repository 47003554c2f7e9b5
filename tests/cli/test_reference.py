"""The man page and docs/reference/cli.md: made from the parsers, up to date, and readable by `man`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dogwatch.cli.parser import parser_of
from dogwatch.cli.verbs import VERBS

ROOT = Path(__file__).parent.parent.parent
MAN = ROOT / "docs" / "man" / "dogwatch.1"


def test_both_are_up_to_date() -> None:
    """`make docs` was run after the last change of a command."""
    ran = subprocess.run([sys.executable, "tools/cli_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.needs_tool("man", "groff")
def test_man_shows_every_command_without_a_warning() -> None:
    """As `man dogwatch` prints it, on a terminal of 80 columns."""
    words = ["man", "--warnings", "-P", "cat", "-l", str(MAN)]
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    shown = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert (shown.returncode, shown.stderr) == (0, "")
    page = re.sub(".\b", "", shown.stdout)
    for verb in VERBS:
        assert f"\n   dogwatch {verb}\n" in page
    assert "dogwatch run --name train --workers 4 --gpu-ids 0 1 2 3 -- python train.py" in page


@pytest.mark.parametrize("verb", VERBS)
def test_the_reference_has_every_option(verb: str) -> None:
    """Of each command and each command of a command, in a row of its own."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    parser = parser_of(verb)
    for part in (parser, *(parser.parts()[name] for name, _ in parser.commands())):
        section = page.split(f"# {part.prog}\n", 1)[1].split("\n###", 1)[0]
        for flag in part.flags():
            assert flag.dest == "help" or f"`{', '.join(flag.option_strings)}" in section
