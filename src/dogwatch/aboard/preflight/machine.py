"""The machine: its GPUs and who is on them, its limits, what it reaches over the network, and what Slurm would say."""

import errno
import json
import os
import re
import signal
import socket
import time

from dogwatch.aboard.preflight.apart import found_on_path, heard
from dogwatch.aboard.preflight.program import head_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CARD_FIELDS = ("index", "uuid", "name", "memory.total", "memory.used", "utilization.gpu", "driver_version")
USER_FIELDS = ("gpu_uuid", "pid", "used_memory", "process_name")
MIB = 1 << 20
TOOL_PLACES = ("/usr/bin", "/usr/local/bin", "/usr/local/nvidia/bin", "/opt/rocm/bin", "/usr/lib/wsl/lib")


def look_at_gpus(env: "dict[str, str]", cwd: str, seconds: float) -> "dict[str, Any]":
    """Every GPU that a tool of the maker lists; `tool` is null where there is no such tool."""
    for name, ask in (("nvidia-smi", nvidia), ("rocm-smi", rocm)):
        path = found_on_path(name, env, cwd, TOOL_PLACES)
        if path is not None:
            return dict(ask(path, env, time.monotonic() + seconds), tool=name)
    return {"tool": None, "why": None, "gpus": [], "driver": None, "cuda": None}


def nvidia(path: str, env: "dict[str, str]", until: float) -> "dict[str, Any]":
    row: "dict[str, Any]" = {"why": None, "gpus": [], "driver": None, "cuda": None, "listed": []}
    said = queried(path, "gpu", CARD_FIELDS, env, until)
    if said["why"] is not None:
        row["why"] = said["why"]
        return row
    for fields in said["rows"]:
        row["driver"] = fields["driver_version"]
        row["gpus"].append(
            {
                "index": whole(fields["index"]),
                "uuid": fields["uuid"],
                "name": fields["name"],
                "memory_total": amount(fields["memory.total"]),
                "memory_used": amount(fields["memory.used"]),
                "used_percent": whole(fields["utilization.gpu"]),
                "processes": [],
            }
        )
    by_uuid = {gpu["uuid"]: gpu for gpu in row["gpus"]}
    users = queried(path, "compute-apps", USER_FIELDS, env, until)
    for fields in users["rows"]:
        if fields["gpu_uuid"] in by_uuid:
            by_uuid[fields["gpu_uuid"]]["processes"].append(gpu_user(fields))
    banner = heard([path], env, until - time.monotonic())
    spoken = re.search(r"CUDA Version: {1,20}(\d{1,3})\.(\d{1,3})", banner["out"])
    row["cuda"] = [int(spoken.group(1)), int(spoken.group(2))] if spoken else None
    listing = heard([path, "-L"], env, until - time.monotonic())
    row["listed"] = re.findall(r"\(UUID: ((?:GPU|MIG)-[0-9A-Za-z/-]{1,80})\)", listing["out"])
    return row


def queried(path: str, what: str, fields: "tuple[str, ...]", env: "dict[str, str]", until: float) -> "dict[str, Any]":
    """The rows of one query, by field."""
    argv = [path, "--query-%s=%s" % (what, ",".join(fields)), "--format=csv,noheader,nounits"]
    said = heard(argv, env, until - time.monotonic())
    why = said["why"]
    if why is None and said["code"] != 0:
        why = "ended with %s: %s" % (said["code"], (said["out"] + said["err"]).strip()[:200])
    rows = [[cell.strip() for cell in line.split(",", len(fields) - 1)] for line in said["out"].splitlines()]
    return {"why": why, "rows": [dict(zip(fields, row)) for row in rows if len(row) == len(fields) and not why]}


def gpu_user(fields: "dict[str, str]") -> "dict[str, Any]":
    pid = whole(fields["pid"])
    row = {"pid": pid, "name": fields["process_name"], "memory": amount(fields["used_memory"]), "user": None}
    try:
        import pwd

        row["user"] = pwd.getpwuid(os.stat("/proc/%s" % pid).st_uid).pw_name
    except (OSError, KeyError):
        pass
    return row


def whole(text: str) -> "int | None":
    return int(text) if re.match(r"\A\d{1,15}\Z", text) else None


def amount(text: str) -> "int | None":
    """MiB as bytes; [N/A] is not known."""
    number = whole(text)
    return None if number is None else number * MIB


def rocm(path: str, env: "dict[str, str]", until: float) -> "dict[str, Any]":
    row: "dict[str, Any]" = {"why": None, "gpus": [], "driver": None, "cuda": None, "listed": []}
    asked = ["--showproductname", "--showuniqueid", "--showmeminfo", "vram", "--showuse", "--showdriverversion"]
    said = heard([path] + asked + ["--json"], env, until - time.monotonic())
    row["why"] = said["why"]
    try:
        told = json.loads(said["out"][said["out"].find("{") :])
    except ValueError:
        row["why"] = row["why"] or "ended with %s: %s" % (said["code"], said["err"].strip()[:200])
        return row
    row["driver"] = str((told.get("system") or {}).get("Driver version") or "") or None
    for key in sorted(told, key=lambda name: (len(name), name)):
        card = {str(name).lower(): str(value) for name, value in told[key].items()}
        if re.match(r"\Acard\d{1,3}\Z", key):
            row["gpus"].append(
                {
                    "index": int(key[4:]),
                    "uuid": card.get("unique id", ""),
                    "name": card.get("card series") or card.get("card model") or "AMD GPU",
                    "memory_total": whole(card.get("vram total memory (b)", "")),
                    "memory_used": whole(card.get("vram total used memory (b)", "")),
                    "used_percent": whole(card.get("gpu use (%)", "")),
                    "processes": [],
                }
            )
    return row


def look_at_limits(signals: "list[str]") -> "dict[str, Any]":
    """What a program started here would inherit: the size of its core dumps, where they go, what it would ignore."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    ignored = re.search(r"^SigIgn:\s{0,9}([0-9a-f]{1,32})", head_of("/proc/self/status", 8192), re.M)
    bits = int(ignored.group(1), 16) if ignored else 0
    numbers = {name: getattr(signal, "SIG" + name, None) for name in signals}
    return {
        "core": None if soft == resource.RLIM_INFINITY else soft,
        "core_most": None if hard == resource.RLIM_INFINITY else hard,
        "core_pattern": head_of("/proc/sys/kernel/core_pattern", 512).strip(),
        "ignored": [name for name, number in numbers.items() if number is not None and bits >> (number - 1) & 1],
        "unknown": [name for name, number in numbers.items() if number is None],
    }


def look_at_network(host: str, port: int, seconds: float) -> "dict[str, Any]":
    """Whether a connection opens; nothing is said on it."""
    began = time.monotonic()
    try:
        made = socket.create_connection((host, port), max(0.1, seconds))
        made.close()
    except socket.gaierror as error:
        return {"reached": False, "why": "its name is not known here (%s)" % error.strerror}
    except socket.timeout:
        return {"reached": False, "why": "it did not answer in %.0f s" % seconds}
    except OSError as error:
        refused = error.errno == errno.ECONNREFUSED
        return {"reached": False, "why": "nothing listens there" if refused else str(error.strerror or error)}
    return {"reached": True, "took": round(time.monotonic() - began, 3)}
