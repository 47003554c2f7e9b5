"""Pictures, by their marks, lengths and, in PNG, checksums; nothing is decoded."""

import zlib

from dogwatch.remote.integrity.body import Body, Broken, Report

PNG = b"\x89PNG\r\n\x1a\n"


def check_png(body: Body) -> Report:
    place = 8
    while True:
        length = body.number(place, 4, "a chunk", "big")
        kind = body.at(place + 4, 4, "a chunk")
        running, at = zlib.crc32(kind), place + 8
        if at + length + 4 > body.size:
            raise Broken("ends in the middle of a chunk")
        for piece in body.pieces(at, at + length):
            running = zlib.crc32(piece, running)
        if running != body.number(at + length, 4, "a chunk", "big"):
            raise Broken("is damaged: the checksum of a chunk does not match")
        place = at + length + 4
        if kind == b"IEND":
            return Report()


def check_jpeg(body: Body) -> Report:
    """Marker by marker to the scan, and the end-of-image mark at the end; cameras and phones add to that."""
    place = 2
    while True:
        mark = body.at(place, 2, "its headers")
        if mark[0] != 0xFF:
            raise Broken("has damaged headers")
        if mark[1] == 0xFF:
            place += 1
            continue
        if mark[1] == 0xDA:
            break
        if mark[1] == 0xD9:
            return Report()
        place += 2 + (0 if mark[1] == 1 or 0xD0 <= mark[1] <= 0xD8 else body.number(place + 2, 2, "its headers", "big"))
    tail = body.at(max(0, body.size - (1 << 16)), min(body.size, 1 << 16))
    if b"\xff\xd9" not in tail:
        raise Broken("ends without the mark of its end")
    return Report(note="" if tail.rstrip(b"\0").endswith(b"\xff\xd9") else "something follows the mark of its end")


def check_gif(body: Body) -> Report:
    """Block after block to the trailer."""
    flags = body.number(10, 1, "its header")
    place = 13 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
    while True:
        kind = body.number(place, 1, "its blocks")
        if kind == 0x3B:
            return Report()
        if kind == 0x21:
            place += 2
        elif kind == 0x2C:
            flags = body.number(place + 9, 1, "a picture")
            place += 11 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
        else:
            raise Broken("has a damaged block")
        size = body.number(place, 1, "a block")
        while size:
            place += 1 + size
            size = body.number(place, 1, "a block")
        place += 1


def check_bmp(body: Body) -> Report:
    if body.number(2, 4, "its header") > body.size:
        raise Broken("is shorter than its header says")
    return Report()


def check_riff(body: Body) -> Report:
    """WebP, and WAV and AVI with it."""
    if body.number(4, 4, "its header") + 8 > body.size:
        raise Broken("is shorter than its header says")
    return Report()
