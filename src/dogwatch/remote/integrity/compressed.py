"""Compressed streams: read to their end without keeping anything, so that every checksum in them is tried."""

import zlib
from collections.abc import Iterator
from typing import Any

from dogwatch.remote.integrity.body import CHUNK, Body, Broken, Report, Unclear

CHEAPER = 16  # unpacked bytes cost less than bytes from a disk


def members(kind: str) -> "tuple[Any, tuple[type[Exception], ...]]":
    """How a member is begun, and what one that is damaged raises. Not every Python is built with all of these."""
    if kind == "gzip":
        return (lambda: zlib.decompressobj(31)), (zlib.error,)
    try:
        if kind == "bzip2":
            import bz2

            return bz2.BZ2Decompressor, (OSError, ValueError)
        import lzma

        return (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, 256 << 20)), (lzma.LZMAError,)
    except ImportError:
        raise Unclear("is packed in a way that the Python there cannot read") from None


def unpacked(body: Body, kind: str) -> "Iterator[bytes]":
    """What a file of one or more members unpacks to, in pieces; Broken where a member fails its own check."""
    if kind == "zstd":
        yield from unpacked_zstd(body)
        return
    start, wrong = members(kind)
    member, fresh, first = start(), True, True
    for piece in body.pieces():
        rest = piece
        while rest:
            if fresh and not first and not rest.strip(b"\0"):
                break  # what a tape or a block device adds
            try:
                for got in outputs(member, rest):
                    body.budget.take(len(got) // CHEAPER)
                    yield got
            except wrong as error:
                raise Broken("is damaged: %s" % (str(error).split(": ")[-1] or "its data cannot be unpacked")) from None
            fresh = False
            if not member.eof:
                break
            rest = member.unused_data
            member, fresh, first = start(), True, False
    if not fresh:
        raise Broken("ends in the middle of its compressed data")


def outputs(member: "Any", piece: bytes) -> "Iterator[bytes]":
    """Everything that a piece unpacks to, a chunk at a time: a bomb costs time, and not memory."""
    by_tail = hasattr(member, "unconsumed_tail")
    while True:
        yield member.decompress(piece, CHUNK)
        piece = member.unconsumed_tail if by_tail else b""
        if member.eof or (not piece if by_tail else member.needs_input):
            return


def check_stream(body: Body, kind: str) -> Report:
    for _ in unpacked(body, kind):
        pass
    return Report()


ZSTD_MAGIC, ZSTD_SKIPPABLE = 0xFD2FB528, 0x184D2A50


def check_zstd(body: Body) -> Report:
    """Frame by frame and block by block, which any truncation upsets; then through the system's libzstd, if there is
    one, for what is inside the blocks."""
    place, frames = 0, 0
    while place < body.size:
        place = zstd_frame(body, place)
        frames += 1
    if zstd_library() is None:
        return Report(frames, "its blocks are all there; what is in them was not unpacked, since there is no libzstd")
    for _ in unpacked_zstd(body):
        pass
    return Report()


def zstd_frame(body: Body, place: int) -> int:
    """The end of the frame that begins here."""
    magic = body.number(place, 4, "the mark of a frame")
    if magic & 0xFFFFFFF0 == ZSTD_SKIPPABLE:
        end = place + 8 + body.number(place + 4, 4, "a skippable frame")
        if end > body.size:
            raise Broken("ends in the middle of a skippable frame")
        return end
    if magic != ZSTD_MAGIC:
        raise Broken("has something after its last frame that is not a frame")
    mode = body.number(place + 4, 1, "the header of a frame")
    single, checksum = mode >> 5 & 1, mode >> 2 & 1
    size_bytes = (1 if single else 0, 2, 4, 8)[mode >> 6]
    place += 5 + (0 if single else 1) + (0, 1, 2, 4)[mode & 3] + size_bytes
    while True:
        header = body.number(place, 3, "a block")
        kind, size = header >> 1 & 3, header >> 3
        if kind == 3:
            raise Broken("has a block of a kind that does not exist")
        place += 3 + (1 if kind == 1 else size)
        if header & 1:
            break
    place += 4 * checksum
    if place > body.size:
        raise Broken("ends in the middle of a frame")
    return place


def zstd_library() -> "Any":
    """The system's libzstd with the few functions that are used, and what it takes; or None."""
    try:
        import ctypes

        class ZstdBuffer(ctypes.Structure):
            """ZSTD_inBuffer and ZSTD_outBuffer, which look the same."""

            _fields_ = [("text", ctypes.c_void_p), ("size", ctypes.c_size_t), ("place", ctypes.c_size_t)]

        library = ctypes.CDLL("libzstd.so.1")
        library.ZSTD_createDStream.restype = ctypes.c_void_p
        library.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
        buffer = ctypes.POINTER(ZstdBuffer)
        library.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, buffer, buffer]
        library.ZSTD_decompressStream.restype = ctypes.c_size_t
        library.ZSTD_isError.argtypes = [ctypes.c_size_t]
        library.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
        library.ZSTD_getErrorName.restype = ctypes.c_char_p
    except (ImportError, OSError, AttributeError):
        return None
    return library, ctypes, ZstdBuffer


def unpacked_zstd(body: Body) -> "Iterator[bytes]":
    found = zstd_library()
    if found is None:
        return
    library, ctypes, buffer = found
    stream = library.ZSTD_createDStream()
    room = ctypes.create_string_buffer(CHUNK)
    try:
        wanted = 0
        for piece in body.pieces():
            given = buffer(ctypes.cast(ctypes.c_char_p(piece), ctypes.c_void_p), len(piece), 0)
            while True:
                got = buffer(ctypes.cast(room, ctypes.c_void_p), CHUNK, 0)
                wanted = library.ZSTD_decompressStream(stream, ctypes.byref(got), ctypes.byref(given))
                if library.ZSTD_isError(wanted):
                    raise Broken("is damaged: %s" % library.ZSTD_getErrorName(wanted).decode("ascii", "replace"))
                body.budget.take(got.place // CHEAPER)
                yield room.raw[: got.place]
                # 0: the frame is complete and all of it is out, also when it has just filled the room.
                if given.place == given.size and (wanted == 0 or got.place < got.size):
                    break
        if wanted:
            raise Broken("ends in the middle of its compressed data")
    finally:
        library.ZSTD_freeDStream(stream)
