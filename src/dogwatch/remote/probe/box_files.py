"""Files of a run on a machine without a scheduler: the records of a chain, the marks of stages, and what it leaves."""

import os
import re
import stat

from dogwatch.remote.probe.allowed_paths import OPEN, RealFolders
from dogwatch.remote.probe.files import UNITS, listed_file
from dogwatch.remote.probe.paths import Allowance, expand, newest, real_folders, regular
from dogwatch.remote.probe.wire import Fields, Refused, dec, enc
from dogwatch.remote.shapes import BoxFiles, ChainRecords, FileCount

CHAIN_RECORD = re.compile(
    rb"^(spec|heartbeat|end|pushed|cancelled|attempt-\d{1,6}|stage-\d{1,4}\.(start|waits|end))\.json\Z"
    rb"|^stage-\d{1,4}\.done\Z"
)
CHAIN_OWNER = b"lock/owner.json"
RECORD_MOST, RECORDS_MOST = 60000, 2000
NEWEST_MOST, RESULT_TAIL = 64, 2048


def chain_records(named: str) -> "ChainRecords":
    """The records of a run directory as they are; a link among them is not followed."""
    answer: "ChainRecords" = {"there": False, "problem": None, "texts": {}}
    try:
        directory = enc(os.path.expanduser(named) if named.startswith("~/") else named)
        names = os.listdir(directory)
        answer["there"] = True
    except (FileNotFoundError, NotADirectoryError):
        return answer
    except (OSError, Refused) as error:
        return {"there": True, "problem": "%s: %s" % (named, getattr(error, "strerror", error)), "texts": {}}
    # The lock comes first: whoever let go of it before the records were read has written what it ever will.
    for name in [CHAIN_OWNER] + sorted(name for name in names if CHAIN_RECORD.match(name))[:RECORDS_MOST]:
        try:
            text = record_text(directory + b"/" + name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, Refused) as error:
            answer["problem"] = "%s/%s: %s" % (named, dec(name), getattr(error, "strerror", error))
            continue
        answer["texts"][dec(name)] = text
    return answer


def record_text(path: bytes) -> str:
    fd = os.open(path, OPEN)
    try:
        row = os.fstat(fd)
        regular(row)
        if row.st_size > RECORD_MOST:
            raise Refused("is larger than %d bytes" % RECORD_MOST)
        return os.read(fd, RECORD_MOST).decode("utf-8", "replace")
    finally:
        os.close(fd)


def count_files(globs: "list[str]", real: RealFolders, allowance: Allowance, tail: int) -> "FileCount":
    """How many files there are, and the newest by name; the last lines of the very newest, where they are asked for."""
    finds = expand(globs, allowance, real)
    rows = {path: row for path, row in finds.stats.items() if stat.S_ISREG(row.st_mode)}
    last = newest(rows, NEWEST_MOST)
    answer: "FileCount" = {
        "count": len(rows),
        "bytes": sum(row.st_size for row in rows.values()),
        "capped": finds.capped,
        "newest": [listed_file(path, rows[path]) for path in last],
        "unreadable": finds.unreadable,
    }
    if tail and last:
        answer["text"] = end_of(last[-1], tail, real.open)
    return answer


def end_of(path: bytes, most: int, open_file: "object") -> str:
    """The last lines of a small text; nothing of what is none."""
    try:
        fd = open_file(path)  # type: ignore[operator]
    except OSError:
        return ""
    try:
        size = os.fstat(fd).st_size
        text = os.pread(fd, most, max(0, size - most))
    except OSError:
        return ""
    finally:
        os.close(fd)
    if b"\0" in text:
        return ""
    return (text if size <= most else text.partition(b"\n")[2]).decode("utf-8", "replace")


def box_files(spec: Fields, allowance: Allowance) -> "BoxFiles":
    """All files of one run that tell how far it is."""
    answer: "BoxFiles" = {}
    real = real_folders(spec)
    if "chain" in spec:
        answer["chain"] = chain_records(spec.text("chain"))
    if "markers" in spec:
        answer["markers"] = count_files(spec.texts("markers"), real, allowance, 0)
    if "results" in spec:
        answer["results"] = count_files(spec.texts("results"), real, allowance, RESULT_TAIL)
    real.add_to(answer)
    return answer


UNITS["box"] = box_files
