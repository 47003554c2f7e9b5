"""What travels: programs that run beside a job, on this machine or another.

The keeper is one file, started by path as `python -I -S FILE`. The probe is a folder of parts that travels as one
text: `probe_text()` joins them, and reach/ starts it. What is asked seldom is an errand, sent with its request and run
by a child of the probe; it may use whatever the probe defines. All are for Python >= 3.6 and the standard library;
nothing of ours imports them. `look.sh` asks Slurm where there is no Python.
To add to the probe, write a part, name it in PARTS after those it imports from, and let `answer.py` call it; a name at
the top of a part must be its own, because all parts share one text.
"""

import os.path

_HERE = os.path.dirname(os.path.abspath(__file__))

KEEPER = os.path.join(_HERE, "keeper.py")
PARTS = (
    *("wire", "processes", "paths", "usage", "logs", "ear", "still", "texts", "files", "hand", "matching", "find"),
    *("command", "slurm", "errands", "answer", "main"),
)
# Programs that ride with the one request that needs them; the last `errand(call)` in one is what is called.
ERRANDS = {
    "sound": (
        *("body", "compressed", "texts", "arrays", "pickles", "archives", "tables", "images", "tree"),
        *("lines", "held", "found", "held_open", "call"),
    ),
    "quota": ("limits",),
    "gpus": ("figures", "nvml", "nvidia_smi", "amd", "owners", "kernel", "cards"),
    "stacks": ("look",),
    "ram": ("trees", "steps", "weigh"),
    "preflight": ("apart", "program", "machine", "places", "slurm", "ask"),
}
# The errands whose parts another one takes along, before its own.
TAKES_ALONG = {"preflight": ("sound", "gpus")}
MARK = "dogwatch-probe"  # an argument by which a probe knows another one in the process list

_joined = b""
_packed = b""
_errands: dict[str, str] = {}


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


def sh_look() -> bytes:
    """The look in POSIX sh, without the lines that say what to look at."""
    with open(os.path.join(_HERE, "look.sh"), "rb") as text:
        return text.read()


def errand(name: str) -> str:
    """An errand's program as the probe takes it: packed into text."""
    if name not in _errands:
        import base64
        import zlib

        program = b"".join(_joined_parts(one, ERRANDS[one]) for one in (*TAKES_ALONG.get(name, ()), name))
        _errands[name] = base64.b64encode(zlib.compress(program, 9)).decode("ascii")
    return _errands[name]


def _joined_parts(folder: str, parts: tuple[str, ...]) -> bytes:
    return b"".join(_part(folder, part) for part in parts)


def _part(folder: str, name: str) -> bytes:
    kept, inside = [], False
    with open(os.path.join(_HERE, folder, name + ".py"), "rb") as lines:
        for line in lines:
            if inside or line.startswith(b"from dogwatch.aboard."):
                inside = not line.startswith(b")") if inside else line.endswith(b"(\n")
            elif not line.lstrip().startswith(b"#"):  # what is said to readers of the source need not travel
                kept.append(line)
    return b"".join(kept)
