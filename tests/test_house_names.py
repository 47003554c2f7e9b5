"""The house rules about words: retired names stay out of the code, and the documents name what is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_house import ROOT, SOURCES, SRC, name, tree

# The left column of the table of renamed words: no module, class, function, variable, JSON key or event kind has them.
RETIRED = {
    "aboard",
    "afloat",
    "aside",
    "ask",
    "bell",
    "dark",
    "desk",
    "ear",
    "engine",
    "errand",
    "errands",
    "faces",
    "fall",
    "falls",
    "glance",
    "glances",
    "hands",
    "hush",
    "keep",
    "keeper",
    "keepers",
    "letter",
    "letters",
    "look",
    "looks",
    "muster",
    "notes",
    "patience",
    "post",
    "posts",
    "proof",
    "proofs",
    "proved",
    "reach",
    "reception",
    "road",
    "round",
    "rounds",
    "scout",
    "scouts",
    "seen",
    "sighting",
    "sightings",
    "sign",
    "signs",
    "sound",
    "still",
    "tell",
    "tip",
    "turn",
    "turns",
    "visit",
    "visits",
    "witness",
    "witnesses",
}
RETIRED_FOLDERS = {"causes"}  # the causes of a diagnosis keep their name; the folder is diagnosis/
RETIRED_IN_ESTIMATE = {"places"}  # a place is where jobs run; what estimate/ means is a milestone

# Words that are meant literally wherever they are not the name of a module or a class.
LITERAL_WORDS = {
    "ask": "a verb: ask a place",
    "keep": "a verb: keep a copy",
    "seen": "a set of what has been met already",
    "still": "an adverb: still_there",
    "tell": "a verb, and file.tell()",
}
# Identifiers in which a retired word is meant literally.
LITERAL = {
    "LETTER": "of the alphabet",
    "LETTERS": "of the alphabet",
    "ROUND": "round numbers",
    "do_POST": "of http.server",
    "engine": "of regular expressions",
    "falls_due": "a verb",
    "look_up": "a verb",
    "paces_round": "the paces around a gap",
    "post": "HTTP",
    "post_init": "of dataclasses",
    "round": "the built-in, and round numbers",
    "set_aside": "a verb",
}
# The same, where the identifier means something else in other folders.
LITERAL_IN = {
    "api": {"notes"},  # remarks to the user
    "cli": {"letter", "notes", "MOST_NOTES"},
    "logs": {"letter", "letters", "rounds"},  # of the alphabet; a unit that logs count in
    "tui": {"letter"},
}
# Names that are still to be changed, by folder. Take out what you have renamed; nothing is added.
NOT_YET = {
    "api": {"_look_for_room", "_reach", "look"},
    "sources": {"LATE_WITNESS", "PATIENCE", "RECORD_PATIENCE", "WITNESS", "turn", "witness"},
    "watcher": {
        "SIGNS",
        "SignsOfLife",
        "_look",
        "look",
        "signs",
        "signs_of_life",
        "turn",
        "turns",
    },
    "wire": {"SignDocument", "notes"},
}

EVENT_KIND = re.compile(r"[a-z]+(?:\.[a-z_]+)+")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_of(identifier: str) -> set[str]:
    """The words of an identifier, split at underscores, dots and CamelCase."""
    return {word.lower() for word in WORD.findall(identifier)}


def keys_of(node: ast.AST) -> Iterator[ast.expr | None]:
    """Where a key of a JSON object may stand: in a display, in brackets, as what is asked of a mapping."""
    match node:
        case ast.Dict(keys=written):
            yield from written
        case ast.Subscript(slice=key):
            yield key
        case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[key, *_]):
            yield key


def identifiers(path: Path) -> Iterator[tuple[str, bool]]:
    """Every name that a file uses, defines or has as a key or event kind, and whether it is a class."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.ClassDef(name=word):
                yield word, True
            case ast.FunctionDef(name=word) | ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                yield word, False
            case ast.keyword(arg=str(word)) | ast.alias(asname=str(word)):
                yield word, False
            case ast.Constant(value=str(word)) if EVENT_KIND.fullmatch(word):
                yield word, False
        for key in keys_of(node):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier():
                yield key.value, False


def retired_names(path: Path) -> set[str]:
    """The identifiers of a file that have a retired word which is not meant literally."""
    folder = path.relative_to(SRC).parts[0]
    retired = RETIRED | (RETIRED_IN_ESTIMATE if folder == "estimate" else set())
    found = set()
    for identifier, is_class in identifiers(path):
        literal = set() if is_class else set(LITERAL_WORDS)
        if words_of(identifier) & (retired - literal) and identifier.strip("_") not in LITERAL:
            found.add(identifier)
    return found - NOT_YET.get(folder, set()) - LITERAL_IN.get(folder, set())


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_identifier_has_a_retired_name(path):
    """Modules, classes, functions, variables, keys and event kinds are called by the field's own words."""
    parts = {word for part in path.relative_to(SRC).parts for word in words_of(part.removesuffix(".py"))}
    assert parts & (RETIRED | RETIRED_FOLDERS) == set()
    assert retired_names(path) == set()


LABEL = re.compile(r"(\w+)(?:\(\))?: ")
# What a module begins with that is the real name of a program or of a thing of others.
REAL_NAMES = {"sacct", "squeue", "Xid"}


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_module_is_introduced_by_its_own_name(path):
    """`Poll: …` at the top of a file is a word of its path or a name in it, and not what the module was once called."""
    label = LABEL.match(ast.get_docstring(tree(path)) or "")
    if label is None or label[1] in REAL_NAMES | {word for word, _ in identifiers(path)}:
        return
    words = {word.rstrip("s") for part in path.relative_to(SRC).parts for word in words_of(part.removesuffix(".py"))}
    assert label[1].lower().rstrip("s") in words


DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_path_that_a_document_names_exists(path):
    """A file or folder of ours in backticks is there, seen from the root or from the package."""
    folders = {entry.name for base in (ROOT, SRC) for entry in base.iterdir() if entry.is_dir()}
    named = re.findall(r"`((?:[\w.]+/)+[\w.]*|\w+\.py)`", path.read_text(encoding="utf-8"))
    ours = [text for text in named if text.split("/")[0] in folders or text.endswith(".py")]
    ours = [text for text in ours if Path(text).suffix in ("", ".py", ".c")]
    places = (ROOT, SRC, SRC.parent)
    lost = [text for text in ours if not any((place / text).exists() for place in places)]
    assert [text for text in lost if "/" in text or not any(SRC.rglob(text))] == []


GLOSSARY = re.compile(r"^\| ((?:\*\*[\w -]+\*\*(?:, )?)+) \|", re.MULTILINE)


def test_no_word_of_the_glossary_is_defined_twice():
    """docs/words.md gives each word one meaning, and fits on a screen and a half."""
    text = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    defined = [word.lower() for row in GLOSSARY.findall(text) for word in re.findall(r"\*\*([\w -]+)\*\*", row)]
    assert len(defined) > 30
    assert sorted(defined) == sorted(set(defined))
    assert len(text.splitlines()) <= 90


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_comment_names_files_and_folders_that_exist(path):
    """What a docstring or comment calls `name.py` is there, and no folder is called by its old name."""
    text = path.read_text(encoding="utf-8")
    there = {file.name for file in (*SOURCES, *(ROOT / "tools").iterdir())}
    assert set(re.findall(r"`(?:\w+/)*([a-z_]+\.py)`", text)) - there == set()
    assert re.findall(r"\b(?:aboard|causes|desk|engine|hands|reach)/\w*", text) == []
