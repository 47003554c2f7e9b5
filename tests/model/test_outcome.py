"""The final outcome: the table of docs/outcomes.md is what the program does, row by row and in every combination."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest

from dogwatch.model import Ended, EndEvidence, Found, Level, LogEnd, Outcome, Word, final_outcome, final_reason
from dogwatch.model.outcome import GOOD, LEVELS, exit_code

PAGE = Path(__file__).parents[2] / "docs" / "outcomes.md"
SAID_BY_PLACES = [one for one in Outcome if one not in (Outcome.COMPLETED, Outcome.INCOMPLETE)]


def rows(first: str) -> Iterator[list[str]]:
    """The rows of the table whose first heading is this."""
    inside = False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if line.startswith(f"| {first} |"):
            inside = True
        elif inside and not line.startswith("|"):
            return
        elif inside and not line.startswith("|--"):
            yield cells


TABLE = list(rows("How it ended"))


def fits(cell: str, word: str) -> bool:
    return cell == "any" or word in cell.split(", ")


def matches(row: list[str], said: str, words: Iterable[str]) -> bool:
    return row[0] == said and all(fits(cell, word) for cell, word in zip(row[1:6], words, strict=True))


def by_the_page(said: str, words: tuple[str, ...]) -> list[str]:
    """Outcome, exit code and alert of the first row that fits."""
    return next(row[6:] for row in TABLE if matches(row, said, words))


def evidence(items: Word, outputs: Word, checkpoints: Word, workers: Word, log: LogEnd) -> EndEvidence:
    found = [Found(word, word.value) for word in (items, outputs, checkpoints, workers)]
    return EndEvidence(found[0], found[1], found[2], found[3], log, "a line")


@pytest.mark.parametrize("said", SAID_BY_PLACES)
def test_the_page_and_the_program_agree_in_every_combination(said: Outcome):
    """Whatever ended how, with whatever declared and found, the documented row is what happens."""
    for words in product(Word, Word, Word, Word, LogEnd):
        outcome = final_outcome(said, evidence(*words))
        level = LEVELS[outcome].value if outcome is not None else "none"
        shown = [outcome.value if outcome is not None else "not decided yet", str(exit_code(outcome)), level]
        assert by_the_page(said.value, tuple(word.value for word in words)) == shown, words


def test_every_row_of_the_page_decides_something():
    """No row is shadowed by the rows above it."""
    first = set()
    for said, *words in product(SAID_BY_PLACES, Word, Word, Word, Word, LogEnd):
        at = next(i for i, row in enumerate(TABLE) if matches(row, said, words))
        first.add(at)
    assert first == set(range(len(TABLE)))


def test_the_short_table_has_every_outcome_with_its_exit_code_and_level():
    """The list of outcomes says the same of each."""
    told = {name: (code, level) for name, _, code, level in rows("Outcome")}
    assert told == {one.value: (str(exit_code(one)), LEVELS[one].value) for one in Outcome}
    assert {one for one in Outcome if exit_code(one) == 0} == GOOD
    assert all(LEVELS[one] is Level.INFO for one in GOOD)


def test_the_reason_names_what_is_missing():
    """An incomplete job says which of the declared things is not there, and not what is."""
    found = EndEvidence(Found(Word.MISSING, "only 85 of 100 items"), Found(Word.THERE, "4 files"))
    assert final_reason(Ended(Outcome.SUCCEEDED, 0), Outcome.INCOMPLETE, found) == "only 85 of 100 items"


def test_a_failure_by_the_log_quotes_the_line():
    """A worker whose exit nobody recorded failed by the line that its log ends with."""
    found = EndEvidence(log=LogEnd.FAILED, log_text="ValueError: boom")
    text = final_reason(Ended(Outcome.UNKNOWN, reason="it vanished"), Outcome.FAILED, found)
    assert text == "its log ends with an error (it vanished): ValueError: boom"


def test_a_success_with_a_failed_step_needs_another_sign():
    """Items or outputs that are there; without them its outcome is unknown, and the reason names the step."""
    doubt = "its step 5.0 is FAILED"
    there = Found(Word.THERE, "3 of 3 items")
    assert final_outcome(Outcome.SUCCEEDED, EndEvidence(doubt=doubt)) is Outcome.UNKNOWN
    assert final_outcome(Outcome.SUCCEEDED, EndEvidence(items=there, doubt=doubt)) is Outcome.SUCCEEDED
    assert final_outcome(Outcome.SUCCEEDED, EndEvidence(outputs=there, doubt=doubt)) is Outcome.SUCCEEDED
    assert doubt in final_reason(Ended(Outcome.SUCCEEDED), Outcome.UNKNOWN, EndEvidence(doubt=doubt))
