"""Errands: programs that ride with the one request that needs them, run by the file hand."""

import zlib

from dogwatch.aboard.probe.paths import Allowance
from dogwatch.aboard.probe.wire import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEPT: "dict[str, dict[str, Any]]" = {}


def run_errand(spec: "dict[str, Any]", _: Allowance) -> "Any":
    """What a program makes of its call. It comes from whoever sent the probe itself, never from a file; the last one
    is kept, since most errands are run for many files."""
    program = spec["program"]
    if program not in KEPT:
        import binascii

        KEPT.clear()
        names: "dict[str, Any]" = {"__name__": "errand"}
        exec(zlib.decompress(binascii.a2b_base64(program)), names)  # noqa: S102
        KEPT[program] = names
    return KEPT[program]["errand"](mapping(spec.get("call"), "call"))
