"""What may touch a terminal, and what may be a name."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dogwatch.errors import UsageError
from dogwatch.text import as_counted, lasting, named, plain

BAD_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(st.text(st.characters(exclude_categories=())), st.integers(2, 80))
@example("\x1b]0;title\x07\x9b31mred\u202e\u2028\ud800", 500)
def test_nothing_that_moves_a_cursor_survives(text: str, limit: int) -> None:
    """Whatever comes in, what goes out has no control, format, surrogate or separator character, and fits."""
    out = plain(text, limit)
    assert len(out) <= limit
    assert not [c for c in out if unicodedata.category(c) in BAD_CATEGORIES]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;owned\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\done", "done"),
        ("\x9b2Jgone", "gone"),
        ("\x1b(Bset", "set"),
        ("\x1bcreset", "reset"),
        ("bell\x07", "bell\\x07"),
        ("a\rb\nc\td", "a\\x0db\\x0ac\\x09d"),
        ("evil\u202etxt", "evil\\u202etxt"),
        ("a\u2028b", "a\\u2028b"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("del\x7f", "del\\x7f"),
        ("half\ud800", "half\\ud800"),
        ("wide\u00a0space", "wide space"),
        ("cafe\u0301 日本", "cafe\u0301 日本"),
        ("\x1b", "\\x1b"),
        ("\x1b]never ends", "never ends"),
    ],
)
def test_each_trick_is_dropped_or_shown(raw: str, shown: str) -> None:
    """Sequences go whole, single controls become visible, honest text stays as it was."""
    assert plain(raw) == shown


def test_long_text_ends_in_an_ellipsis() -> None:
    """Ten thousand characters do not reach the screen, and one sees that they were cut."""
    assert plain("x" * 10_000, 10) == "x" * 9 + "…"
    assert plain("é" * 10_000, 10) == "é" * 9 + "…"


def test_a_caller_may_keep_newlines() -> None:
    """A block of log text keeps the characters that its caller allows and no others."""
    assert plain("a\n\tb\r", keep="\n\t") == "a\n\tb\\x0d"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["\x1b]", "\x1b[", "\x1b[0", "\x9d", "\x1bP\x1b", "\u202e"])
def test_hostile_text_cannot_hang_it(unit: str) -> None:
    """A megabyte of unfinished sequences is done with at once."""
    assert len(plain(unit * 500_000, 100_000)) <= 100_000


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("two\nlines", "newline"),
        ("red\x1b[31m", "escape code"),
        ("bell\x07", "control"),
        ("hidden\u200b", "invisible"),
        ("x" * 201, "at most 200"),
        ("-rf", "dash"),
        ("bad\udcff", "control or invisible"),
    ],
)
def test_a_bad_name_gets_one_sentence(text: str, why: str) -> None:
    """The sentence says what is wrong, holds nothing raw and is one line."""
    with pytest.raises(UsageError) as told:
        named(text, "job name")
    message = str(told.value)
    assert why in message
    assert message.isprintable()


def test_a_good_name_is_kept() -> None:
    """Letters of any script, spaces and a description that starts with a dash are fine."""
    assert named(" Größe 7b ", "job name") == "Größe 7b"
    assert named("- first try", "description") == "- first try"


def test_the_gate_is_light() -> None:
    """The file itself pulls in neither `re` nor `typing` nor `dataclasses`, so that listing stays fast."""
    code = (
        "import sys, types; m = types.ModuleType('dogwatch.model'); import dogwatch; "
        "m.__path__ = [dogwatch.__path__[0] + '/model']; sys.modules['dogwatch.model'] = m; "
        "before = set(sys.modules); import dogwatch.text; "
        "print(sorted({'re', 'enum', 'typing', 'dataclasses'} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env={"PYTHONPATH": "src"})
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (90_000, "25.0 h")],
)
def test_a_length_of_time_is_told_in_one_unit(seconds: float, told: str) -> None:
    """Seconds while they matter, then minutes, then hours."""
    assert lasting(seconds) == told


def test_names_are_sorted_as_people_count() -> None:
    """By the number, however it is padded; digits come before letters, and any text has a place."""
    counted = ["7b", "job", "job1", "job02", "job10", "job10-a2", "job10-a10", "run"]
    assert sorted(reversed(counted), key=as_counted) == counted


@given(st.lists(st.text()))
def test_any_names_can_be_sorted(names: list[str]) -> None:
    """Whatever a job is called, and however long its digits are."""
    assert sorted(sorted(names, key=as_counted)) == sorted(names)
    assert as_counted("9" * 10_000) < as_counted("1" + "0" * 10_000)
