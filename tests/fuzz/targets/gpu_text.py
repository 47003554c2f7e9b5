"""What nvidia-smi, amd-smi, rocm-smi, the kernel and a job's own metrics file print of GPUs."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dogwatch.remote.gpus import amd, nvidia_smi
from dogwatch.remote.gpus.kernel import xid_of
from dogwatch.sources.slurm import gpu_metrics
from dogwatch.wire.programs import Gpu, Xid
from tests.fuzz.dice import Dice, documents
from tests.gpus.test_words_of_tools import LIST, METRIC, ROCM, STATIC

PROCESSES = {"gpu": 0, "process_list": [{"process_info": {"pid": 7, "mem_usage": {"value": 9, "unit": "B"}}}]}
AMD = {"metric": [METRIC], "list": [LIST], "static": [STATIC], "process": [PROCESSES], "rocm": ROCM}
KINDS = 6


def target(data: bytes) -> None:
    """Never raises, and each card is one that the answer's schema takes: a figure that is none is left out."""
    dice = Dice(data)
    kind = dice.number(KINDS)
    if kind < 2:
        _nvidia(dice.text(), (nvidia_smi.LONG, nvidia_smi.SHORT)[kind])
    elif kind == 2:
        _amd(dice.document(AMD))
    elif kind == 3:
        for line in dice.text().splitlines()[:20]:
            xid = xid_of(line, 3.0)
            if xid:
                msgspec.convert(xid, Xid)
    else:
        header, _, text = dice.text().partition("\n")
        told = gpu_metrics.newest(header, text)
        if told is not None:
            json.dumps(msgspec.to_builtins(gpu_metrics.add(None, told)), allow_nan=False)


def _nvidia(text: str, fields: str) -> None:
    table, _, rest = text.partition("\x1e")
    listing, _, apps = rest.partition("\x1e")
    cards = [nvidia_smi.read_row(row) for row in nvidia_smi.rows_of(table, fields)]
    cards += nvidia_smi.slices_of(listing, cards)
    nvidia_smi.add_processes(apps, cards)
    for one in cards:
        _taken(one)


def _amd(text: str) -> None:
    told = amd.json_in(text)
    parts: dict[str, Any] = told if isinstance(told, dict) else dict.fromkeys(AMD, told)
    metric, listed, static, process = (amd.by_gpu(parts.get(name)) for name in ("metric", "list", "static", "process"))
    for index, row in metric.items():
        one = amd.amd_card(index, row, listed.get(index, {}), static.get(index, {}))
        one["processes"] = amd.amd_processes(process[index]) if index in process else None
        _taken(one)
    rocm = parts.get("rocm")
    for one in amd.rocm_cards(rocm) if isinstance(rocm, dict) else ():
        _taken(one)


def _taken(one: object) -> None:
    msgspec.convert(one, Gpu)
    json.dumps(one, allow_nan=False)


def seeds() -> list[bytes]:
    row = "0, GPU-1-a, NVIDIA H100, 00000000:3B:00.0, 88, 120, 81559, 540.12, 64, 550.54"
    more = row + ", 700.00, 1980, 1980, 0x0000000000000004, 0, Enabled"
    listing = "GPU 0: NVIDIA H100 (UUID: GPU-1-a)\n  MIG 1g.10gb     Device  0: (UUID: MIG-1-b)\n"
    odd = "1, GPU-2, x, 0:4:0, [N/A], [Unknown Error], [GPU is lost], [Not Supported], -1, 5"
    xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid='7', name=python, GPU has fallen off the bus."
    texts = [
        b"\x00" + f"{more}\n\x1e{listing}\x1eGPU-1-a, 7, 100\nMIG-1-b, 8, [N/A]\n".encode(),
        b"\x01" + f"{row}\n{odd}\n\x1e{listing}\x1eGPU-1-a, 7, 100\n".encode(),
        b"\x03" + xid.encode(),
        b"\x04timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\nx, 0, 50 %, 5 MiB, 9 MiB\n",
    ]
    return texts + [b"\x02" + seed for seed in documents(AMD)]
