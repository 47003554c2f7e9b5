"""The machine: its GPUs and who is on them, its limits, what it reaches over the network, and what Slurm would say."""

import errno
import os
import re
import signal
import socket
import time

from dogwatch.remote.gpus.figures import run_tools, tool
from dogwatch.remote.gpus.read_gpus import first_reading
from dogwatch.remote.preflight.program import head_of


def inspect_gpus(env: "dict[str, str]", seconds: float) -> object:
    """Every GPU by the first way that works, and the newest CUDA that the driver runs; `by` is null without any."""
    os.environ.clear()  # of this child: the tools are found as the job will find them
    os.environ.update(env)
    until = time.monotonic() + seconds
    by, reading, failed = first_reading(0.6 * seconds, until, [])
    program = tool("nvidia-smi") if by in ("nvml", "nvidia-smi") else None
    cuda = None
    if program is not None:
        ((banner, _),) = run_tools([[program]], max(1.0, until - time.monotonic()))
        version = re.search(r"CUDA Version: {1,20}(\d{1,3})\.(\d{1,3})", banner)
        cuda = [int(version.group(1)), int(version.group(2))] if version else None
    gpus, driver = reading.get("gpus", []), reading.get("driver", "")
    return {"by": by, "gpus": gpus, "driver": driver, "cuda": cuda, "failed": failed}


def inspect_limits(signals: "list[str]") -> object:
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


def inspect_network(host: str, port: int, seconds: float) -> object:
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
