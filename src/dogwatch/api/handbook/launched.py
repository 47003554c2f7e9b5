"""How a job of `dogwatch run` was started, by the record that its run keeps."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from dogwatch.errors import StoreError
from dogwatch.store.interface import Store
from dogwatch.store.private_files import OpenFile, open_private

MOST_BYTES = 4 << 20


class Launched(msgspec.Struct):
    """The spec of a run, as far as somebody needs it who starts it again."""

    argv: list[str] = []
    cwd: str = ""
    workers: int = 1
    env: dict[str, str] = {}
    gpus: list[str] | None = None

    @property
    def command(self) -> str:
        return shlex.join(self.argv)

    @property
    def missing(self) -> str:
        """The variables that were given, whose values are not for everybody's eyes."""
        names = ", ".join(sorted(self.env))
        return f"add --env NAME=VALUE for {names}, with the values of before" if names else ""

    def again(self, name: str) -> str:
        """The command that starts the same once more."""
        words = ["dogwatch", "run", "--detach", "--name", name, "--cwd", self.cwd]
        words += ["--workers", str(self.workers)] if self.workers > 1 else []
        words += ["--gpu-ids", *self.gpus] if self.gpus else []
        return shlex.join([*words, "--", *self.argv])


def launched(store: Store, track: Mapping[str, Any]) -> Launched | None:
    """By the spec in the run's directory, which lies in the home; None for what something else started."""
    directory = track.get("run")
    if not isinstance(directory, str) or os.path.dirname(directory) != store.location.path("runs"):
        return None
    try:
        with OpenFile(open_private(os.path.join(directory, "spec.json"), os.O_RDONLY)) as file:
            found = msgspec.json.decode(os.pread(file.fileno(), MOST_BYTES, 0), type=Launched)
    except (OSError, StoreError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found if found.argv else None
