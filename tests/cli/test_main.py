"""The way in: help, versions, wrong words."""

from __future__ import annotations

import re
import shlex

import pytest

from dogwatch import __version__
from dogwatch.cli.main import Given
from dogwatch.cli.out import cells, folded, table
from dogwatch.cli.parser import VerbParser, parser_of
from dogwatch.cli.verbs import MEANT, VERBS, load


def test_the_overview_names_every_verb(dogwatch) -> None:
    """`dogwatch` alone, `help` and `--help` are the same page: an example first, then the verbs, a line each."""
    done = dogwatch()
    assert done.returncode == 0
    assert done.stdout == dogwatch("help").stdout == dogwatch("--help").stdout
    for verb in VERBS:
        assert re.search(rf"^  {verb} +[A-Z]\w", done.stdout, re.M)
    assert done.stdout.index("dogwatch run -- python train.py") < done.stdout.index("Watch jobs:")
    assert max(map(len, done.stdout.splitlines())) <= 80


def pages() -> list[tuple[str, ...]]:
    """Every command, and every command of a command."""
    return [words for verb in VERBS for words in [(verb,), *((verb, part) for part in parser_of(verb).parts())]]


@pytest.mark.parametrize("words", pages(), ids=" ".join)
def test_every_command_has_a_help_page(dogwatch, words: tuple[str, ...]) -> None:
    """`--help` and `help COMMAND` print the same; usage, a sentence, examples, options; folded to the terminal."""
    done = dogwatch(*words, "--help")
    assert done.returncode == 0
    assert dogwatch("help", *words).stdout == done.stdout
    assert done.stdout.startswith(f"Usage: dogwatch {' '.join(words)}")
    assert "positional arguments" not in done.stdout
    narrow = dogwatch(*words, "--help", env={"COLUMNS": "60"}).stdout
    for page, wide in ((done.stdout, 80), (narrow, 60)):
        prose = [line for line in page.splitlines() if not line.startswith("  dogwatch ")]
        assert [line for line in prose if len(line) > wide] == []
    if len(words) > 1 or words[0] not in ("help", "completion", "add", "host", "service"):
        assert "--json" in done.stdout


def examples() -> list[tuple[tuple[str, ...], str]]:
    parsers: list[tuple[tuple[str, ...], VerbParser]] = [((verb,), parser_of(verb)) for verb in VERBS]
    parsers += [((verb, name), part) for verb in VERBS for name, part in parser_of(verb).parts().items()]
    return [(words, line) for words, parser in parsers for line in parser.examples]


@pytest.mark.parametrize(("words", "line"), examples(), ids=lambda value: value if isinstance(value, str) else None)
def test_every_example_is_one_that_the_parser_takes(words: tuple[str, ...], line: str) -> None:
    """What `--help` shows can be typed as it stands, and is about the command whose help shows it."""
    typed = re.split(r" [>|]|&&", line[line.index("dogwatch ") :])[0]
    program, *given = shlex.split(typed)
    assert (program, *given[: len(words)]) == ("dogwatch", *words) or words == ("host", "add")
    given = given[: given.index("--")] if "--" in given else given
    parser_of(given[0]).parse_args(given[1:])


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples(verb: str) -> None:
    """The quickest way to learn a command."""
    assert load(verb).EXAMPLES
    assert load(verb).ABOUT.endswith(".")


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
    """One letter off is not a riddle: in a verb, a flag, a job's name; nor is a command without its dashes."""
    assert "did you mean `dogwatch status`?" in dogwatch("stauts").stderr
    assert "did you mean `dogwatch ls`?" in dogwatch("list").stderr
    assert "did you mean `dogwatch alerts add`?" in dogwatch("alerts", "ad").stderr
    assert "did you mean `dogwatch alerts`?" in dogwatch("help", "alets").stderr
    assert "as in `dogwatch ls --json`" in dogwatch("--json", "ls").stderr
    assert "did you mean --all?" in dogwatch("ls", "--al").stderr
    assert "did you mean --total-items?" in dogwatch("add", "process", "1", "--total-item=3").stderr
    assert "as in `dogwatch run -- sleep`" in dogwatch("run", "--name", "x", "sleep", "3").stderr
    dogwatch("run", "--detach", "--name", "embedding", "--", "true")
    done = dogwatch("status", "embeding")
    assert done.returncode == 4
    assert "did you mean 'embedding'?" in done.stderr
    assert "lists every one" in dogwatch("status", "quite another").stderr


def test_a_letter_that_the_locale_lacks_is_spelt(dogwatch) -> None:
    """An arrow in the history is no reason to fail where only ASCII can be printed."""
    assert dogwatch("run", "--detach", "--name", "t", "--", "true").returncode == 0
    assert dogwatch("wait", "t").returncode == 0
    narrow = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = dogwatch("events", env=narrow)
    assert (done.returncode, done.stderr) == (0, "")
    assert "new \\u2192 " in done.stdout


def test_a_list_stays_in_its_columns_whatever_the_script() -> None:
    """A letter that takes two columns of a terminal is counted as two, and a cut line is not longer than it may be."""
    rows = [("NAME", "STATE"), ("\u8a13\u7df4\U0001f680", "running"), ("cafe\u0301", "ended"), ("plain", "waiting")]
    lines = table(rows, None)
    assert [cells(line[: line.index(word)]) for line, (_, word) in zip(lines, rows, strict=True)] == [8, 8, 8, 8]
    assert [cells(line) <= 5 for line in table(rows, 5)] == [True] * 4


def test_a_row_too_wide_for_the_terminal_goes_on_under_its_text() -> None:
    """A label keeps its column; what is long by itself is indented a little, and nothing is lost or overhangs."""
    row = "  confirmed    4 s ago, by process table: 4 of 4 workers found"
    assert folded(row, None) == folded(row, 80) == [row]
    assert folded(row, 40) == [
        "  confirmed    4 s ago, by process",
        "               table: 4 of 4 workers",
        "               found",
    ]
    assert folded("train (here/process:train-1a2b3c4d): running", 24) == [
        "train (here/process:trai",
        "  n-1a2b3c4d): running",
    ]
    wide = f"  for  {'訓練' * 20}"
    assert [cells(line) <= 30 for line in folded(wide, 30)] == [True] * 4
    assert "".join("".join(folded(wide, 30)).split()) == "".join(wide.split())


@pytest.mark.parametrize("verb", [verb for verb in VERBS if hasattr(load(verb), "FLAGS")])
def test_flags_mean_the_same_without_a_parser(verb: str) -> None:
    """A verb that must be quick is given its flags as argparse would give them."""
    module = load(verb)
    for count in range(len(module.FLAGS) + 1):
        words = list(module.FLAGS[:count])
        assert vars(parser_of(verb).parse_args(words)) == vars(Given(module.FLAGS, words))


def test_what_people_type_from_habit_leads_to_a_verb() -> None:
    """Each guess is a verb, and no guess hides one."""
    assert set(MEANT.values()) <= set(VERBS)
    assert not set(MEANT) & set(VERBS)
