"""What all ways of reading share: texts that may be no figure, commands with a deadline, a child for what may crash."""

import json
import os
import re
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from dogwatch.remote.probe.command import trusted_program
from dogwatch.remote.shapes import Gpu, GpuHolder, GpuReading

MIB = 1 << 20
TOOL_CAP = 8 << 20
LONGEST, MOST = 200, 1e18  # characters of a name, and what no figure of a GPU reaches
BESIDE_PATH = ("/usr/bin", "/usr/local/bin", "/usr/lib/wsl/lib", "/opt/rocm/bin")
NUMBER = re.compile(r"\s*\(?(-?[0-9]{1,18}(?:\.[0-9]{1,9})?)", re.ASCII)
UNITS = {"b": 1, "kb": 1 << 10, "mb": MIB, "gb": 1 << 30}


def figure(value: "Any", scale: float = 1.0) -> "float | None":
    """A number however it is told: 7, "7 W", {"value": 7}; None for "[N/A]" and all other words."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, str):
        found = NUMBER.match(value)
        value = float(found.group(1)) if found else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MOST / scale:
        return None
    return value * scale


def whole(value: "Any", scale: float = 1.0) -> "int | None":
    found = figure(value, scale)
    return None if found is None else int(found)


def octets(value: "Any") -> "int | None":
    """Bytes of {"value": 7, "unit": "MB"}; AMD's tools count a megabyte as 2**20."""
    unit = str(value.get("unit", "b")).lower() if isinstance(value, dict) else "b"
    return whole(value, UNITS.get(unit, 1))


def slot(text: str) -> str:
    """A PCI address without its function, in one spelling: 0000:3b:00."""
    domain, _, rest = text.strip().lower().partition(":")
    if ":" not in rest:  # no domain was told
        domain, rest = "0", text.strip().lower()
    return "%s:%s" % (domain[-4:].rjust(4, "0"), rest.split(".")[0])


FIGURES = ("used", "memory_used", "memory_total", "watts", "watts_limit", "celsius", "mhz", "mhz_most", "ecc")


def card(index: int, **known: "Any") -> "Gpu":
    """A GPU of which nothing but this is known. `processes` None is a list that could not be had."""
    row: "dict[str, Any]" = dict.fromkeys(FIGURES)
    row.update(index=index, uuid="", name="", pci="", parent="", trouble="", throttle=[], processes=None)
    row.update((name, value[:LONGEST] if isinstance(value, str) else value) for name, value in known.items())
    return row  # type: ignore[return-value]


def holder(pid: int, memory: "int | None") -> "GpuHolder":
    """A process on a GPU, of which nothing else is known yet."""
    return {"pid": pid, "memory": memory, "seen": False}


def tool(name: str) -> "str | None":
    """Where a program lies that a login by ssh may not have on its PATH."""
    return trusted_program(name, os.environ.get("PATH", os.defpath).split(":") + list(BESIDE_PATH))


def run_tools(commands: "list[list[str]]", seconds: float) -> "list[tuple[str, str]]":
    """(what it printed, why that is not to be used) of each command, all run at once. An alarm outlives an exec, so
    that none of them stays behind whatever becomes of us."""
    import subprocess

    def limited() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds) + 1)

    until, null = time.monotonic() + seconds, subprocess.DEVNULL
    started, outcomes = [], []
    for words in commands:
        pipe = subprocess.PIPE
        started.append(
            subprocess.Popen(words, stdin=null, stdout=pipe, stderr=subprocess.STDOUT, preexec_fn=limited)  # noqa: PLW1509
        )
    for words, child in zip(commands, started):
        name = os.path.basename(words[0])
        try:
            out = child.communicate(timeout=max(0.1, until - time.monotonic()))[0][:TOOL_CAP].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            child.kill()
            outcomes.append(("", "%s did not answer in %d s" % (name, seconds)))
            continue
        last = [line.strip() for line in out.splitlines() if line.strip()][-1:]
        why = "" if child.returncode == 0 else "%s ended with %d: %.160s" % (name, child.returncode, "".join(last))
        outcomes.append((out, why))
    return outcomes


def isolated(function: "Callable[[], GpuReading]", what: str, seconds: float) -> "GpuReading":
    """What a function returns that may hang or crash, or {"why": ...}: it is called by a child."""
    back, inner = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(back)
            signal.alarm(int(seconds) + 1)
            rest = memoryview(json.dumps(function()).encode("ascii"))
            while rest:
                rest = rest[os.write(inner, rest) :]
            os._exit(0)
        finally:
            os._exit(1)
    os.close(inner)
    text, until, late = b"", time.monotonic() + seconds, False
    while not late:
        late = not select.select([back], [], [], max(0.0, until - time.monotonic()))[0]
        chunk = b"" if late else os.read(back, 65536)
        text += chunk
        if not chunk:
            break
    os.close(back)
    if late:
        os.kill(pid, signal.SIGKILL)
        return {"why": "%s did not answer in %d s" % (what, seconds)}
    status = os.waitpid(pid, 0)[1]
    if status:
        how = "signal %d" % (status & 0x7F) if status & 0x7F else "code %d" % (status >> 8)
        return {"why": "%s crashed with %s" % (what, how)}
    answer: "GpuReading" = json.loads(text.decode("ascii"))
    return answer
