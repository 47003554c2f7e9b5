"""The README promises only what is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dogwatch.cli.help import overview
from dogwatch.cli.parser import parser_of
from dogwatch.cli.verbs import VERBS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_help_in_the_readme_is_the_programs_own() -> None:
    """Word for word, so that neither drifts."""
    block = re.search(r"^\$ dogwatch --help\n(.*?)^```", README, re.S | re.M)
    assert block is not None
    assert block[1].strip() == overview().strip()


def test_every_command_in_the_readme_exists() -> None:
    """Every `dogwatch VERB` and `make TARGET` that is written there."""
    makefile = (ROOT / "Makefile").read_text()
    for verb in re.findall(r"`?dogwatch ([a-z]+)", README):
        assert verb in VERBS, verb
    for target in re.findall(r"`make ([a-z]+)", README):
        assert re.search(rf"^{target}:", makefile, re.M), target


@pytest.mark.parametrize("page", ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_every_command_in_a_block_of_a_page_is_one_that_can_be_typed(page: str) -> None:
    """The verbs take the words that are shown; what stands for something of the reader's is any word."""
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    text = "\n".join(blocks).replace("\\\n", " ")
    shown = [each for each in text.splitlines() if each.startswith("dogwatch ")]
    for line in [part for each in shown for part in each.split("&&")]:
        _, verb, *words = shlex.split(line, comments=True)
        words = words[: words.index("--")] if "--" in words else words
        try:
            parser_of(verb).parse_args(words)
        except SystemExit:
            pytest.fail(f"{page}: {line}")


def test_every_linked_file_is_there() -> None:
    """No link leads nowhere."""
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
