"""The sentences that people read: the list of them is up to date, and no retired word has come back."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SENTENCES = ROOT / "tests" / "wording" / "sentences.txt"
DOCUMENTS = ROOT / "src" / "dogwatch" / "wire" / "documents"

# Words that needed a second reading, each with what is said instead.
RETIRED = {
    r"dark(?!;|\b.*\{)": "unreachable",
    r"proved|proven|proves": "confirmed",
    r"keepers?": "supervisor",
    r"mend(ed|s)?": "fix",
    r"in vain": "timed out",
    r"vouch(es|ed)?": "confirm",
    r"gave itself up": "aborted (SIGABRT)",
    r"vanish(ed|es)?": "exited; exit code unknown",
    r"nobody|whoever|anybody": "who it is, or what does not happen",
    r"could not look|could not be asked(?!: \{…\}$)": "unreachable",
    r"eyes|is blind": "monitoring itself",
    r"patience": "silence limit",
    r"told|is told|tells": "says, shows",
    r"anew": "again",
    r"is sound|are sound|not sound|whole files?|not whole": "intact, damaged, incomplete",
    r"be judged": "be checked",
    r"look whether|see whether": "check whether",
    r"(goes|go) on": "keeps running, continues",
    r"is called|no \w+ called": "named",
    r"(takes|take|taken) it back": "adds it again",
    r"lets? go of": "removes, stops watching",
    r"say --\w.*": "give --…",
    r"last spoke|without a word": "the last line of the log",
    r"aboard|afloat|errands?|glances?|sightings?|witness(es)?|scouts?": "the words of docs/words.md",
}


def lines() -> list[str]:
    return SENTENCES.read_text(encoding="utf-8").splitlines()


def meanings() -> list[str]:
    """What docs/json.md says of each key and each document, without the names of keys and values in backticks."""
    found = []
    for path in sorted(DOCUMENTS.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="doc"), args=[ast.Constant(value=str(text)), *_]):
                    found.append(text)
                case ast.ClassDef():
                    found.append(ast.get_docstring(node) or "")
    return [re.sub(r"`[^`]*`", "", text) for text in found]


def test_the_list_of_sentences_is_up_to_date():
    """`make sentences` was run after the last change of a sentence, so that the change is seen in a diff."""
    ran = subprocess.run([sys.executable, "tools/sentences.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_list_finds_sentences_of_every_kind():
    """Help, findings, titles of causes, advice, errors and f-strings are all collected."""
    assert len(lines()) > 2000
    assert "dogwatch run --name train --workers 4 --gpu-ids 0 1 2 3 -- python train.py" in lines()
    assert "the GPU ran out of memory" in lines()
    assert any("{…}" in line for line in lines())
    assert len(meanings()) > 600


@pytest.mark.parametrize("word", RETIRED)
def test_no_sentence_has_a_retired_word(word):
    """What was rewritten once stays rewritten."""
    found = re.compile(rf"(?<![\w-])(?:{word})(?![\w-])", re.IGNORECASE)
    assert [line for line in (*lines(), *meanings()) if found.search(line)] == []
