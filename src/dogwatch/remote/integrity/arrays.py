"""Arrays and tensors: a header that says how long everything is, and a file that must be exactly so long."""

import ast
import json
import re
import struct
from typing import Any

from dogwatch.remote.integrity.body import Body, Broken, Report, Unclear

NPY = b"\x93NUMPY"
DESCR = re.compile(r"^[<>=|]?([?biufcmMSUVO])(\d{0,9})(?:\[[^\]]{1,40}\])?\Z")
SAFE_HEADER_MOST = 100 << 20
SAFE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
    "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
MOST_TENSORS = 2000000


def npy_head(head: bytes, what: str) -> "tuple[int, Any, tuple[int, ...]]":
    """(where the data begins, type, shape) of one array."""
    if head[:6] != NPY:
        raise Broken("holds %s, which is not a NumPy array" % what[:100] if what else "is not a NumPy array")
    wide = head[6:7] != b"\x01"
    start = 12 if wide else 10
    length = int.from_bytes(head[8:start], "little")
    if len(head) < start + length:
        raise Broken("ends in the middle of its header" if length < 1 << 16 else "has a damaged header")
    try:
        told = ast.literal_eval(head[start : start + length].decode("latin-1").strip())
        shape = tuple(told["shape"])
        if not all(isinstance(n, int) and n >= 0 for n in shape):
            raise ValueError(shape)
        return start + length, told["descr"], shape
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise Broken("has a damaged header") from None


def npy_end(start: int, descr: "Any", shape: "tuple[int, ...]") -> "int | None":
    """Where the data ends; None for objects, which are pickled."""
    size = item_size(descr)
    if size is None:
        return None
    for n in shape:
        size *= n
    return start + size


def item_size(descr: "Any") -> "int | None":
    if isinstance(descr, str):
        found = DESCR.match(descr)
        if not found:
            raise Broken("has a damaged header")
        kind, digits = found.groups()
        if kind == "O":
            return None
        return int(digits or 1) * (4 if kind == "U" else 1)
    total = 0
    try:
        for field in descr:
            size = item_size(field[1])
            if size is None:
                return None
            for n in (field[2] if isinstance(field[2], tuple) else (field[2],)) if len(field) > 2 else ():
                size *= n
            total += size
    except (TypeError, IndexError, RecursionError):
        raise Broken("has a damaged header") from None
    return total


def check_npy(body: Body) -> Report:
    """One array, or several saved one behind another."""
    place, rows = 0, None
    while place < body.size:
        start, descr, shape = npy_head(body.at(place, min(1 << 16, body.size - place)), "")
        end = npy_end(start, descr, shape)
        if end is None:
            raise Unclear("holds Python objects, which are not opened because loading them could run code")
        if place + end > body.size:
            raise Broken("is %d bytes too short for the shape in its header" % (place + end - body.size))
        rows = shape[0] if rows is None and shape else rows
        place += end
    return Report(rows)


def check_safetensors(body: Body) -> Report:
    """Header arithmetic: the tensors fill the file from the header's end to its own, without hole or overlap."""
    length = body.number(0, 8, "the length of its header")
    if length > SAFE_HEADER_MOST:
        raise Broken("has a damaged header (impossible length)")
    try:
        head = json.loads(body.at(8, length, "its header").decode("utf-8"))
        rows = [(name, row) for name, row in head.items() if name != "__metadata__"]
        spans = sorted((int(row["data_offsets"][0]), int(row["data_offsets"][1]), name) for name, row in rows)
        bits = {name: tensor_bits(row) for name, row in rows}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise Broken("has a damaged header") from None
    place = 0
    for begin, end, name in spans:
        if begin != place or end < begin:
            raise Broken("has a hole or an overlap before the tensor %s" % name[:100])
        told = bits[name]
        if told is not None and (told + 7) // 8 != end - begin:
            raise Broken("gives the tensor %s another size than its shape" % name[:100])
        place = end
    left = body.size - 8 - length - place
    if left:
        what = "is %d bytes shorter than its header says" if left < 0 else "is %d bytes longer than its header says"
        raise Broken(what % abs(left))
    return Report(len(spans))


def tensor_bits(row: "Any") -> "int | None":
    size = SAFE_BITS.get(row["dtype"])
    if size is None:
        return None
    for n in row["shape"]:
        if not isinstance(n, int) or n < 0:
            raise ValueError(n)
        size *= n
    return size


# ggml's types: how many weights make a block, and how many bytes a block has.
GGML = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
    23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2),
    34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip
GGUF_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
GGUF_TEXT, GGUF_LIST = 8, 9


class GgufHead:
    """The part of a GGUF before its tensors, read once from front to back."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.place = 4
        self.held, self.held_at = b"", 0

    def take(self, count: int) -> bytes:
        if count > 1 << 30:
            raise Broken("has a damaged header")
        if self.place < self.held_at or self.place + count > self.held_at + len(self.held):
            want = max(count, min(1 << 16, self.body.size - self.place))
            self.held, self.held_at = self.body.at(self.place, want, "its header"), self.place
        at = self.place - self.held_at
        self.place += count
        return self.held[at : at + count]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def text(self) -> bytes:
        return self.take(self.number(8))

    def value(self, kind: int, depth: int = 0) -> "Any":
        if kind in GGUF_SIZES:
            return self.number(GGUF_SIZES[kind])
        if kind == GGUF_TEXT:
            return self.text()
        if kind != GGUF_LIST or depth > 4:
            raise Broken("has a damaged header (a value of type %d)" % kind)
        kind, count = self.number(4), self.number(8)
        if kind in GGUF_SIZES:
            return self.take(GGUF_SIZES[kind] * count)
        for _ in range(count):
            self.value(kind, depth + 1)
        return None


def check_gguf(body: Body) -> Report:
    head = GgufHead(body)
    version = head.number(4)
    if version not in (2, 3):
        raise Unclear("is GGUF of version %d, which is not known here" % version)
    tensors, values = head.number(8), head.number(8)
    if tensors > MOST_TENSORS or values > MOST_TENSORS:
        raise Broken("has a damaged header")
    alignment = 32
    for _ in range(values):
        name, kind = head.text(), head.number(4)
        told = head.value(kind)
        if name == b"general.alignment" and isinstance(told, int) and told:
            alignment = told
    end, unknown = 0, 0
    for _ in range(tensors):
        name, count = head.text(), 1
        for _dimension in range(min(head.number(4), 8)):
            count *= head.number(8)
        block = GGML.get(head.number(4))
        offset = head.number(8)
        size = count // block[0] * block[1] if block else 1
        unknown += block is None
        end = max(end, offset + size)
    start = head.place + -head.place % alignment
    if tensors and start + end > body.size:
        raise Broken("is %d bytes shorter than its header says" % (start + end - body.size))
    return Report(tensors, "%d tensors are of a type that is not known here" % unknown if unknown else "")


HDF5 = b"\x89HDF\r\n\x1a\n"


def check_hdf5(body: Body) -> Report:
    """The superblock says where the file ends; from version 2 on it carries a checksum of itself."""
    place = 0
    while body.size >= place + 8 and body.at(place, 8) != HDF5:
        place = place * 2 or 512
    if body.size < place + 9:
        raise Broken("ends before its superblock")
    version = body.number(place + 8, 1, "its superblock")
    if version in (0, 1):
        width = body.number(place + 13, 1, "its superblock")
        first = place + (24 if version == 0 else 28)
        base, end = (body.number(first + n * width, width, "its superblock") for n in (0, 2))
    elif version in (2, 3):
        width = body.number(place + 9, 1, "its superblock")
        base, end = (body.number(place + 12 + n * width, width, "its superblock") for n in (0, 2))
        whole = body.at(place, 12 + 4 * width, "its superblock")
        if lookup3(whole) != body.number(place + 12 + 4 * width, 4, "its superblock"):
            raise Broken("has a damaged superblock (its checksum does not match)")
    else:
        raise Broken("has a superblock of version %d, which does not exist" % version)
    end += base if version in (0, 1) and base == place else 0
    if end > body.size:
        raise Broken("is %d bytes shorter than its superblock says" % (end - body.size))
    return Report(note="its length is right; HDF5 keeps no checksum of the data")


def lookup3(text: bytes) -> int:
    """Bob Jenkins' hash of 2006, which HDF5 takes for its metadata."""
    full = 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(text)) & full
    while len(text) > 12:
        x, y, z = words3(text[:12])
        a, b, c = (a + x) & full, (b + y) & full, (c + z) & full
        for bits in (4, 6, 8, 16, 19, 4):
            a = ((a - c) & full) ^ rotated(c, bits)
            c = (c + b) & full
            a, b, c = b, c, a
        text = text[12:]
    if not text:
        return c
    x, y, z = words3(text)
    a, b, c = (a + x) & full, (b + y) & full, (c + z) & full
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, bits)) & full
        a, b, c = b, c, a
    return b


def words3(text: bytes) -> "tuple[int, int, int]":
    x, y, z = struct.unpack("<III", text.ljust(12, b"\0"))
    return x, y, z


def rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF
