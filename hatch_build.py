"""Compiles `logs/native.c` where a C compiler is there; a package without it is slower and otherwise the same.

DOGWATCH_C=no leaves it out, for a wheel that fits every machine; DOGWATCH_C=yes makes a build without it an error.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src", "dogwatch", "logs", "native.c")


class CompileHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before a wheel is built, one that points back to this folder (`pip install -e`) included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root, SOURCE)
        library = source.with_suffix(".lib")
        library.unlink(missing_ok=True)
        wanted = os.environ.get("DOGWATCH_C", "")
        if wanted == "no":
            return
        if sys.byteorder != "little" or not compiled(source, library):
            if wanted == "yes":
                raise SystemExit("DOGWATCH_C=yes, and no C compiler that works: install gcc and libc6-dev, or unset it")
            self.app.display_warning("no C compiler that works: long logs are going to be read more slowly")
            return
        build_data["artifacts"].append(f"/{library.relative_to(self.root).as_posix()}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def compiled(source: Path, library: Path) -> bool:
    """Whether the compiler made a library of the source. It is written beside and moved, since a program may be using
    the old one."""
    fresh = library.with_suffix(".new")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    words = [*compiler, "-std=c11", "-O3", "-fPIC", "-shared", str(source), "-o", str(fresh)]
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=120)
    except (OSError, subprocess.SubprocessError):
        fresh.unlink(missing_ok=True)
        return False
    fresh.replace(library)
    return True
