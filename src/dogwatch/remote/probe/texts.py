"""Texts: files for somebody to read now: their last lines, what follows an offset, or the whole of a small one."""

import os

from dogwatch.remote.probe.allowed_paths import RealFolders
from dogwatch.remote.probe.logs import MAX
from dogwatch.remote.probe.paths import Allowance, expand, newest, real_folders, regular
from dogwatch.remote.probe.wire import Fields, Refused, dec, enc, number
from dogwatch.remote.shapes import TextFile, Texts


def read_texts(spec: Fields, allowance: Allowance) -> "Texts":
    """The files that `known` names by path (each with an offset to go on from, or null) and those that `globs` match;
    one without an offset by its last `lines` lines, or whole when no number of lines is given; one that is too large
    for that by its last `tail` bytes."""
    most, cap = spec.number("max", 1, 8 << 20, MAX), spec.number("files", 1, 4096, 64)
    lines = spec.number("lines", 0, 1 << 31) if "lines" in spec else None
    tail = spec.number("tail", 0, 8 << 20, 0)
    known = {
        enc(path): None if at is None else number(at, "offset", 0, 1 << 62)
        for path, at in spec.mapping("known").items()
    }
    real = real_folders(spec)
    finds = expand(spec.texts("globs"), allowance, real)
    for path in known:
        if not finds.lstat(path) and dec(path) not in finds.unreadable:
            finds.missing.append(dec(path))
    files: "dict[str, TextFile]" = {}
    for path in sorted(newest(finds.stats, cap)):
        try:
            regular(finds.stats[path])
            files[dec(path)] = read_text(path, known.get(path), lines, most, allowance, real, tail)
        except OSError as error:
            finds.trouble(path, error)
        except Refused as problem:
            finds.unreadable[dec(path)] = str(problem)
    capped = finds.capped or len(finds.stats) > cap
    answer: "Texts" = {"files": files, "missing": finds.missing, "unreadable": finds.unreadable, "capped": capped}
    real.add_to(answer)
    return answer


def read_text(
    path: bytes,
    offset: "int | None",
    lines: "int | None",
    most: int,
    allowance: Allowance,
    real: RealFolders,
    tail: int = 0,
) -> "TextFile":
    """One file; a file that is shorter than the offset was begun anew and is read from its start."""
    at = offset or 0
    fd = real.open(path)
    try:
        row = os.fstat(fd)
        regular(row)
        reset = at > row.st_size
        if reset:
            at = 0
        elif offset is None and lines is not None:
            at = max(0, row.st_size - most)
        elif offset is None and row.st_size > most:
            if not tail:
                raise Refused("is larger than %d bytes" % most)
            at = row.st_size - min(tail, most)
        text = os.pread(fd, min(most, row.st_size - at), at)
    finally:
        os.close(fd)
    if offset is None and lines is not None:
        cut = last_lines(text, lines)
        at, text = at + cut, text[cut:]
    allowance.bytes -= len(text)
    if allowance.bytes < 0:
        raise Refused("was left out: the answer would be too large")
    end, size, mtime = at + len(text), row.st_size, row.st_mtime
    return {"text": text.decode("latin-1"), "from": at, "offset": end, "size": size, "mtime": mtime, "reset": reset}


def last_lines(text: bytes, lines: int) -> int:
    """Where the last `lines` lines begin; an unfinished last line counts as one."""
    cut = len(text) - 1 if text.endswith(b"\n") else len(text)
    for _ in range(lines):
        cut = text.rfind(b"\n", 0, max(cut, 0))
        if cut < 0:
            return 0
    return cut + 1 if lines else len(text)
