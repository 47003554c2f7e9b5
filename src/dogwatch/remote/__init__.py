"""What travels: programs that run beside a job, on this machine or another.

The supervisor is one file, started by path as `python -I -S FILE`. The probe is a folder of parts that travels as one
text: `probe_text()` joins them, and transport/ starts it, on this machine through `start_probe.py`. What is asked
seldom is an extra probe, sent with its request and run by a child of the probe; it may use whatever the probe defines.
All but sh are for Python >= 3.6 and the standard library; nothing of ours imports them. Where there is no
Python, `poll.sh` runs the commands section and `box.sh` looks at runs.
To add to the probe, write a part, name it in PARTS after those it imports from, and let `answer.py` call it; a name at
the top of a part must be its own, because all parts share one text.
"""

import os.path

_HERE = os.path.dirname(os.path.abspath(__file__))

SUPERVISOR = os.path.join(_HERE, "supervisor.py")
START_PROBE = os.path.join(_HERE, "start_probe.py")
PARTS = (
    *(
        "wire",
        "processes",
        "allowed_paths",
        "paths",
        "usage",
        "logs",
        "inotify",
        "unchanged_logs",
        "texts",
        "files",
        "file_reader",
    ),
    *("box_files", "matching", "find", "command", "commands", "box_machine", "box", "extra", "answer", "main"),
)
# Programs that ride with the one request that needs them; the last `extra_probe(call)` in one is what is called.
# A part with a folder before its name is one of the probe's.
EXTRA_PROBES = {
    "integrity": (
        *("../probe/allowed_paths", "body", "compressed", "texts", "arrays", "pickles", "archives", "tables", "images"),
        *("tree", "lines", "checkpoints", "search", "open_files", "call"),
    ),
    "quota": ("limits",),
    "gpus": ("figures", "nvml", "nvidia_smi", "amd", "owners", "kernel", "read_gpus"),
    "stacks": ("frames",),
    "memory": ("trees", "steps", "measure"),
    "preflight": ("side_by_side", "program", "machine", "directories", "slurm", "checks"),
}
# The extra probes whose parts another one takes along, before its own.
TAKES_ALONG = {"preflight": ("integrity", "gpus")}
# Imports of other parts, and of what only annotations name; those are texts, which nobody evaluates.
STAYS_BEHIND = (b"from dogwatch.remote.", b"from typing import ", b"from collections.abc import ")
MARK = "dogwatch-probe"  # an argument by which a probe knows another one in the process list

_joined = b""
_packed = b""
_extra_probes: dict[str, str] = {}


def probe_text() -> bytes:
    """The probe as one program: its parts in order, without the lines by which they import one another."""
    global _joined
    if not _joined:
        _joined = _joined_parts("probe", PARTS)
    return _joined


def probe_once(request: bytes, deadline: float) -> bytes:
    """A program for `python3 -` that answers one request line on stdout and is gone after `deadline` seconds.

    The text that would start it comes last, so that a program cut short on its way does nothing.
    """
    global _packed
    if not _packed:
        import base64
        import zlib

        _packed = base64.b64encode(zlib.compress(probe_text(), 9))
    once = b"ONCE = (%a, %a)\n" % (request, float(deadline))
    return once + b"import base64, zlib\nexec(zlib.decompress(base64.b64decode(%a)))\n" % _packed


def sh_poll(runs: bool = False) -> bytes:
    """The poll in POSIX sh, without the lines that say what to look at; with what watches `runs`."""
    return (_text("box.sh") if runs else b"") + _text("poll.sh")


def chain_body() -> bytes:
    """The supervisor of a chain in POSIX sh, without the head that says what to run."""
    return b"".join(_text("chain", f"{part}.sh") for part in ("supervise", "push", "start"))


def chain_delivery() -> bytes:
    """The end of what is sent to start a chain, behind the functions that write its files."""
    return _text("chain", "deliver.sh")


def _text(*path: str) -> bytes:
    with open(os.path.join(_HERE, *path), "rb") as text:
        return text.read()


def script(name: str) -> str:
    """One of the programs in sh that move files or end processes, as `transport.shell` takes it."""
    with open(os.path.join(_HERE, f"{name}.sh"), encoding="ascii") as text:
        return text.read()


def extra_probe(name: str) -> str:
    """An extra probe's program as the probe takes it: packed into text."""
    if name not in _extra_probes:
        import base64
        import zlib

        program = b"".join(_joined_parts(one, EXTRA_PROBES[one]) for one in (*TAKES_ALONG.get(name, ()), name))
        _extra_probes[name] = base64.b64encode(zlib.compress(program, 9)).decode("ascii")
    return _extra_probes[name]


def _joined_parts(folder: str, parts: tuple[str, ...]) -> bytes:
    return b"".join(_part(folder, part) for part in parts)


def _part(folder: str, name: str) -> bytes:
    kept, inside = [], False
    with open(os.path.join(_HERE, folder, name + ".py"), "rb") as lines:
        for line in lines:
            if inside or line.startswith(STAYS_BEHIND):
                inside = not line.startswith(b")") if inside else line.endswith(b"(\n")
            elif not line.lstrip().startswith(b"#"):  # what is said to readers of the source need not travel
                kept.append(line)
    return b"".join(kept)
