"""AMD's tools: amd-smi (ROCm 6 prints a list of GPUs, ROCm 7 wraps it in `gpu_data`), or rocm-smi of older releases."""

import json
import re
from typing import Any

from dogwatch.remote.gpus.figures import card, figure, holder, octets, run_tools, slot, tool, whole
from dogwatch.remote.shapes import Gpu, GpuHolder, GpuReading

AMD_QUESTIONS = ("metric", "process", "list", "static --asic --limit")
ROCM_QUESTION = (
    "--showuse --showmeminfo vram --showpower --showmaxpower --showtemp --showclocks --showuniqueid"
    " --showproductname --showbus --showpids --json"
)
MOST_LINES = 64
CARD_NAME = re.compile(r"card([0-9]{1,3})\Z")
PID_NAME = re.compile(r"PID ?([0-9]{1,10})\Z")


def json_in(text: str) -> "Any":
    """The JSON in an output; warnings may stand on the lines before it."""
    at = 0
    for line in text.splitlines(True)[:MOST_LINES]:
        if line.lstrip()[:1] in ("[", "{"):
            try:
                return json.JSONDecoder().raw_decode(text[at:].lstrip())[0]
            except (ValueError, RecursionError):
                pass
        at += len(line)
    return None


def by_gpu(document: "Any") -> "dict[int, Any]":
    rows = document.get("gpu_data") if isinstance(document, dict) else document
    found = {whole(inner(row, "gpu")): row for row in rows} if isinstance(rows, list) else {}
    return {index: row for index, row in found.items() if index is not None}


def inner(row: "Any", *path: str) -> "Any":
    """What lies at the end of a path of keys, or None: a whole section may be "N/A"."""
    value: "Any" = row
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def first(*values: "float | None") -> "float | None":
    return next((value for value in values if value is not None), None)


def read_amd_smi(seconds: float) -> "GpuReading":
    """All GPUs by amd-smi; {} where there is no such program."""
    program = tool("amd-smi")
    if program is None:
        return {}
    outcomes = run_tools([[program] + words.split() + ["--json"] for words in AMD_QUESTIONS], seconds)
    out, why = outcomes[0]
    if why:
        return {"why": why}
    metric, process, listed, static = (by_gpu(json_in(text)) for text, _ in outcomes)
    if not metric:
        return {"why": "amd-smi printed no GPU: %.120s" % out.strip()} if out.strip() else {}
    cards = []
    for index, row in sorted(metric.items()):
        gpu = amd_card(index, row, listed.get(index, {}), static.get(index, {}))
        gpu["processes"] = amd_processes(process[index]) if index in process else None
        cards.append(gpu)
    return {"gpus": cards, "driver": ""}


def amd_card(index: int, row: "Any", listed: "Any", static: "Any") -> "Gpu":
    use = figure(inner(row, "usage", "gfx_activity"))
    clocks = row.get("clock")
    shaders = sorted(name for name in clocks if name.startswith("gfx")) if isinstance(clocks, dict) else []
    clock, most = (first(*[figure(inner(clocks, name, key)) for name in shaders]) for key in ("clk", "max_clk"))
    heat = [figure(inner(row, "temperature", sensor)) for sensor in ("hotspot", "edge")]
    limits = [inner(static, "limit", key) for key in ("socket_power", "max_power", "ppt0")]
    limits.append(inner(static, "limit", "ppt0", "socket_power_limit"))
    name, uuid = str(inner(static, "asic", "market_name") or ""), str(listed.get("uuid") or "")
    return card(
        index,
        uuid=uuid if uuid != "N/A" else "",
        name=name if name != "N/A" else "",
        pci=slot(str(listed.get("bdf") or "")) if listed.get("bdf") else "",
        used=None if use is None else min(100.0, use) / 100,
        memory_used=octets(inner(row, "mem_usage", "used_vram")),
        memory_total=octets(inner(row, "mem_usage", "total_vram")),
        watts=first(*[figure(inner(row, "power", key)) for key in ("socket_power", "average_socket_power")]),
        watts_limit=first(*[figure(limit) for limit in limits]),
        celsius=first(*heat),
        mhz=None if clock is None else int(clock),
        mhz_most=None if most is None else int(most),
        throttle=amd_throttle(row.get("throttle")),
        ecc=whole(inner(row, "ecc", "total_uncorrectable_count")),
    )


def amd_throttle(section: "Any") -> "list[str]":
    """The limits that are violated now, in the words that NVIDIA's have here too."""
    words = set()
    for key, value in section.items() if isinstance(section, dict) else ():
        if key.endswith("_violation_status") and value == "ACTIVE":
            named = "thermal slowdown" if "thermal" in key else "power cap" if key.startswith("ppt") else ""
            words.add(named or ("hardware thermal slowdown" if key.startswith("prochot") else "hardware slowdown"))
    return sorted(words)


def amd_processes(row: "Any") -> "list[GpuHolder]":
    """Without any process, a sentence stands where the first would."""
    holders, listed = [], row.get("process_list")
    for entry in listed if isinstance(listed, list) else ():
        process = entry.get("process_info", entry) if isinstance(entry, dict) else {}
        pid = whole(inner(process, "pid"))
        if pid:
            memory = inner(process, "memory_usage", "vram_mem")
            holders.append(holder(pid, octets(memory if memory is not None else process.get("mem_usage"))))
    return holders


def read_rocm_smi(seconds: float) -> "GpuReading":
    """All GPUs by rocm-smi; {} where there is no such program."""
    program = tool("rocm-smi")
    if program is None:
        return {}
    ((out, why),) = run_tools([[program] + ROCM_QUESTION.split()], seconds)
    document = json_in(out)
    if not isinstance(document, dict):
        return {"why": why or "rocm-smi printed no JSON: %.120s" % out.strip()}
    return {"gpus": rocm_cards(document), "driver": ""}


def rocm_cards(document: "Any") -> "list[Gpu]":
    named = {CARD_NAME.match(key): row for key, row in document.items() if isinstance(row, dict)}
    cards = [rocm_card(int(name.group(1)), row) for name, row in named.items() if name]
    system = document.get("system")
    listed = system if isinstance(system, dict) else {}
    if len(cards) == 1:  # of several it does not say which one a process is on
        cards[0]["processes"] = [
            holder(int(name.group(1)), whole(str(text).split(",")[2]))
            for name, text in [(PID_NAME.match(key), text) for key, text in listed.items()]
            if name and str(text).count(",") >= 2 and whole(str(text).split(",")[2])
        ]
    return sorted(cards, key=lambda gpu: gpu["index"])


def rocm_card(index: int, row: "Any") -> "Gpu":
    """The keys changed their spelling from release to release; what a key means did not."""
    low = {key.lower().rstrip(":"): value for key, value in row.items()}

    def value(*keys: str) -> "float | None":
        return first(*[figure(low.get(key)) for key in keys])

    use, used, total = value("gpu use (%)"), value("vram total used memory (b)"), value("vram total memory (b)")
    power = ("average graphics package power (w)", "current socket graphics package power (w)")
    heat = ("temperature (sensor junction) (c)", "temperature (sensor edge) (c)")
    clock, unique = value("sclk clock speed"), str(low.get("unique id") or "")
    return card(
        index,
        uuid=unique if unique != "N/A" else "",
        name=str(low.get("card series") or low.get("card model") or ""),
        pci=slot(str(low["pci bus"])) if low.get("pci bus") else "",
        used=None if use is None else min(100.0, use) / 100,
        memory_used=None if used is None else int(used),
        memory_total=None if total is None else int(total),
        watts=value(*power),
        watts_limit=value("max graphics package power (w)"),
        celsius=value(*heat),
        mhz=None if clock is None else int(clock),
    )
