"""Columnar tables: Parquet by its footer and pages, Arrow by its footer or its messages."""

import struct
import zlib
from typing import Any

from dogwatch.remote.integrity.body import Body, Broken, Report, Unclear

PARQUET, ARROW, FEATHER_1 = b"PAR1", b"ARROW1", b"FEA1"
DEEP = 32


class Thrift:
    """Thrift's compact protocol as {field: value}, without knowing the schema."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.place = 0

    def byte(self) -> int:
        self.place += 1
        return self.text[self.place - 1]

    def whole(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 70:
                raise Broken("has a damaged footer")

    def signed(self) -> int:
        value = self.whole()
        return value >> 1 ^ -(value & 1)

    def value(self, kind: int, depth: int) -> "Any":
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind in (7, 8):
            size = 8 if kind == 7 else self.whole()
            self.place += size
            if self.place > len(self.text):
                raise IndexError(size)
            return None
        if kind in (9, 10):
            return self.items(depth + 1)
        if kind == 12:
            return self.struct(depth + 1)
        raise Broken("has a damaged footer")

    def items(self, depth: int) -> "list[Any]":
        head = self.byte()
        count, kind = head >> 4, head & 15
        count = self.whole() if count == 15 else count
        if count > len(self.text) - self.place or depth > DEEP:  # each takes a byte at least
            raise Broken("has a damaged footer")
        if kind in (1, 2):
            return [self.byte() == 1 for _ in range(count)]
        return [self.value(kind, depth) for _ in range(count)]

    def struct(self, depth: int = 0) -> "dict[int, Any]":
        fields: "dict[int, Any]" = {}
        name = 0
        while depth <= DEEP:
            head = self.byte()
            if head == 0:
                return fields
            name = name + (head >> 4) if head >> 4 else self.signed()
            fields[name] = self.value(head & 15, depth)
        raise Broken("has a damaged footer")


def check_parquet(body: Body) -> Report:
    """The footer, that every column chunk lies before it, and the checksum of every page that carries one."""
    if body.size < 12 or body.at(body.size - 4, 4) != PARQUET:
        raise Broken("ends without the mark of its end")
    length = body.number(body.size - 8, 4, "its footer")
    start = body.size - 8 - length
    if start < 4:
        raise Broken("has a damaged footer (impossible length)")
    try:
        footer = Thrift(body.at(start, length)).struct()
        rows, groups = int(footer[3]), footer[4]
        chunks = [column for group in groups for column in group[1]]
        counted = sum(int(group[3]) for group in groups)
        tried = sum(try_chunk(body, chunk, start) for chunk in chunks)
    except (LookupError, TypeError, ValueError, struct.error):
        raise Broken("has a damaged footer") from None
    if counted != rows:
        raise Broken("says %d rows but has row groups for %d" % (rows, counted))
    note = "" if tried else "its pages are all there; they carry no checksums"
    return Report(rows, note if chunks else "")


def try_chunk(body: Body, chunk: "dict[int, Any]", footer: int) -> int:
    """Walk the pages of a column chunk; how many of them carried a checksum that was right."""
    if 3 not in chunk:
        raise Unclear("keeps its columns' description elsewhere")
    told = chunk[3]
    begin = min(told[9], told.get(11) or told[9])
    end = begin + told[7]
    if not 4 <= begin <= end <= footer:
        raise Broken("has a column outside of the file")
    tried, place = 0, begin
    while place < end:
        thrift = Thrift(body.at(place, min(1 << 16, end - place)))
        try:
            page = thrift.struct()
            size = int(page[3])
        except (LookupError, TypeError, Broken):
            raise Broken("has a damaged page") from None
        place += thrift.place
        if size < 0 or place + size > end:
            raise Broken("has a damaged page")
        if isinstance(page.get(4), int):
            tried += 1
            if zlib.crc32(body.at(place, size)) != page[4] & 0xFFFFFFFF:
                raise Broken("is damaged: the checksum of a page does not match")
        place += size
    return tried


class Flat:
    """A table of a flatbuffer."""

    def __init__(self, text: bytes, place: int) -> None:
        self.text = text
        self.place = place
        self.fields = place - struct.unpack_from("<i", text, place)[0]
        self.size = struct.unpack_from("<H", text, self.fields)[0]

    def field(self, number: int) -> int:
        """Where the value of a field stands, or 0."""
        at = 4 + 2 * number
        if at + 2 > self.size:
            return 0
        offset = struct.unpack_from("<H", self.text, self.fields + at)[0]
        return self.place + offset if offset else 0


def root(text: bytes) -> Flat:
    return Flat(text, struct.unpack_from("<I", text, 0)[0])


def check_arrow(body: Body) -> Report:
    if body.at(0, min(6, body.size)) == ARROW:
        return check_arrow_file(body)
    return check_arrow_stream(body)


def check_arrow_file(body: Body) -> Report:
    """The footer, and that all record batches lie before it."""
    if body.size < 20 or body.at(body.size - 6, 6) != ARROW:
        raise Broken("ends without the mark of its end")
    length = body.number(body.size - 10, 4, "its footer")
    start = body.size - 10 - length
    if start < 8:
        raise Broken("has a damaged footer (impossible length)")
    try:
        text = body.at(start, length)
        footer = root(text)
        for number in (2, 3):  # dictionaries, record batches
            at = footer.field(number)
            if not at:
                continue
            at += struct.unpack_from("<I", text, at)[0]
            count = struct.unpack_from("<I", text, at)[0]
            for n in range(count):
                offset, head, _, size = struct.unpack_from("<qiiq", text, at + 4 + 24 * n)
                if offset < 8 or head < 0 or size < 0 or offset + head + size > start:
                    raise Broken("has a record batch outside of the file")
    except struct.error:
        raise Broken("has a damaged footer") from None
    return Report()


def check_arrow_stream(body: Body) -> Report:
    """Message after message up to the mark that ends a stream; what Hugging Face datasets keep."""
    place = 0
    while True:
        if place >= body.size:
            raise Broken("ends without the mark of its end")
        first = body.number(place, 4, "a message")
        head, place = (body.number(place + 4, 4, "a message"), place + 8) if first == 0xFFFFFFFF else (first, place + 4)
        if head == 0:
            break
        try:
            message = root(body.at(place, head, "a message"))
            kind, at = message.field(1), message.field(3)
            size = struct.unpack_from("<q", message.text, at)[0] if at else 0
            if kind >= len(message.text):
                raise IndexError(kind)
        except (struct.error, IndexError):
            raise Broken("has a damaged message") from None
        place += head + size
        if size < 0 or place > body.size:
            raise Broken("ends in the middle of a record batch")
    return Report(None, "" if place == body.size else "something follows the mark of its end")


def check_feather(body: Body) -> Report:
    if body.at(max(0, body.size - 4), min(4, body.size)) != FEATHER_1:
        raise Broken("ends without the mark of its end")
    return Report()
