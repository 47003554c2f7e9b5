"""Other people's programs that add entries to a registry: `python -m tests.api.registry_writers HOW PATH NAME MOST`.

`locked` takes the lock; `renamed` and `truncated` do not know it, and only keep out of each other's way.
Each goes on until PATH.stop is there, and prints how many entries it added.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from pathlib import Path


def main(how: str, path: str, name: str, most: str) -> None:
    added = 0
    while added < int(most) and not os.path.exists(f"{path}.stop"):
        with open(f"{path}.lock" if how == "locked" else f"{path}.mutex", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            write(how, path, name, added)
        added += 1
        time.sleep(0.03)
    print(added)


def write(how: str, path: str, name: str, number: int) -> None:
    entry = {"type": "nel", "id": f"{name}-{number}", "host": "x", "submitted": "2026-11-15 20:00", "note": [1.10]}
    text = json.dumps([*read(path), entry], indent=2)
    if how == "truncated":
        Path(path).write_text(text)
        return
    draft = f"{path}.{name}"
    Path(draft).write_text(text)
    os.rename(draft, path)


def read(path: str) -> list[object]:
    while True:
        try:
            return json.loads(Path(path).read_text())
        except ValueError:  # just being written in place
            time.sleep(0.001)


if __name__ == "__main__":
    main(*sys.argv[1:])
