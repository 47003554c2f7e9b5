"""The door to the laboratory: `Lab.start()`, and everything that can be done with what it returns."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.lab.accounts import PEOPLE
from tests.lab.ground import NODES, LabError, free_ports, why_not, write
from tests.lab.hosts import Hosts
from tests.lab.jobs import Jobs
from tests.lab.lease import LOCK, POINTER, Leases, only_one
from tests.lab.processes import PATIENCE, boot_id, is_gone, kill, start_time
from tests.lab.slurm import cgroups_allow
from tests.support import wait_until

MARK = "dogwatch laboratory"
ROOT = Path(__file__).parent.parent.parent
NO_CGROUPS = (
    "a job over its memory ends as FAILED 0:9 and not as OUT_OF_MEMORY, because cgroup v1 (freezer, memory, cpuset) "
    "cannot be written here and Slurm has only samples to go by"
)


class Lab(Jobs, Hosts):
    """A running laboratory; objects of this class may come and go, the truth is in its directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.leases = Leases(directory / "leases")

    # ---- the life of a laboratory

    @classmethod
    def running(cls) -> Lab | None:
        """The laboratory of this machine, if there is one and somebody looks after it."""
        lab = cls.known()
        return lab if lab and lab._guardian() else None

    @classmethod
    def known(cls) -> Lab | None:
        """Also one whose guardian was killed: then there is something to clear away."""
        try:
            lab = cls(Path(json.loads(POINTER.read_text())["directory"]))
            known = lab.read()
        except (FileNotFoundError, ValueError, KeyError):
            return None
        return lab if known.get("mark") == MARK and known.get("boot") == boot_id() else None

    @classmethod
    def start(cls, directory: Path | None = None, by_hand: bool = False) -> Lab:
        """The running laboratory, or a new one; it ends with this process, or by hand, or after LAB_HOURS."""
        reason = why_not()
        if reason:
            raise LabError(reason)
        wanted = directory or (Path(os.environ["LAB_DIR"]) if os.environ.get("LAB_DIR") else None)
        with only_one(LOCK, 120, "the laboratory is being started or stopped for too long"):
            lab = cls.running()
            if lab:
                if wanted and wanted != lab.directory:
                    raise LabError(f"a laboratory runs in {lab.directory}; stop it, or set LAB_DIR to that")
                lab.leases.take(by_hand)
                return lab
            left = cls.known()
            if left:
                left._tear_down()
            lab = cls(_make_directory(wanted))
            try:
                lab._build(by_hand)
            except BaseException:
                lab._tear_down()
                raise
        return lab

    def _build(self, by_hand: bool) -> None:
        for name in ("etc", "log", "home", "pids"):
            (self.directory / name).mkdir()
        shutil.chown(self.log, "slurm", "slurm")
        cgroups = cgroups_allow() and os.environ.get("LAB_CGROUPS") != "no"
        facts = {
            "mark": MARK,
            "boot": boot_id(),
            "cgroups": cgroups,
            "notes": [] if cgroups else [NO_CGROUPS],
            "ports": free_ports(["slurmctld", "slurmdbd", "sshd", *NODES]),
            "servers": {},
        }
        write(self.directory / "lab.json", json.dumps(facts, indent=1))
        write(POINTER, json.dumps({"directory": str(self.directory)}))
        self.leases.take(by_hand)
        self._start_guardian()
        self.processes.cgroup.make()
        self.make_people()
        self.build_ssh()
        self.start_sshd()
        self.build_cluster()
        self.start_cluster(list(PEOPLE))
        self.wait_sshd()

    def _start_guardian(self) -> None:
        """It is no process of the laboratory, since it is what ends them."""
        log = self.log / "guardian.out"
        command = ["/bin/sh", "-c", 'cd "$1" && log=$2 && shift 2 && exec "$@" </dev/null >>"$log" 2>&1', "sh"]
        command += [str(ROOT), str(log), sys.executable, "-m", "tests.lab", "guard", str(self.directory)]
        pid = os.posix_spawn(command[0], command, {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, setsid=True)
        write(self.directory / "guardian.json", json.dumps({"pid": pid, "start": start_time(pid)}))

    def _guardian(self) -> tuple[int, int] | None:
        try:
            known = json.loads((self.directory / "guardian.json").read_text())
        except (FileNotFoundError, ValueError):
            return None
        return (known["pid"], known["start"]) if start_time(known["pid"]) == known["start"] else None

    def stop(self) -> None:
        """End everything, whoever else may use it, and leave nothing on the machine."""
        with only_one(LOCK, 120, "the laboratory is being started or stopped for too long"):
            if (self.directory / "lab.json").exists():
                self._tear_down()

    def leave(self) -> None:
        """This process needs it no more; it is stopped unless somebody else does."""
        self.leases.drop()
        if not self.leases.living():
            self.stop()

    def stop_if_unused(self) -> bool:
        """For the guardian: True when there is nothing left to guard."""
        if self.leases.living():
            return False
        with only_one(LOCK, 600, "the laboratory is being started or stopped for too long"):
            if not (self.directory / "lab.json").exists():
                return True
            if self.leases.living():
                return False
            self._tear_down()
        return True

    def _tear_down(self) -> None:
        """Every step is tried, whatever the others did; the first failure is raised at the end."""
        steps: list[Callable[[], None]] = [
            self._end_guardian,
            self.thaw,
            self.processes.end_everyone,
            self._end_people,
            self.clear_cgroups,
            self.processes.cgroup.remove,
            self.end_hosts,
            self._unmount,
            self.remove_people,
            self.end_ssh,
        ]
        failures: list[BaseException] = []
        for step in steps:
            try:
                step()
            except (OSError, AssertionError, LabError, subprocess.SubprocessError) as failure:
                failures.append(failure)
        if failures:
            raise LabError(f"parts of the laboratory in {self.directory} could not be removed: {failures}")
        shutil.rmtree(self.directory)
        POINTER.unlink(missing_ok=True)

    def _end_guardian(self) -> None:
        known = self._guardian()
        if known and known[0] != os.getpid():
            os.kill(known[0], signal.SIGKILL)
            wait_until(partial(is_gone, *known), timeout=PATIENCE)

    def _end_people(self) -> None:
        """What runs under the laboratory's users is the laboratory's, however it was started."""

        def nobody_is_left() -> bool:
            left = {pid for user in self.people_made() for pid in self.processes_of(user)}
            kill(left)
            return not left

        wait_until(nobody_is_left, timeout=PATIENCE)

    def _unmount(self) -> None:
        if os.path.ismount(self.directory / "db"):
            self.must("umount", "-l", self.directory / "db")

    # ---- in between

    def heal(self) -> None:
        """Undo every fault: all daemons up, links whole, keys accepted, queue empty, nodes idle."""
        self.heal_hosts()
        self.heal_cluster()

    @property
    def has_memory_limits(self) -> bool:
        """False where OUT_OF_MEMORY cannot happen; `notes` says why."""
        return bool(self.read()["cgroups"])

    def explain(self) -> str:
        """How a person uses it."""
        servers = [name for name in self.read()["servers"] if name != "lab"]
        lines = [
            f"The laboratory runs in {self.directory} (for {', '.join(self.leases.living()) or 'nobody'}).",
            f"  ssh -F {self.ssh_config} lab squeue          as alice; also lab-bob, lab-noisy, lab-csh, lab-bare",
            f"  export SLURM_CONF={self.slurm_conf}          then sinfo, sbatch, sacct as root",
            f"  logs: {self.log}",
            *([f"  hosts: {', '.join(servers)}"] if servers else []),
            *(f"  note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)


def _make_directory(wanted: Path | None) -> Path:
    """Short enough for a socket's name, of plain characters, and open to the daemons' users."""
    if wanted is None:
        made = Path(tempfile.mkdtemp(prefix="dogwatch-lab-", dir="/tmp"))
    else:
        if not re.fullmatch(r"/[A-Za-z0-9._/-]{1,58}", str(wanted)):
            raise LabError(f"LAB_DIR={wanted} must be an absolute path of at most 59 plain characters")
        if wanted.exists() and any(wanted.iterdir()):
            raise LabError(f"LAB_DIR={wanted} exists and is not empty")
        wanted.mkdir(parents=True, exist_ok=True)
        made = wanted
    made.chmod(0o755)
    closed = [str(parent) for parent in made.parents if not parent.stat().st_mode & 0o001]
    if closed:
        raise LabError(f"LAB_DIR={made} is below {closed[0]}, which other users cannot enter")
    return made
