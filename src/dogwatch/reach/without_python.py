"""Without Python: what can be asked of a host that has none. Slurm, in POSIX sh; its logs and files stay unread.

The request becomes the head of a script that reads nothing from its command line, with every word quoted once, here;
the answer comes in parts after lines that begin with a number nobody could know, and is made into the body that the
probe would have sent.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.aboard import MARK, sh_look

LIMITS = "there is no python3, so only Slurm is asked there: logs, files, disks and GPU figures are not read"
REMEDY = "put a python3 (3.6 or newer) on the PATH that `ssh HOST python3` has there"
# See REMOTE in ssh.py for what one line may hold. The watchdog is armed before the script arrives, ends all of it when
# its time is over, and ends itself within a second of the script.
REMOTE = (
    "exec sh -c '(n=0;while [ $n -lt {:d} ];do kill -0 $$||exit;sleep 1;n=$((n+1));done;kill -9 0)"
    f"</dev/null >/dev/null 2>&1 & exec sh -s {MARK}' {MARK}"
)
PATIENCE = {"squeue": 30.0, "sacct": 40.0}
KILLED, NOT_FOUND, NOT_EXECUTABLE = 137, 127, 126
ERR_TAIL = 2048
_JOB_ID = re.compile(r"[0-9]{1,20}(_[0-9]{1,10}|\+[0-9]{1,6})?")
_FILES = ("logs", "texts", "files", "gpu_metrics", "errands")


class Unusable(ValueError):
    """A request that cannot be put into words of sh, or an answer that is not one."""


def program(request: Mapping[str, Any], nonce: str, budget: float) -> bytes:
    """The script for `sh`. What would start it comes last, so that one cut short on its way does nothing."""
    spec = request.get("slurm") or {}
    wanted, history = _ids(spec.get("ids")), _ids(spec.get("history"))
    settings = {
        "nonce": nonce,
        "mark": str(spec.get("mark") or ""),
        "wanted": " ".join(wanted),
        "history": " ".join(history),
        "active": " ".join(map(str, spec.get("active") or ())),
        "squeue": "yes" if spec.get("squeue") is not None else "",
        "sacct": "yes" if spec.get("sacct") is not None else "",
        "about": "yes" if spec.get("about") else "",
    }
    columns = spec.get("columns") or {}
    settings |= {f"{name}_at": str(int(columns.get(name, 0)) + 1) for name in ("id", "mark", "state")}
    head = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
    head.append(_function("squeue", spec.get("squeue") or (), 0.6 * budget, '"--user=$me"' if spec.get("mine") else ""))
    jobs = [word for word in spec.get("sacct") or () if not str(word).endswith("=")]
    last = [word for word in spec.get("sacct") or () if str(word).endswith("=")]
    head.append(_function("sacct", jobs, budget, f'{shlex.quote(last[-1])}"$ids"' if last else ""))
    # In braces, so that nothing is done before the last line is here.
    text = "\n".join(["{", *head, ""]).encode("utf-8", "surrogateescape") + sh_look() + b"}\n"
    if b"\0" in text:
        raise Unusable("a NUL byte is no word of a shell")
    return text


def body(reply: bytes, request: Mapping[str, Any], nonce: str) -> dict[str, Any]:
    """The answer as the probe would have given it; whatever was asked beside Slurm is said to be unread."""
    parts = _parts(reply.decode("utf-8", "replace"), nonce)
    told = parts.get("about", "").split("\n")
    if len(told) < 3 or not told[0].isdigit():
        raise Unusable("the answer has no head")
    found: dict[str, Any] = {
        "nonce": nonce,
        "clock": {"wall": float(told[0]), "boottime": None},
        "host": told[2],
        "boot": told[3] if len(told) > 3 and told[3] else None,
        "python": None,
    }
    if request.get("slurm") is not None:
        found["slurm"] = _slurm(parts, request["slurm"], told[1])
    for name in _FILES:
        if request.get(name) is not None:
            found[name] = {"ok": False, "why": LIMITS, "late": list(request[name])}
    for name in ("process", "scripts", "disks"):
        if request.get(name) is not None:
            found[name] = {"ok": False, "why": LIMITS}
    return found


def _slurm(parts: Mapping[str, str], spec: Mapping[str, Any], me: str) -> dict[str, Any]:
    queue, accounting = _run(parts, "queue"), _run(parts, "accounting")
    about = _run(parts, "cluster")
    if spec.get("squeue") is not None and queue is None:
        raise Unusable("the answer has no queue")
    if accounting is not None:
        accounting["ids"] = [one for one in parts.get("ids", "").split(",") if one]
    section: dict[str, Any] = {"ok": True, "seconds": 0.0, "queue": queue, "accounting": accounting, "me": me}
    section |= {"cluster": None, "version": None}
    if about is not None:
        config = dict(re.findall(r"^(ClusterName|SLURM_VERSION)\s*=\s*(\S+)", about["out"], re.MULTILINE))
        about["out"] = ""
        section |= {"cluster": config.get("ClusterName"), "version": config.get("SLURM_VERSION"), "about": about}
    asked = {"squeue": queue, "sacct": accounting, "scontrol": about}
    return section | {"counts": {command: int(run is not None) for command, run in asked.items()}}


def _run(parts: Mapping[str, str], name: str) -> dict[str, Any] | None:
    """What a command said, as the probe tells it; one that was ended for being late, or is not there, has no code."""
    if name not in parts:
        return None
    err, _, code = parts[f"{name}.said"].rpartition("\n")
    if not code.isdigit():
        raise Unusable(f"the answer does not say how {name} ended")
    whys = {KILLED: "late", NOT_FOUND: "not found", NOT_EXECUTABLE: "not found"}
    why = whys.get(int(code))
    run = {"rc": None if why else int(code), "out": "" if why else parts[name], "err": err[-ERR_TAIL:]}
    return run | {"seconds": 0.0, "why": why}


def _parts(text: str, nonce: str) -> dict[str, str]:
    """The parts by name; what a command said beside its answer is `NAME.said`."""
    found: dict[str, str] = {}
    before = ""
    for piece in re.split(rf"(?:\A|\n){re.escape(nonce)} (?=[a-z]+\n)", text)[1:]:
        name, _, rest = piece.partition("\n")
        key = f"{before}.said" if name == "said" else name
        if key in found:
            raise Unusable("the answer has a part twice")
        found[key] = rest
        before = name
    return found


def _ids(given: Any) -> Sequence[str]:
    ids = [str(one) for one in given or ()]
    if not all(_JOB_ID.fullmatch(one) for one in ids):
        raise Unusable("a job id must be digits, with _TASK or +OFFSET")
    return ids


def _function(command: str, words: Sequence[Any], budget: float, last: str) -> str:
    seconds = max(1, int(min(PATIENCE[command], budget)))
    return f"ask_{command}() {{ within {seconds} {command} {shlex.join(map(str, words))} {last}; }}"
