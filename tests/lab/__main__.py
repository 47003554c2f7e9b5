"""`python -m tests.lab start|status|stop`: the laboratory for a person, as `make lab` and `make lab-down` call it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.lab.ground import LabError
from tests.lab.guard import guard
from tests.lab.lab import Lab
from tests.lab.lease import hours


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lab")
    parser.add_argument("verb", choices=["start", "status", "stop", "guard"])
    parser.add_argument("directory", nargs="?", type=Path, help="only for guard")
    asked = parser.parse_args()
    try:
        if asked.verb == "guard":
            guard(asked.directory)
            return 0
        return {"start": start, "status": status, "stop": stop}[asked.verb]()
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1


def start() -> int:
    began = time.monotonic()
    lab = Lab.start(by_hand=True)
    print(lab.explain())
    print(f"  ready after {time.monotonic() - began:.1f} s; it stops by itself after {hours():g} h (LAB_HOURS)")
    return 0


def status() -> int:
    lab = Lab.running()
    if not lab:
        print("No laboratory runs on this machine.")
        return 1
    print(lab.explain())
    for name in lab.processes.names():
        word = "gone" if not lab.processes.lives(name) else "stopped" if lab.processes.is_stopped(name) else "runs"
        print(f"  {name:16} {word}")
    return 0


def stop() -> int:
    lab = Lab.known()
    if not lab:
        print("No laboratory runs on this machine.")
        return 0
    lab.stop()
    print("The laboratory is gone.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
