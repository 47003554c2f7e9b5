"""What nvidia-smi prints, where the library itself cannot be used."""

import re

from dogwatch.remote.gpus.figures import LONGEST, MIB, card, figure, holder, run_tools, slot, tool, whole
from dogwatch.remote.gpus.nvml import CODES, LOST, reasons
from dogwatch.remote.shapes import Gpu, GpuReading

# A driver that does not know one of the fields refuses the whole question; then the next one is asked.
SHORT = "index,uuid,name,pci.bus_id,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,driver_version"
LONG = SHORT + (
    ",enforced.power.limit,clocks.sm,clocks.max.sm,clocks_throttle_reasons.active"
    ",ecc.errors.uncorrected.volatile.total,mig.mode.current"
)
RENAMED = LONG.replace("throttle_reasons", "event_reasons")
APPS = "gpu_uuid,pid,used_memory"
WHOLE_LINE = re.compile(r"GPU [0-9]{1,3}: .{0,200}\(UUID: (GPU-[0-9A-Za-z-]{1,60})\)")
SLICE_LINE = re.compile(r"\s{1,20}(MIG [^\s]{1,40}) .{0,100}\(UUID: (MIG-[0-9A-Za-z/-]{1,80})\)")


def read_nvidia_smi(seconds: float) -> "GpuReading":
    """All GPUs by nvidia-smi; {} where there is no such program."""
    program = tool("nvidia-smi")
    if program is None:
        return {}
    fields, form = LONG, "--format=csv,noheader,nounits"
    questions = [[program, "--query-gpu=" + fields, form], [program, "--query-compute-apps=" + APPS, form]]
    (out, why), (apps, no_apps) = run_tools(questions, seconds)
    for others in (RENAMED, SHORT):
        if why and "not a valid field" in out:
            fields = others
            ((out, why),) = run_tools([[program, "--query-gpu=" + fields, form]], seconds)
    if why:
        return {"why": why}
    rows = rows_of(out, fields)
    cards = [read_row(row) for row in rows]
    if not cards and out.strip() and "No devices" not in out:
        return {"why": "nvidia-smi printed something else: %.120s" % out.strip()}
    if any(row.get("mig.mode.current", "").strip() == "Enabled" for row in rows):
        ((listing, why),) = run_tools([[program, "-L"]], seconds)
        cards += [] if why else slices_of(listing, cards)
    if not no_apps:
        add_processes(apps, cards)
    return {"gpus": cards, "driver": rows[0]["driver_version"][:LONGEST] if rows else ""}


def rows_of(out: str, fields: str) -> "list[dict[str, str]]":
    """The lines that have every field; warnings may stand between them."""
    names = fields.split(",")
    rows = [line.split(", ") for line in out.splitlines()]
    return [dict(zip(names, row)) for row in rows if len(row) == len(names)]


def read_row(row: "dict[str, str]") -> "Gpu":
    use = figure(row["utilization.gpu"])
    active = row.get("clocks_throttle_reasons.active", row.get("clocks_event_reasons.active", "")).strip()
    lost = any("GPU is lost" in text for text in row.values())
    return card(
        whole(row["index"]) or 0,
        uuid=row["uuid"].strip() if row["uuid"].startswith("GPU-") else "",
        name=row["name"].strip(),
        pci=slot(row["pci.bus_id"]),
        trouble=CODES[LOST] if lost else "",
        used=None if use is None else min(100.0, use) / 100,
        memory_used=whole(row["memory.used"], MIB),
        memory_total=whole(row["memory.total"], MIB),
        watts=figure(row["power.draw"]),
        watts_limit=figure(row.get("enforced.power.limit")),
        celsius=figure(row["temperature.gpu"]),
        mhz=whole(row.get("clocks.sm")),
        mhz_most=whole(row.get("clocks.max.sm")),
        throttle=reasons(int(active, 16)) if re.match(r"0x[0-9a-fA-F]{1,16}\Z", active) else [],
        ecc=whole(row.get("ecc.errors.uncorrected.volatile.total")),
    )


def slices_of(listing: str, cards: "list[Gpu]") -> "list[Gpu]":
    """The MIG devices that `nvidia-smi -L` lists under their GPU; it says nothing of their memory."""
    by_uuid, parent, rows = {gpu["uuid"]: gpu for gpu in cards}, None, []
    for line in listing.splitlines():
        head, found = WHOLE_LINE.match(line), SLICE_LINE.match(line)
        if head:
            parent = by_uuid.get(head.group(1))
        elif found and parent is not None:
            name = "%s %s" % (parent["name"], found.group(1))
            row = card(parent["index"], uuid=found.group(2), name=name, pci=parent["pci"], parent=parent["uuid"])
            rows.append(row)
    return rows


def add_processes(apps: str, cards: "list[Gpu]") -> None:
    """Give each card its processes; of a card that is cut into slices it is not known which slice has a process."""
    cut = set(gpu["parent"] for gpu in cards if gpu["parent"])
    for gpu in cards:
        if not gpu["parent"] and gpu["uuid"] not in cut:
            gpu["processes"] = []
    by_uuid = {gpu["uuid"]: gpu for gpu in cards}
    for line in apps.splitlines():
        row = [part.strip() for part in line.split(",")]
        pid = whole(row[1]) if len(row) == 3 else None
        if pid and row[0] in by_uuid:
            gpu = by_uuid[row[0]]
            gpu["processes"] = (gpu["processes"] or []) + [holder(pid, whole(row[2], MIB))]
