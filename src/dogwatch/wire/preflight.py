"""What the checklist of `dogwatch preflight` found at a place: one struct for each question that it asks there.

`programs.Preflight` is the whole answer."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from dogwatch.wire.limits import MOST_ROWS, Content, Count, Identity, Name, Path, Said, Seconds, Whole
from dogwatch.wire.programs import Gpu

_Few = Meta(max_length=4096)
_Listed = Meta(max_length=MOST_ROWS)
PathAndWhy = tuple[Path, Said]
Version = tuple[Count, Count]


class Room(Struct):
    """The file system of a directory."""

    device: Identity
    free: Count
    total: Count
    inodes_free: Count
    inodes: Count


class Directory(Struct, rename={"kind": "is"}):
    """A directory that the job writes to; `nearest` is the deepest one on its path that exists."""

    path: Path
    kind: Name
    entries: Annotated[list[Path], _Few]
    more: Count | bool
    nearest: Path
    refused: Said | None
    room: Room
    why: Said | None = None


class Inputs(Struct):
    """The files that a path or pattern means."""

    files: Count
    bytes: Count
    intact: Count
    unclear: Count
    split: bool
    many: bool
    unreadable: Annotated[list[PathAndWhy], _Listed]
    broken: Annotated[list[PathAndWhy], _Listed]
    odd: Annotated[list[PathAndWhy], _Listed]


class Checkpoints(Struct):
    pattern: Path
    count: Count
    newest: Path | None
    broken: Annotated[list[PathAndWhy], _Listed]
    judged: Count


class Logs(Struct):
    """The ends of logs that earlier runs left, by path."""

    tails: Annotated[dict[Path, Content], _Few]


class Network(Struct):
    reached: bool
    why: Said = ""
    took: Seconds = 0.0


class Gpus(Struct):
    by: Name | None
    gpus: Annotated[list[Gpu], _Few]
    driver: Name
    cuda: Version | None
    failed: dict[Name, Said]


class Limits(Struct):
    """What a program started there inherits; sizes of core dumps are None without a limit."""

    core: Count | None
    core_most: Count | None
    core_pattern: Said
    ignored: Annotated[list[Name], _Few]
    unknown: Annotated[list[Name], _Few]


class Command(Struct):
    """The first word of the command, and the script that it runs."""

    path: Path | None
    kind: Name
    python: Path | None
    flags: Annotated[list[Said], _Few]
    script: Path | None
    there: bool
    wrong: Said | None = None
    signals: Annotated[dict[Name, Count | None], _Few] = {}


class Torch(Struct):
    version: Name | None = None
    cuda: Name | None = None
    hip: Name | None = None


class LibCuda(Struct):
    loads: bool
    cuda: Version | None = None
    why: Said = ""


class Inside(Struct):
    """What the Python of the job says of itself."""

    version: Name
    prefix: Path
    virtual: bool
    torch: Torch | None
    libcuda: LibCuda


class Module(Struct):
    found: bool
    why: Said | None
    version: Name | None
    bare: bool
    imported: Seconds | None


class Program(Struct):
    """The command and its Python; `guessed`: the Python on the PATH, which the command may not use."""

    program: Command | None
    inside: Inside | None
    modules: Annotated[dict[Name, Module], _Few]
    python_why: Said | None
    guessed: bool
    python: Path | None = None


class Sbatch(Struct):
    """What `sbatch --test-only` said."""

    code: Whole | None
    out: Content
    err: Content
    why: Said | None


class Slurm(Struct):
    there: bool
    directives: Annotated[dict[Name, Said], _Few]
    said: Sbatch | None
    output: Directory | None = None
