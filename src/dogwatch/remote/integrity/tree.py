"""From paths to verdicts: which format a file has, what a directory should hold, and what is refused unseen."""

import json
import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from typing import Any

from dogwatch.remote.integrity.archives import check_npz, check_packed_tar, check_tar, check_torch, check_zip
from dogwatch.remote.integrity.arrays import HDF5, NPY, check_gguf, check_hdf5, check_npy, check_safetensors
from dogwatch.remote.integrity.body import (
    BROKEN,
    INTACT,
    UNCLEAR,
    Body,
    Broken,
    Budget,
    Report,
    Spent,
    Unclear,
    is_blank,
)
from dogwatch.remote.integrity.compressed import check_stream, check_zstd
from dogwatch.remote.integrity.images import PNG, check_bmp, check_gif, check_jpeg, check_png, check_riff
from dogwatch.remote.integrity.pickles import check_pickle
from dogwatch.remote.integrity.tables import ARROW, FEATHER_1, PARQUET, check_arrow, check_feather, check_parquet
from dogwatch.remote.integrity.texts import check_json, check_jsonl, check_table
from dogwatch.remote.probe.allowed_paths import RealFolders
from dogwatch.remote.shapes import FileVerdict

REAL = RealFolders()  # for the one call that this process was made for
MOST_FILES = 20000
HEAD = 512
UNFINISHED = re.compile(
    r"\.(?:tmp|temp|part|partial|incomplete|crdownload)(?:[._-]?\w{0,12})?\Z|\A\.?tmp[-_]?checkpoint"
)
SHARD = re.compile(r"\A(.{1,120}?)[-_]?(\d{3,6})-of-(\d{3,6})(\.[A-Za-z0-9_.]{1,30})\Z")

# By how a name ends; the longest ending first.
BY_NAME: "tuple[tuple[str, str, Any], ...]" = (
    (".tar.gz", "tar.gz", partial(check_packed_tar, kind="gzip")),
    (".tgz", "tar.gz", partial(check_packed_tar, kind="gzip")),
    (".tar.xz", "tar.xz", partial(check_packed_tar, kind="xz")),
    (".tar.bz2", "tar.bz2", partial(check_packed_tar, kind="bzip2")),
    (".index.json", "json", check_json),
    (".json", "json", check_json),
    (".ipynb", "json", check_json),
    (".jsonl", "jsonl", check_jsonl),
    (".ndjson", "jsonl", check_jsonl),
    (".csv", "csv", partial(check_table, separator=",")),
    (".tsv", "tsv", partial(check_table, separator="\t")),
    (".parquet", "parquet", check_parquet),
    (".arrow", "arrow", check_arrow),
    (".feather", "arrow", check_arrow),
    (".npy", "npy", check_npy),
    (".npz", "npz", check_npz),
    (".h5", "hdf5", check_hdf5),
    (".hdf5", "hdf5", check_hdf5),
    (".safetensors", "safetensors", check_safetensors),
    (".gguf", "gguf", check_gguf),
    (".gz", "gzip", partial(check_stream, kind="gzip")),
    (".bz2", "bzip2", partial(check_stream, kind="bzip2")),
    (".xz", "xz", partial(check_stream, kind="xz")),
    (".zst", "zstd", check_zstd),
    (".tar", "tar", check_tar),
    (".zip", "zip", check_zip),
    (".png", "png", check_png),
    (".jpg", "jpeg", check_jpeg),
    (".jpeg", "jpeg", check_jpeg),
    (".gif", "gif", check_gif),
    (".bmp", "bmp", check_bmp),
    (".webp", "webp", check_riff),
    (".wav", "wav", check_riff),
)
TORCH_NAMES = (".pt", ".pth", ".ckpt", ".bin", ".pt2")
# By how a file begins: (place, mark, format, check). A name that promises a mark and a file without it disagree.
BY_MARK: "tuple[tuple[int, bytes, str, Any], ...]" = (
    (0, NPY, "npy", check_npy),
    (0, HDF5, "hdf5", check_hdf5),
    (0, PNG, "png", check_png),
    (0, PARQUET, "parquet", check_parquet),
    (0, ARROW, "arrow", check_arrow),
    (0, FEATHER_1, "feather", check_feather),
    (0, b"GGUF", "gguf", check_gguf),
    (0, b"PK\x03\x04", "zip", check_zip),
    (0, b"\x1f\x8b", "gzip", partial(check_stream, kind="gzip")),
    (0, b"BZh", "bzip2", partial(check_stream, kind="bzip2")),
    (0, b"\xfd7zXZ\0", "xz", partial(check_stream, kind="xz")),
    (0, b"\x28\xb5\x2f\xfd", "zstd", check_zstd),
    (257, b"ustar", "tar", check_tar),
    (0, b"\xff\xd8\xff", "jpeg", check_jpeg),
    (0, b"GIF8", "gif", check_gif),
)
MARKED = {"npy", "png", "parquet", "gguf", "gzip", "bzip2", "xz", "zstd", "jpeg", "gif", "hdf5", "tar.gz", "tar.xz"}
MARKED |= {"tar.bz2", "npz", "zip"}
SAME_MARK = {"tar.gz": "gzip", "tar.xz": "xz", "tar.bz2": "bzip2", "npz": "zip"}


def raw(path: str) -> bytes:
    """The bytes of a path, whatever the locale."""
    return path.encode("utf-8", "surrogateescape")


def shown(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def recognised(name: str, head: bytes) -> "tuple[str, Any]":
    """(format, check) of a file by its name and its first bytes; Broken when they contradict each other."""
    by_mark = next((row for row in BY_MARK if head[row[0] : row[0] + len(row[1])] == row[1]), None)
    by_name = next((row for row in BY_NAME if name.lower().endswith(row[0])), None)
    if name.lower().endswith(TORCH_NAMES):
        if by_mark is not None and by_mark[2] == "zip":
            return "torch", check_torch
        if head[:1] == b"\x80":
            return "pickle", check_pickle
        if by_mark is None and len(head) < 4:
            raise Broken("is too short for any known format")
        if by_mark is None:
            raise Unclear("has an unknown format")
    if by_name is not None:
        wanted = SAME_MARK.get(by_name[1], by_name[1])
        if by_name[1] in MARKED and (by_mark is None or by_mark[2] != wanted):
            raise Broken("does not start like %s" % by_name[1])
        return by_name[1], by_name[2]
    if by_mark is not None:
        return by_mark[2], by_mark[3]
    if name.lower().endswith((".pkl", ".pickle", ".joblib", ".dill")):
        return "pickle", check_pickle
    raise Unclear("has an unknown format")


def verdict(path: str, word: str, why: str, body: "Body | None" = None, records: "int | None" = None) -> "FileVerdict":
    form, size = (body.format, body.size) if body else (None, None)
    return {"file": path, "format": form, "verdict": word, "why": why, "size": size, "records": records}


def check_file(path: str, budget: Budget) -> "FileVerdict":
    """One regular file, opened without following a link or waiting for anybody."""
    try:
        fd = REAL.open(raw(path))
    except OSError as error:
        return verdict(path, UNCLEAR, "could not be opened: %s" % error.strerror)
    body = None
    try:
        row = os.fstat(fd)
        if not stat.S_ISREG(row.st_mode):
            return verdict(path, UNCLEAR, "is not a regular file")
        body = Body(fd, row.st_size, budget)
        report = judge(os.path.basename(path), body)
        return verdict(path, INTACT, report.note, body, report.records)
    except Broken as problem:
        return verdict(path, BROKEN, str(problem), body)
    except Unclear as problem:
        return verdict(path, UNCLEAR, str(problem), body)
    except Spent:
        return verdict(path, UNCLEAR, "takes longer to read than is allowed", body)
    except (MemoryError, RecursionError):
        return verdict(path, UNCLEAR, "is too deep or too large to check", body)
    except OSError as error:
        return verdict(path, UNCLEAR, "could not be read: %s" % error.strerror, body)
    finally:
        os.close(fd)


def judge(name: str, body: Body) -> Report:
    if UNFINISHED.search(name):
        raise Broken("was left behind unfinished, by its name")
    if not body.size:
        raise Broken("is empty")
    head = body.at(0, min(HEAD, body.size))
    if is_blank(body, 0, min(body.size, 4096)):
        raise Broken("is filled with zeros")
    body.format, check = recognised(name, head)
    report: Report = check(body)
    return report


def seen(path: str) -> "os.stat_result":
    """What is under a name in the folder where it may be."""
    folder, name = os.path.split(raw(path).rstrip(b"/") or b"/")
    fd = REAL.open_folder(folder)
    try:
        return os.stat(name or b".", dir_fd=fd, follow_symlinks=False)
    finally:
        os.close(fd)


def names_in(path: str) -> "list[str] | None":
    """What is in a directory; None where that is none, or cannot be looked at."""
    try:
        fd = REAL.open_folder(raw(path))
    except OSError:
        return None
    try:
        return [shown(name) for name in os.listdir(b"/proc/self/fd/%d" % fd)]
    except OSError:
        return None
    finally:
        os.close(fd)


def check_path(path: str, budget: Budget) -> "Iterator[FileVerdict]":
    """A file, or everything under a directory; links that lead out of it and what is no file are refused by name."""
    try:
        row = seen(path)
        if stat.S_ISLNK(row.st_mode):
            target = shown(os.path.realpath(raw(path)))
            if not inside(target, os.path.dirname(os.path.abspath(path))):
                yield verdict(path, UNCLEAR, "is a link to %s, outside of its directory: name that instead" % target)
                return
            path, row = target, seen(target)
    except FileNotFoundError:
        yield verdict(path, BROKEN, "is not there")
        return
    except OSError as error:
        yield verdict(path, UNCLEAR, "could not be read: %s" % error.strerror)
        return
    if stat.S_ISDIR(row.st_mode):
        for found in check_directory(path, budget):
            yield found
    elif stat.S_ISREG(row.st_mode):
        yield check_file(path, budget)
        for missing in missing_shards(os.path.dirname(path), [os.path.basename(path)]):
            yield missing
    else:
        yield verdict(path, UNCLEAR, "is not a regular file")


def inside(path: str, directory: str) -> bool:
    return raw(path).startswith(os.path.realpath(raw(directory)).rstrip(b"/") + b"/")


def check_directory(top: str, budget: Budget) -> "Iterator[FileVerdict]":
    REAL.learn_above(raw(top))
    count, judged = 0, 0
    for folder, folders, files in os.walk(raw(top)):
        folders.sort()
        where, names = shown(folder), sorted(map(shown, files))
        links = [shown(name) for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in names + links:
            count += 1
            if count > MOST_FILES:
                yield verdict(top, UNCLEAR, "has more than %d files; the rest was not checked" % MOST_FILES)
                return
            row = entry(os.path.join(where, name), top, budget)
            if row is not None:
                judged += 1
                yield row
        for missing in missing_shards(where, names):
            yield missing
    if not judged:
        yield verdict(top, UNCLEAR, "contains no file of a known format")


def entry(path: str, top: str, budget: Budget) -> "FileVerdict | None":
    """The verdict on what stands in a directory; None for a file of no format, which says nothing of the others."""
    try:
        mode = os.lstat(raw(path)).st_mode
    except OSError as error:
        return verdict(path, UNCLEAR, "could not be read: %s" % error.strerror)
    if stat.S_ISLNK(mode):
        if not os.path.exists(raw(path)):
            return verdict(path, BROKEN, "is a link to something that is not there")
        if not inside(shown(os.path.realpath(raw(path))), top):
            return verdict(path, UNCLEAR, "is a link that leads out of the directory")
        return None
    if not stat.S_ISREG(mode):
        return verdict(path, UNCLEAR, "is not a regular file")
    row = check_file(path, budget)
    nothing_known = row["format"] is None and row["verdict"] != INTACT
    if nothing_known and (row["why"] == "has an unknown format" or plain_and_empty(path, row)):
        return None
    return row


def plain_and_empty(path: str, row: "FileVerdict") -> bool:
    """A file without anything in it and without a format to break, such as a marker."""
    known = path.lower().endswith(tuple(end for end, _, _ in BY_NAME) + TORCH_NAMES)
    return row["size"] == 0 and not known and row["why"] == "is empty"


def missing_shards(where: str, names: "list[str]") -> "Iterator[FileVerdict]":
    """Parts that others speak of: an index's files, and the numbers of name-00001-of-00007.ext."""
    for name in names:
        if name.endswith(".index.json"):
            for shard in indexed(os.path.join(where, name)):
                if not os.path.isfile(raw(os.path.join(where, shard))):
                    yield verdict(os.path.join(where, shard), BROKEN, "is not there, and %s names it" % name)
    groups: "dict[tuple[str, str, str], set[int]]" = {}
    for name in names:
        found = SHARD.match(name)
        if found:
            stem, number, count, ending = found.groups()
            groups.setdefault((stem, count, ending), set()).add(int(number))
    for (stem, count, ending), there in sorted(groups.items()):
        if len(names) == 1 or not 0 < int(count) <= MOST_FILES:
            continue
        first = 0 if 0 in there else 1
        lacking = [n for n in range(first, first + int(count)) if n not in there]
        if lacking:
            what = "part%s %s of %s" % ("s" if len(lacking) > 1 else "", short_list(lacking), count)
            yield verdict(os.path.join(where, stem + "*" + ending), BROKEN, "lacks %s" % what)


def indexed(path: str) -> "list[str]":
    """The files that an index names; none where it cannot be read, which its own verdict says."""
    try:
        with os.fdopen(REAL.open(raw(path)), "rb") as index:
            named = set(json.loads(index.read(64 << 20).decode("utf-8"))["weight_map"].values())
        return sorted(name for name in named if isinstance(name, str) and "/" not in name and "\0" not in name)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []


def short_list(numbers: "list[int]") -> str:
    return ", ".join(map(str, numbers[:5])) + (" and %d more" % (len(numbers) - 5) if len(numbers) > 5 else "")
