"""The README promises only what is there."""

from __future__ import annotations

import re
from pathlib import Path

from dogwatch.cli.main import VERBS, overview

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


def test_every_linked_file_is_there() -> None:
    """No link leads nowhere."""
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
