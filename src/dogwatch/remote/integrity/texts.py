"""Texts that a program writes: JSON, JSON lines, tables of separated values. Taken as finished."""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from dogwatch.remote.integrity.body import Body, Broken, Report, Spent, Unclear

LOADED_MOST = 64 << 20
LINE_MOST = 64 << 20
FIELDS_MOST = 1000000  # of a row; each of its fields is an object, and a short one takes twenty times its text
DEEPEST = 10000
JSON_TOKEN = re.compile(rb'[\[\]{}"]')
STRING_END = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
SAMPLE = 1 << 16
ENCODINGS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


def nothing(_: "Any") -> None:
    return None


# Built without what it is built of: memory goes by the longest list, not by the file.
LIGHT = json.JSONDecoder(object_pairs_hook=nothing, parse_float=nothing, parse_int=nothing)


def parse(text: str, where: str) -> "Any":
    try:
        return LIGHT.decode(text)
    except RecursionError:
        raise Unclear("is nested too deeply to check") from None
    except ValueError as error:
        place = getattr(error, "pos", 0)
        ends = place >= len(text.rstrip()) or "Unterminated" in str(error)
        what = "ends in the middle of %s" % where if ends else "is not JSON: %s" % str(error)[:120]
        raise Broken(what) from None


def decoded(text: bytes) -> str:
    coding = next((name for mark, name in ENCODINGS if text.startswith(mark)), "utf-8")
    try:
        return text.decode(coding)
    except UnicodeDecodeError as error:
        if error.end >= len(text) and coding == "utf-8":
            raise Broken("ends in the middle of a character") from None
        raise Broken("is not text in %s (byte %d)" % (coding, error.start)) from None


def check_json(body: Body) -> Report:
    if holds_lines(body):
        return check_jsonl(body)
    if body.size > LOADED_MOST:
        return check_large_json(body)
    value = parse(decoded(body.at(0, body.size)).strip(), "a value")
    return Report(len(value) if isinstance(value, list) else None)


def holds_lines(body: Body) -> bool:
    """Whether a whole object stands on the first line and another one begins on the next: many programs write JSON
    lines under the name of JSON."""
    first, _, rest = body.at(0, min(body.size, SAMPLE)).partition(b"\n")
    if first.lstrip()[:1] != b"{" or rest.lstrip()[:1] != b"{":
        return False
    try:
        parse(decoded(first).strip(), "a line")
    except (Broken, Unclear):
        return False
    return True


def check_large_json(body: Body) -> Report:
    """That every bracket and string of a text that is too large to hold is closed, and the last one closes it all."""
    depth, pending, opened, closed = bytearray(), b"", False, False
    for piece in body.pieces():
        text, place = pending + piece, 0
        pending = b""
        while True:
            found = JSON_TOKEN.search(text, place)
            rest = text[place : found.start() if found else len(text)]
            if closed and rest.strip():
                raise Broken("has data after its end")
            if b"\0" in rest:
                raise Broken("has zeros in it where text should be")
            if found is None:
                break
            place, token = found.end(), found.group()
            if token == b'"':
                end = STRING_END.match(text, place)
                if end is None:
                    if len(text) - place > LINE_MOST:
                        raise Unclear("has a string that is too long to check")
                    pending = text[place - 1 :]
                    break
                place = end.end()
            elif token in b"[{":
                depth += token
                if len(depth) > DEEPEST:
                    raise Unclear("is nested too deeply to check")
            elif not depth or depth.pop() != (b"[" if token == b"]" else b"{")[0]:
                raise Broken("closes a bracket that was never opened")
            opened = True
            closed = not depth
    if not opened or depth or pending:
        raise Broken("ends in the middle of a value")
    return Report(note="its brackets and strings are complete; it is too large to read every value")


def lines_of(body: Body) -> "Iterator[bytes]":
    rest = b""
    for piece in body.pieces():
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        if len(rest) > LINE_MOST:
            raise Unclear("has a line that is too long to check")
        for line in lines:
            yield line
    if rest:
        yield rest


def check_jsonl(body: Body) -> Report:
    count, number = 0, 0
    try:
        for line in lines_of(body):
            number += 1
            if not line.strip():
                continue
            if not line.strip(b"\0"):
                raise Broken("is filled with zeros from line %d on" % number)
            try:
                parse(decoded(line).strip(), "its last line")
            except Broken as problem:
                raise Broken("%s (line %d)" % (problem, number)) from None
            count += 1
    except Spent:
        return last_line_of(body, count)
    return Report(count)


def last_line_of(body: Body, read: int) -> Report:
    """Where there is no time for all lines: the last one at least."""
    body.budget.amount, body.budget.until = max(body.budget.amount, 4 << 20), body.budget.until + 2.0
    tail = body.at(max(0, body.size - (2 << 20)), min(body.size, 2 << 20)).rstrip()
    parse(decoded(tail[tail.rfind(b"\n") + 1 :]), "its last line")
    return Report(note="only its first %d lines and the last one were read" % read)


def check_table(body: Body, separator: str) -> Report:
    """Rows of equal width, as many as the header has; a last row that is short was cut."""
    if separator == ",":
        head = body.at(0, min(body.size, SAMPLE)).partition(b"\n")[0]
        separator = max(",;\t|", key=lambda char: (head.count(char.encode()), char == ","))
    width, count, short = 0, 0, 0
    csv.field_size_limit(LINE_MOST)
    lines = RowLines(body, separator)
    try:
        for row in csv.reader(lines, delimiter=separator, strict=True):
            lines.end_row()
            if short:
                raise Broken("has %d fields in row %d and %d in its first" % (short, count, width))
            if not row:
                continue
            count += 1
            width = width or len(row)
            short = len(row) if len(row) != width else 0
    except csv.Error as error:
        what = "ends in the middle of a quoted field" if "end of data" in str(error) else "is not a table: %s" % error
        raise Broken(what) from None
    if short:
        raise Broken("ends in the middle of row %d" % count if short < width else "has too many fields in its last row")
    return Report(max(0, count - 1))


class RowLines:
    """The lines of a table, and no row of it, over however many lines, that would fill the memory."""

    def __init__(self, body: Body, separator: str) -> None:
        self._lines, self._separator = text_lines(body), separator
        self.end_row()

    def __iter__(self) -> "RowLines":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._fields += line.count(self._separator) + 1
        self._size += len(line)
        if self._fields > FIELDS_MOST or self._size > LINE_MOST:
            raise Unclear("has a row that is too long to check")
        return line

    def end_row(self) -> None:
        """The row that was begun is whole."""
        self._fields = self._size = 0


def text_lines(body: Body) -> "Iterator[str]":
    for line in lines_of(body):
        if b"\0" in line:
            raise Broken("has zeros in it where text should be")
        for part in io.StringIO(decoded(line).rstrip("\r") + "\n", newline="\n"):
            yield part
