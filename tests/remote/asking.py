"""Asking the probe of this machine, and reading logs through it as a caller does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here


def ask(here: Here, request: dict[str, Any], deadline: float = 30.0) -> dict[str, Any]:
    answer = here.ask(request, deadline)
    assert isinstance(answer, Answer), answer
    return answer.body


class Reader:
    """What a caller does: remembers where each log was left, and collects the text it was given."""

    def __init__(self, here: Here, *globs: Path | str, **more: Any) -> None:
        self.here = here
        self.spec = {"globs": [str(glob) for glob in globs], **more}
        self.known: dict[str, dict[str, Any]] = {}
        self.text = ""

    def look(self) -> dict[str, Any]:
        answer: dict[str, Any] = ask(self.here, {"logs": {"job": {**self.spec, "known": self.known}}})["logs"]["job"]
        for entry in answer["files"].values():
            self.known.pop(entry.get("rotated_from", ""), None)
        for path, entry in answer["files"].items():
            self.known[path] = {name: entry[name] for name in ("dev", "ino", "head", "headlen")}
            self.known[path]["offset"] = entry["from"] + len(entry["text"])
            self.known[path]["stale_seen"] = entry.get("stale", False)
        # A log's remains come before what its successor says.
        for _, entry in sorted(answer["files"].items(), key=lambda row: "rotated_from" not in row[1]):
            self.text += entry["text"]
        return answer

    def one(self) -> dict[str, Any]:
        files = self.look()["files"]
        assert len(files) == 1, files
        entry: dict[str, Any] = next(iter(files.values()))
        return entry


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
