"""Two hosts behind one real sshd: `honest`, and `liar`, whose key may only run the forced command."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.sources.slurm import lines
from tests.transport.sshd import USER, Sshd
from tests.transport.test_without_python import PROGRAM

FORCED = Path(__file__).with_name("forced.py")
# Starts a program and writes down the most memory that it held. A child of the tests would count theirs as its own.
WEIGH = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(pid, 0)
open(sys.argv[1], "w").write(str(used.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""
LONGEST_SCREEN = 30_000
HIDDEN = "\x7f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\u2028\u2029\x85\x9b\x9d"


@dataclass(frozen=True)
class Ran:
    """How a command ended, what it printed, and the most memory it held, in MB."""

    code: int
    screen: bytes
    megabytes: float

    @property
    def words(self) -> str:
        return self.screen.decode("utf-8", "replace")

    def harm(self) -> str:
        """What is wrong with it: an exit code of a crash, bytes that a terminal obeys, or too many; else nothing."""
        return harm(self.screen) or ("" if self.code in (0, 3) else f"exit code {self.code}: {self.words[:500]}")


def harm(screen: bytes) -> str:
    """What in these bytes may not reach a terminal."""
    shown = screen.decode("utf-8")
    for char in shown:
        if (ord(char) < 32 and char not in "\n\t") or char in HIDDEN:
            return f"{char!r} on the screen"
    if "Traceback" in shown:
        return shown[-1000:]
    return "" if len(shown) < LONGEST_SCREEN else f"{len(shown)} characters on the screen"


class Hosts:
    """The hosts, the lie that one of them tells, and the program that is used on them."""

    def __init__(self, sshd: Sshd, folder: Path) -> None:
        self.sshd, self.folder = sshd, folder
        self.lie_file, self.weight = folder / "lie", folder / "weight"
        self.log = folder / "train.log"
        self.log.write_text("".join(f"step {n}/100 loss=0.5\n" for n in range(10)))
        self.tell("")
        self._slurm()
        self._doors()
        sshd.start(env=f"PATH={folder}/bin:/usr/bin:/bin")

    def _slurm(self) -> None:
        folder = self.folder / "bin"
        folder.mkdir()
        for name in ("squeue", "sacct", "scontrol"):
            (folder / name).write_text(PROGRAM.format(python=sys.executable, mark=lines.MARK))
            (folder / name).chmod(0o755)
        jobs = [
            lines.row(id=one, UserName=USER, STDOUT=str(self.log), WorkDir=str(self.folder)) for one in ("12", "13")
        ]
        (folder / "squeue.out").write_text("".join(jobs))
        (folder / "scontrol.out").write_text("ClusterName = lab\nSLURM_VERSION = 24.11.5\n")

    def _doors(self) -> None:
        """The key of `liar` runs the forced command whatever is asked."""
        forced = shlex.join([sys.executable, "-I", "-S", str(FORCED), str(self.lie_file)])
        keys = self.sshd.directory
        honest, liar = ((keys / f"{name}.pub").read_text() for name in ("client", "stranger"))
        (keys / "authorized_keys").write_text(f'{honest}command="{forced}" {liar}')
        self.sshd.write_config(alias="honest")
        first = self.sshd.config.read_text()
        self.sshd.write_config(alias="liar", key="stranger")
        self.sshd.config.write_text(first + self.sshd.config.read_text())

    def tell(self, lie: str) -> None:
        """From now on `liar` tells this."""
        fresh = self.lie_file.with_suffix(".new")
        fresh.write_text(lie)
        os.replace(fresh, self.lie_file)


class Person:
    """Somebody with a home, who uses the real program on the two hosts."""

    def __init__(self, hosts: Hosts, home: Path) -> None:
        self.hosts, self.home = hosts, home
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DOGWATCH_")}
        self.environment = {**kept, "DOGWATCH_HOME": str(home)}

    def run(self, *words: object) -> Ran:
        """The real program, to its end."""
        weight = self.home.parent / "weight"
        argv = [sys.executable, "-I", "-S", "-c", WEIGH, str(weight), sys.executable, "-m", "dogwatch"]
        done = subprocess.run(
            [*argv, *map(str, words)],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, int(weight.read_text()) / 1024)

    def add_host(self, name: str) -> Ran:
        return self.run("host", "add", name, "--ssh-config", self.hosts.sshd.config, "--floor", "1s")

    def add_job(self, host: str, number: str = "12") -> Ran:
        name, log = f"{host}-{number}", self.hosts.log
        return self.run("add", "slurm", "--host", host, number, "--name", name, "--log", log)

    def stored(self) -> int:
        """The bytes of the store."""
        return sum(path.stat().st_size for path in self.home.rglob("*.db*"))
