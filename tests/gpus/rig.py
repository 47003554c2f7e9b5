"""A machine with GPUs that do as they are told: NVIDIA's library and program, and AMD's, built and written by us."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dogwatch.remote import extra_probe
from dogwatch.transport.interface import Answer, Transport
from dogwatch.wire.json_value import JsonObject
from tests.support import wait_until

SOURCE = Path(__file__).with_name("nvml.c")
GB = 1 << 30
H100: dict[str, Any] = {
    "name": "NVIDIA H100 80GB HBM3",
    "percent": 97,
    "used": 60 * GB,
    "total": 80 * GB,
    "milliwatts": 612_000,
    "limit": 700_000,
    "celsius": 61,
    "mhz": 1755,
    "mhz_most": 1980,
    "throttle": "0x0",
    "ecc": 0,
}
# A child of the worker computes, and it has CUDA's library in its memory as a real one has.
WORK = """
import mmap, os, subprocess, sys, time
if "child" not in sys.argv:
    sys.exit(subprocess.call([sys.executable, "-c", os.environ["WORK"], "child"]))
library = open(os.environ["CUDA"], "rb")
held = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
name = "%s/pid%s" % (os.path.dirname(os.environ["CUDA"]), os.environ["CUDA_VISIBLE_DEVICES"])
with open(name + ".new", "w") as note:
    note.write(str(os.getpid()))
os.rename(name + ".new", name)
time.sleep(120)
"""
SMI = """#!{python} -IS
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
told = json.load(open(os.path.join(here, "{name}.state")))
asked = " ".join(sys.argv[1:])
if told.get("hang"):
    time.sleep(600)
if told.get("exit"):
    print(told["say"])
    sys.exit(told["exit"])
{body}
"""
NVIDIA_SMI_BODY = """
if asked == "-L":
    print(told["listing"], end="")
elif "--query-compute-apps" in asked:
    print(told.get("apps", ""), end="")
else:
    fields = sys.argv[1].partition("=")[2].split(",")
    unknown = [field for field in fields if field in told.get("unknown", ())]
    if unknown:
        print('Field "%s" is not a valid field to query.' % unknown[0])
        sys.exit(2)
    if "warning" in told:
        print(told["warning"])
    for gpu in told["gpus"]:
        print(", ".join(str(gpu.get(field, "[N/A]")) for field in fields))
"""
PRINTS_BODY = 'print(next((told[key] for key in told if key in asked), told.get("rest", "")))'


class Rig:
    """A directory that stands first on PATH and LD_LIBRARY_PATH of the probe."""

    def __init__(self, directory: Path, libraries: Mapping[str, Path]) -> None:
        self.directory, self._libraries = directory, libraries
        self._lines: list[str] = []

    def library(self, gpus: Sequence[Mapping[str, Any]] = (), *lines: str, old: bool = False) -> None:
        """Install the library with these GPUs; `lines` as nvml.c knows them."""
        target = self.directory / "libnvidia-ml.so.1"
        if not target.exists():
            shutil.copy(self._libraries["old" if old else "new"], target)
        told = [f"count {len(gpus)}", *lines]
        for index, gpu in enumerate(gpus):
            whole = {"uuid": f"GPU-{index:08d}", "pci": f"0000:{index + 16:02X}:00.0", **gpu}
            told += [f"gpu{index}.{key} {value}" for key, value in whole.items() if value is not None]
        aside = self.directory / "nvml.state.new"
        aside.write_text("\n".join(told) + "\n")
        aside.replace(self.directory / "nvml.state")

    def program(self, name: str, told: Mapping[str, Any]) -> None:
        """Install a program that prints what `told` has for the words it is asked with."""
        body = NVIDIA_SMI_BODY if name == "nvidia-smi" else PRINTS_BODY
        (self.directory / f"{name}.state").write_text(json.dumps(told))
        path = self.directory / name
        path.write_text(SMI.format(python=sys.executable, name=name, body=body))
        path.chmod(0o755)

    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self.directory}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(self.directory)}


def build(directory: Path) -> dict[str, Path]:
    """The library as of today, and as it was before MIG."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler (Debian: apt-get install gcc libc6-dev)")
    made = {}
    for name, flags in (("new", []), ("old", ["-DOLD"])):
        made[name] = directory / f"{name}.so"
        words = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *flags, str(SOURCE), "-o", str(made[name])]
        subprocess.run([*words, "-ldl"], check=True, timeout=60)
    return made


def look(transport: Transport, *, wait: int = 20, seconds: float = 3.0, **call: Any) -> dict[str, Any]:
    """What the extra probe says, asked as a poll asks."""
    spec: JsonObject = {
        "program": extra_probe("gpus"),
        "call": {"seconds": seconds, **call},
        "seconds": 20,
        "wait": wait,
    }
    answer = transport.ask({"extra_probes": {"gpus": spec}}, 40.0)
    assert isinstance(answer, Answer), answer
    row: dict[str, Any] = answer.body["extra_probes"]["gpus"]
    return row


def work_environment(directory: Path) -> dict[str, str]:
    """What WORK needs: a library to hold, beside which it says its pid."""
    cuda = directory / "libcuda.so.1"
    cuda.write_bytes(b"\x7fELF" + bytes(4096))
    return {"WORK": WORK, "CUDA": str(cuda)}


def computing(directory: Path, gpu: str) -> int:
    """The pid of the WORK that was given this GPU, once it computes."""
    note = directory / f"pid{gpu}"
    wait_until(note.exists)
    return int(note.read_text())
