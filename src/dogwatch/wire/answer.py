"""A place's answer: bounded, parsed, its words made harmless and checked field by field, before anything reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from dogwatch.text import plain
from dogwatch.wire.box import NO_BOX, BoxSection
from dogwatch.wire.commands import NO_COMMANDS, CommandsSection
from dogwatch.wire.limits import LONGEST_WORDS, Said
from dogwatch.wire.programs import PROGRAMS, Why
from dogwatch.wire.sections import (
    NO_PROCESSES,
    ROWS,
    WHOLE,
    Clock,
    Disks,
    Files,
    GpuMetrics,
    Head,
    Logs,
    ProcessSection,
    Texts,
    Usage,
)

Row = TypeVar("Row")
Kind = TypeVar("Kind")

MOST_BYTES = 100_000_000
# Brackets, commas and texts: what a parser makes an object of, each many times as large as what was sent.
MOST_PARTS = 2_000_000
_PART = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"?|[\[{,]')
HEAD = frozenset(("ok", "seconds", "why", "late"))
TOP = {
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


class Rows(Struct, Generic[Row]):
    """A section that has a row for each job or program, and what it says of itself. One that is not there has none."""

    ok: bool = False
    why: str = ""
    late: list[str] = []
    rows: dict[str, Row] = {}


class CheckedAnswer(Struct):
    """The probe's answer. `body` is the JSON document that it was made of."""

    body: dict[str, Any]
    nonce: str = ""
    error: str | None = None
    clock: Clock | None = None
    boot: str | None = None
    host: str | None = None
    python: str | None = None
    process: ProcessSection | None = None
    commands: CommandsSection | None = None
    box: BoxSection | None = None
    disks: Disks | None = None
    logs: Rows[Logs] = field(default_factory=Rows)
    texts: Rows[Texts] = field(default_factory=Rows)
    files: Rows[Files] = field(default_factory=Rows)
    gpu_metrics: Rows[GpuMetrics | None] = field(default_factory=Rows)
    usage: Rows[Usage] = field(default_factory=Rows)
    extra_probes: Rows[object] = field(default_factory=Rows)

    def section(self, name: str) -> ProcessSection | CommandsSection | BoxSection:
        """What a source reads; one that did not come says so."""
        match name:
            case "process":
                return self.process or NO_PROCESSES
            case "box":
                return self.box or NO_BOX
            case _:
                return self.commands or NO_COMMANDS

    def program(self, key: str, kind: type[Kind]) -> Kind | None:
        """What an extra probe brought; None where it brought nothing."""
        row = self.extra_probes.rows.get(key)
        return row if isinstance(row, kind) else None


def read(reply: bytes) -> CheckedAnswer:
    """The document that a place sent, checked; Malformed if anything in it is not what it should be."""
    if len(reply) > MOST_BYTES:
        raise Malformed(f"it is larger than {MOST_BYTES // 1_000_000} MB")
    if _parts(reply) > MOST_PARTS:
        raise Malformed(f"it has more than {MOST_PARTS:,} parts")
    try:
        body = _parsed(reply)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)[:200] if isinstance(error, _Wrong) else "it is not JSON") from None
    if not isinstance(body, dict):
        raise Malformed("it is not a JSON object")
    return checked(body)


def _parsed(reply: bytes) -> Any:
    """The document, quickly where it is plain to see that no field is named twice: what refuses that calls us for every
    object. What the quick parser does not take is refused, or taken, by the other."""
    try:
        body = msgspec.json.decode(reply)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        body = None
    if body is not None and _names_once(reply, body):
        return body
    return json.loads(reply, object_pairs_hook=_object, parse_constant=_constant)


def _names_once(reply: bytes, body: Any) -> bool:
    """Whether the objects have as many names as there are quotes before colons. That says nothing where blanks may
    stand between the two, or where a quote may not be one."""
    if not isinstance(body, dict | list):
        return True
    if b"\\\\" in reply:
        return False
    bare = reply.replace(b'\\"', b"")
    if any(mark in bare for mark in (b'" ', b'"\t', b'"\n', b'"\r')):
        return False
    names, todo = 0, [body]
    for value in todo:  # which grows
        names += len(value) if type(value) is dict else 0
        within = value.values() if type(value) is dict else value
        todo += [inner for inner in within if type(inner) is dict or type(inner) is list]
    return bare.count(b'":') == names


def _parts(reply: bytes) -> int:
    """How many parts a document has, counted before anything is made of them; what stands inside a text is none."""
    most = sum(reply.count(mark) for mark in (b'"', b",", b"[", b"{"))
    if most <= MOST_PARTS:
        return most
    return sum(1 for _ in islice(_PART.finditer(reply), MOST_PARTS + 1))


def checked(body: dict[str, Any]) -> CheckedAnswer:
    """Every field against its type; the first that is wrong is named by its path. Words are cleaned in `body` too."""
    clean(body)
    answer = CheckedAnswer(body)
    for name, section in body.items():
        shown = plain(name, 60)
        if name in TOP:
            setattr(answer, name, _convert(section, TOP[name], shown))
        elif name in WHOLE:
            setattr(answer, name, _convert(section, WHOLE[name], shown))
        elif name == "box":
            answer.box = _convert(section, BoxSection, shown)
        elif name in ROWS:
            setattr(answer, name, _rows(section, ROWS[name], shown))
        elif name == "extra_probes":
            answer.extra_probes = _programs(section, shown)
        else:
            raise Malformed(f"{shown}: not requested")
    return answer


def _rows(section: Any, kind: Any, where: str) -> Rows[Any]:
    answer, rows = _without_head(section, where)
    try:
        answer.rows = msgspec.convert(rows, dict[str, kind])
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError):  # which row it is, msgspec does not say
        answer.rows = {key: _convert(row, kind, f"{where}.{plain(key, 100)}") for key, row in rows.items()}
    return answer


def _programs(section: Any, where: str) -> Rows[object]:
    answer, rows = _without_head(section, where)
    for key, row in rows.items():
        kind = PROGRAMS.get(key, dict)  # a program that nobody knows is nobody's to read
        refusal = isinstance(row, dict) and set(row) <= {"why", "pending"} and row
        answer.rows[key] = _convert(row, Why if refusal else kind, f"{where}.{plain(key, 60)}")
    return answer


def _without_head(section: Any, where: str) -> tuple[Rows[Any], Mapping[str, Any]]:
    """What a section says of itself, and its rows."""
    if not isinstance(section, dict):
        raise Malformed(f"{where} is not an object")
    head: Head = _convert({key: section[key] for key in section if key in HEAD}, Head, where)
    return Rows(head.ok, head.why, head.late), {key: row for key, row in section.items() if key not in HEAD}


def _convert(value: Any, kind: Any, where: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        raise Malformed(f"{where}{plain(path.rstrip('`'), 200)}: {plain(problem, 200)}") from None
    except RecursionError:
        raise Malformed(f"{where} is nested too deep") from None
    except UnicodeEncodeError:  # half a letter in a field's name; msgspec cannot even say so
        raise Malformed(f"{where} has a field whose name is not text") from None


def clean(body: Any) -> None:
    """Control characters, bidi marks and escapes out of the words that a host says, and a bound on each."""
    for holder, key, text in _words(body):
        if len(text) > LONGEST_WORDS:
            raise Malformed(f"{plain(key, 100)}: it is longer than {LONGEST_WORDS:,} characters")
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
    raise _Wrong(f"{word} is not a number")
