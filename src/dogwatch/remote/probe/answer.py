"""From a request line to the whole answer, sentinel included."""

import json
import os
import re
import sys
import time
from typing import Any

from dogwatch.remote.probe.box import box_section
from dogwatch.remote.probe.commands import commands_section
from dogwatch.remote.probe.extra import ExtraProbes
from dogwatch.remote.probe.file_reader import FileReader
from dogwatch.remote.probe.find import process_section
from dogwatch.remote.probe.paths import BYTES_PER_REQUEST
from dogwatch.remote.probe.processes import BOOTTIME, Processes
from dogwatch.remote.probe.wire import RESERVED, WRONG_SHAPE, Fields, Refused, compact
from dogwatch.remote.shapes import BoxSection, CommandsSection, Head, ProcessSection

FILE_SECTIONS = ("logs", "texts", "files", "disks", "gpu_metrics", "usage")
PLAIN = ("usage",)  # sections whose rows are not objects


def file_units(request: Fields) -> "list[tuple[str, str, Any]]":
    units: "list[tuple[str, str, Any]]" = []
    for name in ("logs", "texts", "files", "gpu_metrics", "usage"):
        for key, spec in request.mapping(name).items():
            if key in RESERVED:
                raise Refused("%s: %r cannot be a key" % (name, key))
            units.append((name, key, spec if name in PLAIN else Fields(spec, name).words))
    units += [("disks", path, path) for path in dict.fromkeys(request.texts("disks"))]
    return units


def file_sections(request: Fields, file_reader: FileReader, until: float) -> "list[bytes]":
    """The file sections as JSON text; the file reader's own text goes in as it is, since it may be megabytes."""
    units = file_units(request)
    began = time.monotonic()
    most = request.number("bytes", 1, 3 * BYTES_PER_REQUEST, BYTES_PER_REQUEST)
    got, why, came = file_reader.ask(units, until, most) if units else ({}, "", {})
    sections = []
    for name in FILE_SECTIONS:
        if name in request:
            last = max([came[at] for at in came if units[at][0] == name] or [began])
            sections.append(compact(name) + b":" + one_section(name, units, got, why, last - began))
    return sections


def one_section(
    name: str, units: "list[tuple[str, str, Any]]", got: "dict[int, bytes]", why: str, seconds: float
) -> bytes:
    mine = [at for at, unit in enumerate(units) if unit[0] == name]
    late = [units[at][1] for at in mine if at not in got]
    head: "Head" = {"ok": False, "why": why, "late": late} if late else {"ok": True, "seconds": round(seconds, 6)}
    rows = [at for at in mine if at in got]
    if name == "disks":
        by_path = {units[at][1]: json.loads(got[at].decode("ascii")) for at in rows}
        unreadable = {path: row["why"] for path, row in by_path.items() if "why" in row}
        disks = {path: row for path, row in by_path.items() if path not in unreadable}
        return compact(dict(head, unreadable=unreadable, disks=disks))
    return b",".join([compact(head)[:-1]] + [compact(units[at][1]) + b":" + got[at] for at in rows]) + b"}"


def command_sections(request: Fields, until: float) -> "list[bytes]":
    """What commands say; a quarter of the time that is left is kept for the files, however long a command takes."""
    if "commands" not in request:
        return []
    now = time.monotonic()
    if any(request.words.get(name) for name in FILE_SECTIONS + ("extra_probes",)):
        until -= min(10.0, 0.25 * max(0.0, until - now))
    section: "CommandsSection"
    try:
        section = commands_section(request, until)
    except BrokenPipeError:
        raise
    except OSError as error:
        section = {"ok": False, "why": "no command could be started: %s" % error}
    return [b'"commands":' + compact(section)]


def reply(line: bytes, processes: Processes, file_reader: FileReader, extra_probes: ExtraProbes) -> bytes:
    """The answer to one request line, sentinel included; what is wrong with a request is said in it."""
    nonce = "-"
    began = time.monotonic()
    try:
        request = Fields(json.loads(line.decode("utf-8")), "")
        if not re.match(r"^[0-9A-Za-z]{1,64}\Z", request.text("nonce")):
            raise Refused("nonce must be 1 to 64 letters and digits")
        nonce = request.text("nonce")
        deadline = request.seconds("deadline", 10.0)
        until = began + deadline - min(1.0, 0.2 * deadline)
        top = {"nonce": nonce, "clock": {"wall": time.time(), "boottime": time.clock_gettime(BOOTTIME)}}
        top.update(boot=processes.boot, host=os.uname().nodename, python=sys.version.split()[0])
        parts = [compact(top)[1:-1]]
        wanted = {key: Fields(spec, "extra_probes") for key, spec in request.mapping("extra_probes").items()}
        extra_probes.start(wanted, until, beside=True)
        if "process" in request:
            section: "ProcessSection"
            try:
                section = process_section(request.inner("process"), processes, file_reader, until)
            except OSError as error:
                section = {"ok": False, "why": f"/proc could not be read: {error.strerror}"}
            parts.append(b'"process":' + compact(section))
        if "box" in request:
            runs: "BoxSection"
            try:
                runs = box_section(request, processes, file_reader, began + 0.6 * (until - began))
            except OSError as error:
                runs = {"ok": False, "why": f"/proc could not be read: {error.strerror}"}
            parts.append(b'"box":' + compact(runs))
        parts += command_sections(request, until)
        parts += file_sections(request, file_reader, until)
        extra_probes.start(wanted, until, beside=False)
        parts += [b'"extra_probes":' + extra_probes.section(wanted, began, until)] if wanted else []
        text = b"{" + b",".join(parts) + b"}"
    except WRONG_SHAPE as problem:
        text = compact({"nonce": nonce, "error": "%s: %.300s" % (type(problem).__name__, problem)})
    return text + ("\nDOGWATCH-END %s %d\n" % (nonce, len(text))).encode("ascii")
