"""The ground all parts of the laboratory stand on: its directory, its ports, and how to run a program in it."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.lab.processes import PATH, Processes

NODES = [f"gpu{number:02d}" for number in range(1, 7)]

# program or file → the Debian package that brings it
NEEDED = {
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "squeue": "slurm-client",
    "slurmdbd": "slurmdbd",
    "munged": "munge",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
    "mariadb": "mariadb-client",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "tcsh": "tcsh",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "hostname": "hostname",
    "useradd": "passwd",
}
# What a root must be allowed to do; in a plain container it is not.
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_MKNOD": 27}
MYSQL_PLUGIN = "accounting_storage_mysql.so"


class LabError(RuntimeError):
    """The laboratory could not do it; the text says what to look at."""


def why_not() -> str | None:
    """One sentence on why no laboratory can be had on this machine; None when it can."""
    if os.geteuid() != 0:
        return "the Slurm laboratory needs root: run the tests as root to include it"
    allowed = int(re.findall(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())[0], 16)
    denied = [name for name, bit in CAPABILITIES.items() if not allowed >> bit & 1]
    if denied:
        return (
            f"the Slurm laboratory needs a root that may mount and make namespaces, not one without {', '.join(denied)}"
        )
    missing = {package for program, package in NEEDED.items() if not shutil.which(program, path=PATH)}
    if "slurmdbd" not in missing and not any(Path("/usr/lib").glob(f"*/slurm-wlm/{MYSQL_PLUGIN}")):
        missing.add("slurm-wlm-mysql-plugin")
    if missing:
        return f"the Slurm laboratory needs Debian packages that are not installed: {' '.join(sorted(missing))}"
    return None


class Ground:
    """One laboratory directory; holds no state of its own, so that any number of programs may share it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.etc = directory / "etc"
        self.log = directory / "log"
        self.homes = directory / "home"
        self.processes = Processes(directory / "pids", self.log)

    @property
    def slurm_conf(self) -> Path:
        return self.etc / "slurm.conf"

    @property
    def munge_socket(self) -> Path:
        return self.directory / "munge" / "socket" / "munge.socket.2"

    def read(self) -> dict[str, Any]:
        return json.loads((self.directory / "lab.json").read_text())

    def remember(self, **facts: Any) -> None:
        write(self.directory / "lab.json", json.dumps({**self.read(), **facts}, indent=1))

    @property
    def notes(self) -> list[str]:
        """What is less than real here, in sentences; empty on a machine that allows everything."""
        return self.read().get("notes", [])

    def port(self, name: str) -> int:
        return self.read()["ports"][name]

    def home(self, user: str) -> Path:
        return self.homes / user

    def env(self, user: str = "root") -> dict[str, str]:
        """The environment in which Slurm's commands reach this cluster."""
        person = pwd.getpwnam(user)
        return {
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "HOME": person.pw_dir,
            "USER": user,
            "LOGNAME": user,
            "SHELL": person.pw_shell,
            "SLURM_CONF": str(self.slurm_conf),
        }

    def run(
        self, user: str, *argv: object, text: str | None = None, timeout: float = 60, check: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as a user in their home, without ssh; root may be any user."""
        person = pwd.getpwnam(user)
        switch: dict[str, Any] = {}
        if user != "root":
            switch = {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
        done = subprocess.run(
            list(map(str, argv)),
            env=self.env(user),
            cwd=person.pw_dir if user != "root" else self.directory,
            capture_output=True,
            text=True,
            timeout=timeout,
            **({"stdin": subprocess.DEVNULL} if text is None else {"input": text}),
            **switch,
        )
        if check and done.returncode:
            raise LabError(f"{' '.join(map(str, argv))}: exit code {done.returncode}: {done.stderr.strip()}")
        return done

    def must(self, *argv: object, text: str | None = None, timeout: float = 60) -> str:
        """What a command of root's prints; its failure is an error."""
        return self.run("root", *argv, text=text, timeout=timeout, check=True).stdout

    def words_of(self, name: str, lines: int = 15) -> str:
        """The end of what a process said, for the message that says that it failed."""
        found = []
        for path in (self.log / f"{name}.out", self.log / f"{name}.log"):
            if path.exists():
                found += path.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join(found)


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file whole or not at all."""
    new = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    new.write_text(text)
    new.chmod(mode)
    new.rename(path)


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """Ports on loopback, below those that the kernel gives to clients, all free at this moment."""
    wanted = list(names)
    for base in range(16800, 31000, 200):
        ports = {name: base + offset for offset, name in enumerate(wanted)}
        if all(map(_is_free, ports.values())):
            return ports
    raise LabError(f"no {len(wanted)} free ports in a row between 16800 and 31000")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


def answers(port: int, address: str = "127.0.0.1") -> bool:
    """True when something accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0
