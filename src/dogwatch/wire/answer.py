"""A place's answer: bounded, parsed, checked field by field, and its words made harmless, before anything reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from dogwatch.text import plain
from dogwatch.wire.limits import Said
from dogwatch.wire.programs import PROGRAMS, Why
from dogwatch.wire.sections import ROWS, WHOLE, Clock, Head

MOST_BYTES = 100_000_000
# Brackets, commas and texts: what a parser makes an object of, each many times as large as what was sent.
MOST_PARTS = 2_000_000
_PART = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"?|[\[{,]')
HEAD = frozenset(("ok", "seconds", "why", "late"))
TOP: dict[str, Any] = {
    "nonce": str,
    "clock": Clock,
    "boot": str | None,
    "host": str,
    "python": str | None,
    "error": Said,
}
# Words of a host: shown to people, and so cleaned here once and for all. Paths and contents are data, and cleaned where
# they are shown.
SAID = frozenset(("why", "problem", "error", "err", "kernel_log", "host", "cluster", "version", "me", "python", "boot"))
LONGEST_SAID = 4096


class Malformed(Exception):
    """An answer that is not what was asked for; the words name the field."""


def read(reply: bytes) -> dict[str, Any]:
    """The document that a place sent, checked; Malformed if anything in it is not what it should be."""
    if len(reply) > MOST_BYTES:
        raise Malformed(f"it is larger than {MOST_BYTES // 1_000_000} MB")
    if _parts(reply) > MOST_PARTS:
        raise Malformed(f"it has more than {MOST_PARTS:,} parts")
    try:
        body = json.loads(reply, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)[:200] if isinstance(error, _Wrong) else "it is not JSON") from None
    if not isinstance(body, dict):
        raise Malformed("it is no JSON object")
    check(body)
    clean(body)
    return body


def _parts(reply: bytes) -> int:
    """How many parts a document has, counted before anything is made of them; what stands inside a text is none."""
    most = sum(reply.count(mark) for mark in (b'"', b",", b"[", b"{"))
    if most <= MOST_PARTS:
        return most
    return sum(1 for _ in islice(_PART.finditer(reply), MOST_PARTS + 1))


def check(body: Mapping[str, Any]) -> None:
    """Every field against its type; the first that is wrong is named by its path."""
    for name, section in body.items():
        shown = plain(name, 60)
        if name in TOP:
            _convert(section, TOP[name], shown)
        elif name in WHOLE:
            _convert(section, WHOLE[name], shown)
        elif name in ROWS:
            _rows(section, ROWS[name], shown)
        elif name == "extra_probes":
            _programs(section, shown)
        else:
            raise Malformed(f"{shown}: nobody asked for that")


def _rows(section: Any, kind: Any, where: str) -> None:
    if not isinstance(section, dict):
        raise Malformed(f"{where} is no object")
    _convert({key: section[key] for key in section if key in HEAD}, Head, where)
    for key, row in section.items():
        if key not in HEAD:
            _convert(row, kind, f"{where}.{plain(key, 100)}")


def _programs(section: Any, where: str) -> None:
    if not isinstance(section, dict):
        raise Malformed(f"{where} is no object")
    _convert({key: section[key] for key in section if key in HEAD}, Head, where)
    for key, row in section.items():
        if key in HEAD:
            continue
        kind = PROGRAMS.get(key, dict[str, Any])  # a program that nobody knows is nobody's to read
        refusal = isinstance(row, dict) and set(row) <= {"why", "pending"} and row
        _convert(row, Why if refusal else kind, f"{where}.{plain(key, 60)}")


def _convert(value: Any, kind: Any, where: str) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        told, _, path = str(error).partition(" - at `$")
        raise Malformed(f"{where}{plain(path.rstrip('`'), 200)}: {plain(told, 200)}") from None
    except RecursionError:
        raise Malformed(f"{where} is nested too deep") from None
    except UnicodeEncodeError:  # half a letter in a field's name; msgspec cannot even say so
        raise Malformed(f"{where} has a field whose name is no text") from None


def clean(body: Any) -> None:
    """Control characters, bidi marks and escapes out of the words that a host says, and a bound on each."""
    for holder, key, text in _words(body):
        # Of many complaints the last count; they stay lines, since commands say one thing on each.
        holder[key] = plain(text[-LONGEST_SAID:], LONGEST_SAID, keep="\n" if key == "err" else "")


def _words(body: Any) -> Iterator[tuple[Any, Any, str]]:
    todo = [body]
    while todo:
        value = todo.pop()
        if type(value) is list:
            todo += [inner for inner in value if type(inner) is dict or type(inner) is list]
            continue
        for key, inner in value.items():
            kind = type(inner)  # values out of JSON are of no other type than these
            if kind is str:
                if key in SAID:
                    yield value, key, inner
            elif kind is dict:
                if key in ("unreadable", "failed"):
                    for path, why in inner.items():
                        if type(why) is str:
                            yield inner, path, why
                todo.append(inner)
            elif kind is list:
                todo.append(inner)


class _Wrong(ValueError):
    """What is wrong with the JSON, in our words."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Wrong("it names a field twice")
    return made


def _constant(word: str) -> float:
    raise _Wrong(f"{word} is no number")
