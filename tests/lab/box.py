"""Boxes: machines without a scheduler, each in namespaces of its own with an sshd, cron, a home and a boot id.

They need no Slurm and no laboratory, so several test sessions may have boxes at once. A box ends with the test, and
also when the test session is killed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.lab.ground import CAPABILITIES, LabError, answers, write
from tests.lab.processes import PATH, start_time
from tests.lab.ssh import _CLIENT
from tests.support import wait_until

NETWORKS = range(100, 140)
CLAIMS = Path("/run/dogwatch-boxes")
PROGRAMS = {"sshd": "openssh-server", "ip": "iproute2", "unshare": "util-linux", "cron": "cron", "tmux": "tmux"}
OWN = "/mnt"  # where a box sees its own directory
REAL_BIN = "/media"  # where a box that hides programs has the real /usr/bin

# Runs as the first process of the box. It reaps orphans, as an init does.
_INIT = """\
#!/bin/sh
set -e
mount --rbind "$1" /mnt
mount -t tmpfs -o mode=755 run /run
mkdir /run/sshd /run/lock
mount -t tmpfs -o mode=1777 tmp /tmp
mount --bind /mnt/home /root
mount --bind /mnt/machine-id /etc/machine-id
mount --bind /mnt/boot_id /proc/sys/kernel/random/boot_id
mount --bind /mnt/crontabs /var/spool/cron/crontabs
hostname "$2"
ip link set lo up
until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
ip address add "$3/30" dev eth0
ip link set eth0 up
while read -r from over; do mount --bind "$from" "$over"; done </mnt/binds
if [ -d /mnt/bin ]; then mount --bind /usr/bin /media; mount --bind /mnt/bin /usr/bin; fi
cd /
[ -e /mnt/no-cron ] || cron
/usr/sbin/sshd -D -e -f /mnt/sshd_config 2>>/mnt/sshd.log &
while :; do wait; sleep 1; done
"""

_SERVER = """\
ListenAddress {address}:22
HostKey /mnt/host_key
PidFile none
AuthorizedKeysFile /mnt/authorized_keys
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 500
MaxSessions 100
PrintMotd no
Subsystem sftp internal-sftp
{settings}
"""


def why_no_boxes() -> str | None:
    """One sentence on why no box can be had on this machine; None when it can."""
    if os.geteuid() != 0:
        return "boxes need root: run the tests as root to include them"
    allowed = int(re.findall(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())[0], 16)
    denied = [name for name, bit in CAPABILITIES.items() if not allowed >> bit & 1]
    if denied:
        return f"boxes need a root that may mount and make namespaces, not one without {', '.join(denied)}"
    missing = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program, path=PATH)})
    return f"boxes need Debian packages that are not installed: {' '.join(missing)}" if missing else None


class Box:
    """One box. `home` is its /root as this machine sees it; it outlives reboots, while its /tmp and /run do not."""

    def __init__(self, boxes: Boxes, name: str, number: int, settings: Sequence[str] = (), cron: bool = True) -> None:
        self.boxes = boxes
        self.name = name
        self.directory = boxes.directory / name
        self.home = self.directory / "home"
        self.address = f"{boxes.network}.0.{4 * number + 2}"
        self._gateway = f"{boxes.network}.0.{4 * number + 1}"
        self._link = f"dwb{boxes.network.rpartition('.')[2]}x{number}"
        self._process: subprocess.Popen[bytes] | None = None
        self._init = 0
        self.directory.mkdir()
        for folder in ("home", "crontabs"):
            (self.directory / folder).mkdir(mode=0o700)
        shutil.chown(self.directory / "crontabs", "root", "crontab")
        (self.directory / "crontabs").chmod(0o1730)
        write(self.directory / "binds", "")
        write(self.directory / "init", _INIT)
        write(self.directory / "sshd_config", _SERVER.format(address=self.address, settings="\n".join(settings)))
        shutil.copy(boxes.directory / "id.pub", self.directory / "authorized_keys")
        if not cron:
            write(self.directory / "no-cron", "")
        self._new_identity()

    # ---- its life

    def start(self) -> Box:
        """Power on: a new boot id, an empty /run and /tmp, cron and sshd running."""
        write(self.directory / "boot_id", f"{uuid.uuid4()}\n")
        spaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"]
        init = ["sh", str(self.directory / "init"), str(self.directory), self.name, self.address]
        with (self.directory / "console.log").open("ab") as console:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", *spaces, "--propagation", "private", *init],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env={"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"},
                start_new_session=True,
            )
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        wait_until(lambda: self._is_alive() and bool(children.read_text().split()), timeout=20)
        self._init = int(children.read_text().split()[0])
        wait_until(self._has_own_network, timeout=20)
        _ip(f"link add {self._link} type veth peer name eth0 netns {self._init}")
        _ip(f"address add {self._gateway}/30 dev {self._link}")
        _ip(f"link set {self._link} up")
        wait_until(lambda: self._is_alive() and answers(22, self.address), timeout=20)
        return self

    def power_off(self) -> None:
        """All of its processes are killed at once; what is on its disk stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            wait_until(lambda: start_time(self._init) is None, timeout=20)
            subprocess.run(["ip", "link", "delete", self._link], capture_output=True, check=False)

    def reboot(self) -> None:
        self.power_off()
        self.start()

    def recycle(self, known: bool = False) -> None:
        """Another customer's box under the same address: another machine id and host key (which clients know only if
        `known`), and an empty home."""
        self.power_off()
        for path in self.home.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        self._new_identity()
        if known:
            self.boxes.write_ssh_config()
        self.start()

    def _new_identity(self) -> None:
        write(self.directory / "machine-id", f"{secrets.token_hex(16)}\n")
        for path in self.directory.glob("host_key*"):
            path.unlink()
        _make_key(self.directory / "host_key")

    def _is_alive(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise LabError(f"the box {self.name} ended:\n{(self.directory / 'console.log').read_text()}")
        return True

    def _has_own_network(self) -> bool:
        own = os.stat(f"/proc/{self._init}/ns/net").st_ino
        return own != os.stat("/proc/self/ns/net").st_ino

    # ---- what is in it

    def run(self, *argv: object, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command on the box without ssh, so that it does not count as a connection."""
        enter = ["nsenter", "-t", str(self._init), "-m", "-p", "-n", "-u", "-i", "--wdns=/root"]
        done = subprocess.run(
            [*enter, *map(str, argv)],
            env={"PATH": PATH, "HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/bash"},
            capture_output=True,
            text=True,
            timeout=60,
            **({"stdin": subprocess.DEVNULL} if text is None else {"input": text}),
        )
        if check and done.returncode:
            raise LabError(f"{' '.join(map(str, argv))}: exit code {done.returncode}: {done.stderr.strip()}")
        return done

    def sh(self, script: str) -> str:
        return self.run("sh", "-c", script).stdout

    def processes(self) -> list[str]:
        """The command line of everything that runs on it, without its init, sshd, cron and kernel threads."""
        lines = self.run("ps", "-eo", "args=").stdout.splitlines()
        own = re.compile(r"sh \S+/init |ps -eo|/usr/sbin/sshd|sshd: |cron$|/usr/sbin/cron|sleep 1$")
        return [line for line in map(str.strip, lines) if line and not own.match(line)]

    def connections(self) -> int:
        """How many logins its sshd has accepted since the box was made."""
        log = self.directory / "sshd.log"
        return log.read_text(errors="replace").count("Accepted publickey") if log.exists() else 0

    def boot_id(self) -> str:
        return (self.directory / "boot_id").read_text().strip()

    def hide(self, *programs: str) -> None:
        """From the next boot on these are not on the box; reboot() makes it so."""
        folder = self.directory / "bin"
        folder.mkdir(exist_ok=True)
        for path in Path("/usr/bin").iterdir():
            link = folder / path.name
            if any(re.fullmatch(rf"{re.escape(program)}[0-9.]*", path.name) for program in programs):
                link.unlink(missing_ok=True)
            elif not link.is_symlink():
                link.symlink_to(f"{REAL_BIN}/{path.name}")

    def show(self, path: str, text: str) -> None:
        """From the next boot on a file that is there has this content: `show("/proc/loadavg", "99 …")`."""
        shown = self.directory / f"shown{path.replace('/', '-')}"
        write(shown, text)
        with (self.directory / "binds").open("a") as binds:
            binds.write(f"{OWN}/{shown.name} {path}\n")

    def limit_disk(self, size: str) -> None:
        """A home of this size, as tmpfs takes it (`8m`), for a box that is off or was just made."""
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "box", str(self.home)], check=True)

    # ---- breaking its link

    def cut(self) -> None:
        """The cable is out: packets of open and of new connections vanish without an answer."""
        self.run("ip", "link", "set", "eth0", "down")

    def restore(self) -> None:
        self.run("ip", "link", "set", "eth0", "up")

    def reset(self) -> None:
        """Every open connection to the box ends at once; new ones succeed."""
        subprocess.run(["ss", "-K", "dst", self.address], capture_output=True, check=True)

    def end(self) -> None:
        self.power_off()
        subprocess.run(["umount", "-q", str(self.home)], capture_output=True, check=False)


class Boxes:
    """The boxes of one test, their network and the ssh configuration with which `ssh -F` reaches them by name."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ssh_config = directory / "ssh_config"
        self.network = _claim_network()
        self.boxes: dict[str, Box] = {}
        _make_key(directory / "id")

    def start(self, name: str = "box", settings: Sequence[str] = (), cron: bool = True, disk: str = "") -> Box:
        """A new box that is running; `settings` are lines of its sshd_config, `disk` the size of its home."""
        box = self.boxes[name] = Box(self, name, len(self.boxes), settings, cron)
        if disk:
            box.limit_disk(disk)
        self.write_ssh_config()
        return box.start()

    def write_ssh_config(self) -> None:
        """With the host key that each box has now."""
        known, parts = [], []
        for box in self.boxes.values():
            known.append(f"{box.address} {(box.directory / 'host_key.pub').read_text()}")
            rest = _CLIENT.format(ssh=self.directory, known_hosts=self.directory / "known_hosts")
            parts.append(f"Host {box.name}\n    HostName {box.address}\n    User root\n{rest}")
        write(self.directory / "known_hosts", "".join(known))
        write(self.ssh_config, "\n".join(parts))

    def ssh(
        self, box: str, command: str, timeout: float = 60, options: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        argv = ["ssh", *options, "-F", str(self.ssh_config), "--", box, command]
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def end(self) -> None:
        for box in self.boxes.values():
            box.end()
        _release_network(self.network)


def _claim_network() -> str:
    """A /16 that nothing on this machine uses, closed towards everything outside of it. The kernel takes a route once,
    so that two test sessions never have the same."""
    CLAIMS.mkdir(exist_ok=True)
    for second in NETWORKS:
        network = f"10.{second}"
        claim = CLAIMS / network
        if claim.exists() and not _owner_lives(claim):
            _release_network(network)
        # Else the packets for a box that is off would leave the machine by the default route.
        used = subprocess.run(["ip", "-4", "route", "show", "root", f"{network}.0.0/16"], capture_output=True).stdout
        if not used.strip() and not _ip(f"route add blackhole {network}.0.0/16", check=False):
            write(claim, json.dumps({"pid": os.getpid(), "start": start_time(os.getpid())}))
            return network
    raise LabError(f"all of 10.{NETWORKS[0]}.0.0/16 … 10.{NETWORKS[-1]}.0.0/16 is in use on this machine")


def _owner_lives(claim: Path) -> bool:
    try:
        owner = json.loads(claim.read_text())
    except (OSError, ValueError):
        return True  # just being written
    return start_time(owner["pid"]) == owner["start"]


def _release_network(network: str) -> None:
    _ip(f"route delete blackhole {network}.0.0/16", check=False)
    (CLAIMS / network).unlink(missing_ok=True)


def _ip(words: str, check: bool = True) -> int:
    return subprocess.run(["ip", *words.split()], capture_output=True, check=check).returncode


def _make_key(path: Path) -> None:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "box", "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[Boxes]:
    """Real boxes for one test: `boxes.start("gpu")`, then ssh to it with `boxes.ssh_config`."""
    reason = why_no_boxes()
    if reason:
        pytest.skip(reason)
    directory = tmp_path / "boxes"
    directory.mkdir()
    made = Boxes(directory)
    try:
        yield made
    finally:
        made.end()
