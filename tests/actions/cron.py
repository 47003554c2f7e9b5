"""A real cron with a spool of its own: nothing it does, and nothing done to its crontabs, is seen outside."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support import wait_until

SBIN = "/usr/sbin:/usr/bin:/sbin:/bin"
# The system's own jobs are hidden from this cron, and its pid file from the system.
PREPARE = """
set -e
mount --bind "$1/spool" /var/spool/cron/crontabs
mount --bind "$1/empty" /etc/cron.d
for file in /etc/crontab /etc/anacrontab; do [ ! -e "$file" ] || mount --bind "$1/nothing" "$file"; done
mount -t tmpfs tmpfs /run
exec cron -f -L 15
"""


class Cron:
    """The daemon, and how to run a command where it lives."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def inside(self, *words: object) -> list[str]:
        """The command as it runs in the namespace of this cron."""
        return ["nsenter", f"--target={self.process.pid}", "--mount", "--", *map(str, words)]


@contextlib.contextmanager
def private_cron(folder: Path) -> Iterator[Cron]:
    folder.mkdir()
    (folder / "spool").mkdir()
    shutil.chown(folder / "spool", group="crontab")
    (folder / "spool").chmod(0o1730)
    (folder / "empty").mkdir()
    (folder / "nothing").touch()
    with (folder / "cron.out").open("wb") as out:
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", PREPARE, "sh", str(folder)],
            env={"PATH": SBIN},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "cron\n")
        # cron compares its spool by whole seconds: a crontab of the second in which it began is not seen.
        begun = time.time()
        wait_until(lambda: time.time() > begun + 2)
        yield Cron(process)
    finally:
        process.kill()
        process.wait()
