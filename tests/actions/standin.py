"""A crontab and a systemctl that are only files, first on the PATH: no test touches those of whoever runs it."""

from __future__ import annotations

import os
from pathlib import Path

CRONTAB = """#!/bin/sh
table={folder}/table
case "$1" in
-l) if [ -e {folder}/broken ]; then echo "crontab: something is wrong" >&2; exit 1; fi
    if [ -e "$table" ]; then cat "$table"; else echo "no crontab for tester" >&2; exit 1; fi ;;
-r) rm "$table" ;;
-)  [ ! -e {folder}/full ] || {{ echo "crontab: no space left" >&2; exit 1; }}; cat >"$table" ;;
*)  exit 2 ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >>{folder}/asked
[ -e {folder}/systemd ] || {{ echo "Failed to connect to bus" >&2; exit 1; }}
[ "$2" != is-system-running ] || echo running
"""


def stand_in(folder: Path) -> dict[str, str]:
    """The environment in which programs find these two."""
    folder.mkdir()
    for name, text in (("crontab", CRONTAB), ("systemctl", SYSTEMCTL)):
        (folder / name).write_text(text.format(folder=folder))
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "XDG_CONFIG_HOME": str(folder / "config")}
