"""The README and the pages of docs/ promise only what is there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dogwatch import config, profiles, settings
from dogwatch.cli.help import overview
from dogwatch.cli.parser import parser_of
from dogwatch.cli.verbs import VERBS
from dogwatch.errors import UsageError

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
# The page of commands shows how to call them in general; its examples have a test of their own.
PAGES = [
    "README.md",
    *sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if path.name not in ("cli.md", "json.md")
    ),
]


def test_the_help_in_the_readme_is_the_programs_own() -> None:
    """Word for word, so that neither drifts."""
    block = re.search(r"^\$ dogwatch --help\n(.*?)^```", README, re.S | re.M)
    assert block is not None
    assert block[1].strip() == overview().strip()


def test_the_diagnosis_in_the_readme_is_the_programs_own(dogwatch, tmp_path) -> None:
    """Cause, advice and whether to retry, for a log that ends with the line that is quoted there."""
    block = re.search(r"^\$ dogwatch why high-lr\n(.*?)^```", README, re.S | re.M)
    assert block is not None
    _, title, quoted, advice, retry = block[1].splitlines()
    raised = ["Traceback (most recent call last):", '  File "train.py", line 9, in train', quoted.partition(": ")[2]]
    (tmp_path / "worker-0.log").write_text("\n".join(["step 1/9 loss: 0.5", *raised]) + "\n")
    printed = dogwatch("why", "--log", tmp_path / "worker-0.log", "--exit-code", "1").stdout.splitlines()
    assert [line for line in (title, advice, retry) if line not in printed] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_exists(page: str) -> None:
    """Every `dogwatch COMMAND` and `make TARGET` that is written there."""
    text, makefile = (ROOT / page).read_text(), (ROOT / "Makefile").read_text()
    assert set(re.findall(r"`(?:dogwatch|\$ dogwatch) ([a-z]+)", text)) - {*VERBS} == set()
    for target in re.findall(r"`make ([a-z]+)", text):
        assert re.search(rf"^{target}:", makefile, re.M), target


@pytest.mark.parametrize("page", PAGES)
def test_every_command_in_a_block_of_a_page_is_one_that_can_be_typed(page: str) -> None:
    """The verbs take the words that are shown; what stands for something of the reader's is any word."""
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    text = "\n".join(blocks).replace("\\\n", " ")
    shown = [each for each in text.splitlines() if each.startswith("dogwatch ")]
    for line in [part for each in shown for part in re.split(r"&&|[|>]", each) if part.strip().startswith("dogwatch ")]:
        _, verb, *words = shlex.split(line, comments=True)
        words = words[: words.index("--")] if "--" in words else words
        try:
            parser_of(verb).parse_args(words)
        except (SystemExit, UsageError):
            pytest.fail(f"{page}: {line}")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)


@pytest.mark.parametrize("page", PAGES)
def test_every_example_in_a_page_is_read_by_what_it_is_for(page: str, tmp_path: Path) -> None:
    """Python compiles, a configuration file and a job file are accepted by the program."""
    for text in blocks(page, "python"):
        compile(text, page, "exec")
    for text in blocks(page, "toml"):
        if text.lstrip().startswith("title"):
            (tmp_path / "own.toml").write_text(text)
            profiles.load("own", str(tmp_path))
        elif "entry-points" not in text:
            settings.read(text, page)
    for text in blocks(page, "yaml"):
        (tmp_path / "job.yaml").write_text(text)
        config.load_job_file(str(tmp_path / "job.yaml"))


def test_every_linked_file_is_there() -> None:
    """No link leads nowhere."""
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_page_of_configuration_keys_is_up_to_date() -> None:
    """docs/reference/config.md has every key that the program reads; `make docs` writes it anew."""
    command = [sys.executable, str(ROOT / "tools" / "config_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Loaded(HTMLParser):
    """What a page makes a browser fetch by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        fetches = tag != "link" or given.get("rel") in ("stylesheet", "preconnect", "preload", "icon")
        self.urls += [given[name] for name in ("src", "href") if tag != "a" and fetches and name in given]


def test_the_site_is_built_without_a_broken_link_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """Strict: a link or anchor that leads nowhere, or a page that the menu lacks, is an error; so is any web font."""
    pytest.importorskip("material", reason="mkdocs-material is not installed; `make setup` installs it")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(PAGES)
    foreign = {url for page in pages for url in Loaded(page.read_text()).urls if re.match(r"(https?:)?//", url)}
    assert foreign == set()
    styles = "".join(sheet.read_text() for sheet in (tmp_path / "site").rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", styles) == []
