"""From a request line to the whole answer, sentinel included."""

import json
import os
import re
import sys
import time

from dogwatch.aboard.probe.errands import Errands
from dogwatch.aboard.probe.find import process_section
from dogwatch.aboard.probe.hand import Hand
from dogwatch.aboard.probe.paths import BYTES_PER_REQUEST
from dogwatch.aboard.probe.processes import BOOTTIME, Processes
from dogwatch.aboard.probe.slurm import Scheduler, scripts_section, slurm_section
from dogwatch.aboard.probe.wire import RESERVED, WRONG_SHAPE, Refused, compact, mapping, number, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE_SECTIONS = ("logs", "texts", "files", "disks", "gpu_metrics", "usage")
PLAIN = ("gpu_metrics", "usage")  # sections whose rows are not objects


def file_units(request: "dict[str, Any]") -> "list[tuple[str, str, Any]]":
    units: "list[tuple[str, str, Any]]" = []
    for name in ("logs", "texts", "files", "gpu_metrics", "usage"):
        for key, spec in mapping(request.get(name), name).items():
            if key in RESERVED:
                raise Refused("%s: %r cannot be a key" % (name, key))
            units.append((name, key, spec if name in PLAIN else mapping(spec, name)))
    units += [("disks", path, path) for path in dict.fromkeys(texts(request.get("disks"), "disks"))]
    return units


def file_sections(request: "dict[str, Any]", hand: Hand, until: float) -> "list[bytes]":
    """The file sections as JSON text; the hand's own text goes in as it is, since it may be megabytes."""
    units = file_units(request)
    began = time.monotonic()
    most = number(request.get("bytes", BYTES_PER_REQUEST), "bytes", 1, 3 * BYTES_PER_REQUEST)
    got, why, came = hand.ask(units, until, most) if units else ({}, "", {})
    sections = []
    for name in FILE_SECTIONS:
        if request.get(name) is not None:
            last = max([came[at] for at in came if units[at][0] == name] or [began])
            sections.append(compact(name) + b":" + one_section(name, units, got, why, last - began))
    return sections


def one_section(
    name: str, units: "list[tuple[str, str, Any]]", got: "dict[int, bytes]", why: str, seconds: float
) -> bytes:
    mine = [at for at, unit in enumerate(units) if unit[0] == name]
    late = [units[at][1] for at in mine if at not in got]
    head: "dict[str, Any]" = {"ok": True, "seconds": round(seconds, 6)}
    if late:
        head = {"ok": False, "why": why, "late": late}
    rows = [at for at in mine if at in got]
    if name == "disks":
        fine = {units[at][1]: json.loads(got[at].decode("ascii")) for at in rows}
        head["unreadable"] = {path: row["why"] for path, row in fine.items() if "why" in row}
        head["disks"] = {path: row for path, row in fine.items() if "why" not in row}
        return compact(head)
    return b",".join([compact(head)[:-1]] + [compact(units[at][1]) + b":" + got[at] for at in rows]) + b"}"


def scheduler_sections(request: "dict[str, Any]", until: float) -> "list[bytes]":
    """What Slurm says; a quarter of the time that is left is kept for the files, whatever the controller does."""
    if request.get("slurm") is None and request.get("scripts") is None:
        return []
    now = time.monotonic()
    if any(request.get(name) for name in FILE_SECTIONS + ("errands",)):
        until -= min(10.0, 0.25 * max(0.0, until - now))
    spec, parts, answered = mapping(request.get("slurm"), "slurm"), [], True
    scheduler = Scheduler(texts(spec.get("path"), "slurm.path"))
    try:
        if request.get("slurm") is not None:
            section = slurm_section(spec, scheduler, until)
            answered = section["answered"]
            parts.append(b'"slurm":' + compact(section))
        if request.get("scripts") is not None:
            section = scripts_section(mapping(request["scripts"], "scripts"), scheduler, answered, until)
            parts.append(b'"scripts":' + compact(section))
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "scripts" if parts else "slurm"
        parts.append(compact(name) + b":" + compact({"ok": False, "why": "no command could be started: %s" % error}))
    return parts


def reply(line: bytes, eyes: Processes, hand: Hand, errands: Errands) -> bytes:
    """The answer to one request line, sentinel included; what is wrong with a request is said in it."""
    nonce = "-"
    began = time.monotonic()
    try:
        request = mapping(json.loads(line.decode("utf-8")), "a request")
        if not isinstance(request.get("nonce"), str) or not re.match(r"^[0-9A-Za-z]{1,64}\Z", request["nonce"]):
            raise Refused("nonce must be 1 to 64 letters and digits")
        nonce = request["nonce"]
        deadline = request.get("deadline", 10.0)
        if isinstance(deadline, bool) or not isinstance(deadline, (int, float)) or not 0 < deadline <= 3600:
            raise Refused("deadline must be a number of seconds up to 3600")
        until = began + deadline - min(1.0, 0.2 * deadline)
        top = {"nonce": nonce, "clock": {"wall": time.time(), "boottime": time.clock_gettime(BOOTTIME)}}
        top.update(boot=eyes.boot, host=os.uname().nodename, python=sys.version.split()[0])
        parts = [compact(top)[1:-1]]
        wanted = mapping(request.get("errands"), "errands")
        errands.start(wanted, until, beside=True)
        if request.get("process") is not None:
            try:
                section = process_section(mapping(request["process"], "process"), eyes, hand, until)
            except OSError as error:
                section = {"ok": False, "why": f"/proc could not be read: {error.strerror}"}
            parts.append(b'"process":' + compact(section))
        parts += scheduler_sections(request, until)
        parts += file_sections(request, hand, until)
        errands.start(wanted, until, beside=False)
        parts += [b'"errands":' + errands.section(wanted, began, until)] if wanted else []
        text = b"{" + b",".join(parts) + b"}"
    except WRONG_SHAPE as problem:
        text = compact({"nonce": nonce, "error": "%s: %.300s" % (type(problem).__name__, problem)})
    return text + ("\nDOGWATCH-END %s %d\n" % (nonce, len(text))).encode("ascii")
