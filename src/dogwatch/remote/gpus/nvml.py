"""NVIDIA's own library, by ctypes: every call may say that it is not supported, and no version has every call."""

import struct
from typing import Any

from dogwatch.remote.gpus.figures import card, holder, slot
from dogwatch.remote.shapes import Gpu, GpuReading

LIBRARIES = (
    "libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/usr/lib64-nvidia/libnvidia-ml.so.1",
)
NOT_FOUND, TOO_SMALL, NO_FUNCTION, LOST = 6, 7, 13, 15
CODES = {
    4: "no permission",
    9: "the NVIDIA driver is not loaded",
    15: "the GPU is lost",
    18: "the driver and its library are of different versions; a reboot brings them together",
    999: "unknown error",
}
NO_VALUE = (1 << 64) - 1
# A lowered clock for these reasons is told; being idle, or set so by somebody, is no news.
REASONS = (
    (0x04, "power cap"),
    (0x08, "hardware slowdown"),
    (0x20, "thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "power brake"),
)
RUNNING_NOW = "nvmlDeviceGet%sRunningProcesses"
MEMORY_V2 = 0x02000028


def reasons(mask: "int | None") -> "list[str]":
    return [word for bit, word in REASONS if mask is not None and mask & bit]


class Nvml:
    """The library, once it is loaded; a call returns its code, and a function that is not there its own."""

    def __init__(self, c: "Any", library: "Any") -> None:
        self.c, self.library = c, library

    def call(self, names: str, *given: "Any") -> int:
        """The first function of these names that this version has."""
        for name in names.split():
            try:
                code = int(getattr(self.library, name)(*given))
            except AttributeError:
                continue
            if code != NO_FUNCTION:
                return code
        return NO_FUNCTION

    def get(self, names: str, device: "Any", *given: "Any", **how: int) -> "Any":
        """One number about a device, or several as a list; None where it is not told."""
        count, wide = how.get("count", 1), how.get("wide", 0)
        out = ((self.c.c_ulonglong if wide else self.c.c_uint) * count)()
        if self.call(names, device, *(given + (out,))) != 0:
            return None
        return out[0] if count == 1 else list(out)

    def text(self, names: str, device: "Any" = None) -> str:
        out = self.c.create_string_buffer(96)
        given = (out, 96) if device is None else (device, out, 96)
        return out.value.decode("utf-8", "replace") if self.call(names, *given) == 0 else ""

    def child(self, names: str, device: "Any", index: int) -> "tuple[Any, int]":
        out = self.c.c_void_p()
        given = (self.c.c_uint(index), self.c.byref(out))
        code = self.call(names, *(given if device is None else (device,) + given))
        return out, code

    def pci(self, device: "Any") -> str:
        out = self.c.create_string_buffer(128)
        code = self.call("nvmlDeviceGetPciInfo_v3 nvmlDeviceGetPciInfo_v2", device, out)
        return slot(out.raw[:16].split(b"\0")[0].decode("ascii", "replace")) if code == 0 else ""

    def memory(self, device: "Any") -> "tuple[int | None, int | None]":
        """(used, total); the newer call does not count what the driver keeps for itself as used."""
        out = (self.c.c_ulonglong * 5)(MEMORY_V2)
        if self.call("nvmlDeviceGetMemoryInfo_v2", device, out) == 0:
            return out[4], out[1]
        rows = self.get("nvmlDeviceGetMemoryInfo", device, count=3, wide=1)
        return (rows[2], rows[0]) if rows else (None, None)

    def processes(self, device: "Any") -> "list[tuple[int, int | None, int, int]] | None":
        """(pid, bytes, GPU instance, compute instance) of those that compute, and of clients of MPS."""
        found = None
        for kind in ("Compute", "MPSCompute"):
            for version, form in (("_v3", "IxxxxQII"), ("_v2", "IxxxxQII"), ("", "IxxxxQ")):
                rows = self._listed(RUNNING_NOW % kind + version, form, device)
                if rows is not None:
                    found = (found or []) + rows
                    break
        return None if found is None else sorted(set(found))

    def _listed(self, name: str, form: str, device: "Any") -> "list[tuple[int, int | None, int, int]] | None":
        size, room = struct.calcsize(form), 128
        while room <= 4096:
            count, out = self.c.c_uint(room), self.c.create_string_buffer(size * room)
            code = self.call(name, device, self.c.byref(count), out)
            if code == 0:
                rows = [struct.unpack_from(form, out.raw, size * at) for at in range(min(count.value, room))]
                filled = [(row + (0, 0))[:4] for row in rows]
                return [(pid, None if size == NO_VALUE else size, gpu, part) for pid, size, gpu, part in filled]
            if code != TOO_SMALL:
                return None
            room *= 4
        return None

    def read(self, index: int) -> "list[Gpu]":
        """A GPU and, in MIG mode, its slices."""
        device, code = self.child("nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByIndex", None, index)
        if code != 0:
            return [card(index, trouble=CODES.get(code, "NVML error %d" % code))]
        lost = self.call("nvmlDeviceGetTemperature", device, 0, (self.c.c_uint * 1)()) == LOST
        used, total = self.memory(device)
        share = self.get("nvmlDeviceGetUtilizationRates", device, count=2)
        watts, limit = (self.get("nvmlDeviceGet" + name, device) for name in ("PowerUsage", "EnforcedPowerLimit"))
        throttle = "nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons"
        row = card(
            index,
            uuid=self.text("nvmlDeviceGetUUID", device),
            name=self.text("nvmlDeviceGetName", device),
            pci=self.pci(device),
            trouble=CODES[LOST] if lost else "",
            used=None if share is None else min(100, share[0]) / 100,
            memory_used=used,
            memory_total=total,
            watts=None if watts is None else watts / 1000,
            watts_limit=None if limit is None else limit / 1000,
            celsius=self.get("nvmlDeviceGetTemperature", device, 0),
            mhz=self.get("nvmlDeviceGetClockInfo", device, 1),
            mhz_most=self.get("nvmlDeviceGetMaxClockInfo", device, 1),
            throttle=reasons(self.get(throttle, device, wide=1)),
            ecc=self.get("nvmlDeviceGetTotalEccErrors", device, 1, 0, wide=1),
        )
        listed = self.processes(device)
        slices = self.slices(device, row, listed)
        taken = [process for part in slices for process in part["processes"] or ()]
        if listed is not None:
            own = [holder(pid, size) for pid, size, _, _ in listed]
            row["processes"] = [process for process in own if process not in taken]
        return [row] + slices

    def slices(self, device: "Any", whole: "Gpu", listed: "Any") -> "list[Gpu]":
        now, next_boot = (self.c.c_uint * 1)(), (self.c.c_uint * 1)()
        cut = self.call("nvmlDeviceGetMigMode", device, now, next_boot) == 0 and now[0] == 1
        most = self.get("nvmlDeviceGetMaxMigDeviceCount", device)
        rows = []
        for at in range(min(most or 0, 16) if cut else 0):
            one, code = self.child("nvmlDeviceGetMigDeviceHandleByIndex", device, at)
            if code != 0:
                continue
            used, total = self.memory(one)
            ids = [self.get("nvmlDeviceGet%sInstanceId" % kind, one) for kind in ("Gpu", "Compute")]
            mine = [holder(pid, size) for pid, size, gpu, compute in listed or () if [gpu, compute] == ids]
            row = card(
                whole["index"],
                uuid=self.text("nvmlDeviceGetUUID", one),
                name=self.text("nvmlDeviceGetName", one),
                pci=whole["pci"],
                parent=whole["uuid"],
                memory_used=used,
                memory_total=total,
                processes=None if listed is None else mine,
            )
            rows.append(row)
        return rows


def read_nvml() -> "GpuReading":
    """All GPUs by NVML; {} where there is no such library."""
    try:
        import ctypes
    except ImportError:
        return {}
    for name in LIBRARIES:
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        return {}
    nvml = Nvml(ctypes, library)
    code = nvml.call("nvmlInit_v2 nvmlInit")
    if code != 0:
        return {"why": "NVML: %s" % CODES.get(code, "error %d" % code)}
    count = ctypes.c_uint()
    code = nvml.call("nvmlDeviceGetCount_v2 nvmlDeviceGetCount", ctypes.byref(count))
    if code != 0:
        return {"why": "NVML: %s" % CODES.get(code, "error %d" % code)}
    cards = [row for index in range(min(count.value, 64)) for row in nvml.read(index)]
    return {"gpus": cards, "driver": nvml.text("nvmlSystemGetDriverVersion")}
