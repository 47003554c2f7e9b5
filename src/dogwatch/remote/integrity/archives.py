"""Archives: zip with what is saved as zip (PyTorch, NumPy), and tar. Listed and tried, never extracted."""

import struct
import zipfile
import zlib
from collections.abc import Iterator

from dogwatch.remote.integrity.arrays import npy_end, npy_head
from dogwatch.remote.integrity.body import CHUNK, Body, BodyFile, Broken, Report, Spent, Unclear
from dogwatch.remote.integrity.compressed import unpacked
from dogwatch.remote.integrity.pickles import MOST_PICKLE, THE_REST, risky_imports, would_run

MOST_ENTRIES = 1000000
BOMB_RATIO, BOMB_SIZE = 500, 1 << 30  # deflate reaches 1,032; what people save, rarely 100
ZIP_WRONG = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OverflowError, UnicodeDecodeError)
BLOCK, RECORDS = 512, (10240, 4096)
ZERO = b"\0" * BLOCK


def check_zip(body: Body) -> Report:
    archive = open_zip(body)
    return Report(len(archive.infolist()), try_entries(archive))


def check_torch(body: Body) -> Report:
    """What `torch.save` wrote: its directory and the checksum of every storage. What is pickled in it stays so."""
    archive = open_zip(body)
    names = [row.filename for row in archive.infolist()]
    if not any(name.endswith(("/data.pkl", "/constants.pkl")) or name == "data.pkl" for name in names):
        raise Broken("is a zip without the data.pkl that every PyTorch file has")
    note = try_entries(archive)
    return Report(sum("/data/" in name for name in names), warning_of(archive) or note)


def warning_of(archive: zipfile.ZipFile) -> str:
    """What the pickles of a PyTorch file would import that no model needs."""
    names: "list[str]" = []
    for row in archive.infolist():
        if THE_REST in names:  # enough was looked at
            break
        if not row.filename.endswith(".pkl"):
            continue
        try:
            with archive.open(row) as member:
                names += risky_imports(member.read(MOST_PICKLE), row.file_size)
        except (Spent, NotImplementedError) + ZIP_WRONG:
            continue
    return would_run(names)


def check_npz(body: Body) -> Report:
    archive = open_zip(body)
    note = try_entries(archive)
    for row in archive.infolist():
        if row.filename.endswith(".npy"):
            with archive.open(row) as member:
                head = member.read(min(1 << 16, max(1, row.file_size - 1)))  # to its end it would be summed up again
            end = npy_end(*npy_head(head, row.filename))
            if end is not None and end != row.file_size:
                raise Broken("holds %s, which is not as long as its header says" % row.filename[:100])
    return Report(len(archive.infolist()), note)


def open_zip(body: Body) -> zipfile.ZipFile:
    """The archive, if its directory is whole and its entries lie one behind another."""
    try:
        archive = zipfile.ZipFile(BodyFile(body))
        rows = sorted(archive.infolist(), key=lambda row: row.header_offset)
    except NotImplementedError:
        raise Unclear("is packed in a way that cannot be read here") from None
    except ZIP_WRONG as error:
        said = "it has no directory at its end" if "not a zip" in str(error) else str(error).rstrip(".")
        raise Broken("is cut or damaged: %s" % (said or "its directory cannot be read")) from None
    if len(rows) > MOST_ENTRIES:
        raise Unclear("has more entries than can be tried")
    end = 0
    for row in rows:
        if row.header_offset < end:
            raise Unclear("has entries that overlap, as only a zip bomb has")
        end = row.header_offset + 30 + row.compress_size
        if end > body.size:
            raise Broken("ends in the middle of %s" % row.filename[:100])
        if row.flag_bits & 1:
            raise Unclear("is encrypted")
    return archive


def try_entries(archive: zipfile.ZipFile) -> str:
    """Compare all entries that there is time for with their checksums; what was left, if anything was."""
    rows, wrong = archive.infolist(), []
    for tried, row in enumerate(rows):
        if row.file_size > BOMB_SIZE and row.file_size > BOMB_RATIO * max(1, row.compress_size):
            raise Unclear("unpacks to far more than it holds, as only a zip bomb does")
        try:
            with archive.open(row) as member:
                while member.read(CHUNK):
                    pass
        except NotImplementedError:
            raise Unclear("is packed in a way that cannot be read here") from None
        except Spent:
            return "the content of %d of %d entries was tried; the rest takes too long" % (tried, len(rows))
        except ZIP_WRONG as error:
            if "CRC" not in str(error):
                raise Broken("is damaged in %s: %s" % (row.filename[:100], str(error)[:100])) from None
            wrong.append(row.filename)
    if len(wrong) == len(rows) > 1 and all(row.compress_type == zipfile.ZIP_STORED for row in rows):
        return "it was saved without checksums"  # torch.serialization.set_crc32_options(False)
    if wrong:
        raise Broken("is damaged: the checksum of %s does not match" % wrong[0][:100])
    return ""


def check_tar(body: Body) -> Report:
    return walk_tar(body.pieces(), True)


def check_packed_tar(body: Body, kind: str) -> Report:
    return walk_tar(unpacked(body, kind), False)


class Stream:
    """Pieces as a thing to read and to skip in."""

    def __init__(self, pieces: "Iterator[bytes]") -> None:
        self.pieces = pieces
        self.held = b""
        self.passed = 0

    def read(self, count: int) -> bytes:
        while len(self.held) < count:
            piece = next(self.pieces, None)
            if piece is None:
                break
            self.held += piece
        got, self.held = self.held[:count], self.held[count:]
        self.passed += len(got)
        return got

    def skip(self, count: int) -> bool:
        while count > 0:
            got = self.read(min(count, CHUNK))
            if not got:
                return False
            count -= len(got)
        return True


def walk_tar(pieces: "Iterator[bytes]", padded: bool) -> Report:
    """Header after header by their own checksums up to the two empty blocks that end a tar."""
    stream, count, size_of_next = Stream(pieces), 0, -1
    while True:
        head = stream.read(BLOCK)
        if len(head) < BLOCK:
            raise Broken("ends without the mark of its end")
        if head == ZERO:
            break
        if tar_number(head[148:156]) not in tar_sums(head):
            raise Broken("has a damaged header (entry %d)" % (count + 1))
        kind, size = head[156:157], tar_number(head[124:136])
        if kind == b"S" and head[482]:
            while stream.read(BLOCK)[504:505] == b"\1":
                pass
        if kind in b"xg":
            told = stream.read(min(size, CHUNK))
            size_of_next = pax_size(told) if kind == b"x" else size_of_next
            stream.skip(-size % BLOCK if size <= CHUNK else size - CHUNK + -size % BLOCK)
            continue
        if kind not in b"LK":
            size, size_of_next, count = (size_of_next if size_of_next >= 0 else size), -1, count + 1
        if kind not in b"123456" and not stream.skip(size + -size % BLOCK):
            raise Broken("ends in the middle of entry %d" % count)
    if stream.read(BLOCK) != ZERO:
        raise Broken("ends without the mark of its end")
    return end_of_tar(stream, count, padded)


def end_of_tar(stream: Stream, count: int, padded: bool) -> Report:
    """Nothing but padding may follow, and writers pad to whole records or not at all."""
    marked = stream.passed
    while True:
        rest = stream.read(CHUNK)
        if not rest:
            break
        if rest.strip(b"\0"):
            return Report(count, "something follows the mark of its end")
    if padded and stream.passed != marked and all(stream.passed % record for record in RECORDS):
        raise Broken("was cut in the padding behind its last entry")
    return Report(count)


def tar_number(field: bytes) -> int:
    if field[:1] in (b"\x80", b"\xff"):
        return int.from_bytes(field[1:], "big")
    digits = field.split(b"\0")[0].strip()
    if not digits:
        return 0
    try:
        return int(digits, 8)
    except ValueError:
        raise Broken("has a damaged header") from None


def tar_sums(head: bytes) -> "tuple[int, int]":
    """The sum of the header with its own field blank; some old writers added signed bytes."""
    kept = head[:148] + b" " * 8 + head[156:]
    return sum(kept), sum(kept) - 256 * sum(byte > 127 for byte in kept)


def pax_size(told: bytes) -> int:
    at = (b"\n" + told).find(b" size=")
    if at < 0:
        return -1
    digits = told[at + 5 :].split(b"\n")[0]
    return int(digits) if digits.isdigit() else -1
