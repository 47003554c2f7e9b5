"""The cluster: munge, a private MariaDB, slurmdbd, slurmctld and the nodes; and how each is broken and mended."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from tests.lab import conf
from tests.lab.ground import NODES, Ground, LabError, answers, write
from tests.lab.processes import kill, parent, remove_cgroup
from tests.support import wait_until

V1 = Path("/sys/fs/cgroup")

# Slurm listens where the machine's own name leads to, which need not be loopback: its daemons get another name.
_NAMED_LOCALHOST = ["unshare", "--uts", "sh", "-c", 'hostname localhost && exec "$@"', "sh"]
_AS_MUNGE = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "--"]
_AS_SLURM = ["setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups", "--"]


def cgroups_allow() -> bool:
    """True when Slurm can hold a job to its memory by cgroup v1 (version 2 would need systemd)."""
    return all(os.access(V1 / name / "cgroup.procs", os.W_OK) for name in ("freezer", "memory", "cpuset"))


class Slurm(Ground):
    """Bringing the cluster up, and taking parts of it away."""

    # ---- coming up

    def build_cluster(self) -> None:
        """Every file that the daemons need, with owners that they accept."""
        for name, owner, mode in (
            ("munge", "munge", 0o755),
            ("munge/socket", "munge", 0o755),
            ("db", "mysql", 0o755),
            ("state", "slurm", 0o700),
            ("run", "slurm", 0o755),
            ("spool", "root", 0o755),
            ("dev", "root", 0o755),
        ):
            _directory(self.directory / name, owner, mode)
        self.must("mount", "-t", "tmpfs", "-o", "size=1g,mode=755", "dogwatch-lab", self.directory / "db")
        _directory(self.directory / "db", "mysql", 0o755)
        _directory(self.directory / "db" / "socket", "mysql", 0o750)
        shutil.chown(self.directory / "db" / "socket", group="slurm")
        key = self.directory / "munge" / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        shutil.chown(key, "munge", "munge")
        for number in range(8):
            node = self.directory / "dev" / f"nvidia{number}"
            os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            node.chmod(0o666)
        self.write_conf({})

    def write_conf(self, changes: Mapping[str, object]) -> None:
        """slurm.conf with some settings changed, and what stands beside it."""
        known = self.read()
        self.remember(changes={key: str(value) for key, value in changes.items()})
        write(self.slurm_conf, conf.slurm(self.directory, known["ports"], known["cgroups"], changes))
        write(self.etc / "gres.conf", conf.gres(self.directory))
        if known["cgroups"]:
            write(self.etc / "cgroup.conf", conf.CGROUP)
        write(self.etc / "my.cnf", conf.mariadb(self.directory))
        write(self.etc / "slurmdbd.conf", conf.slurmdbd(self.directory, known["ports"]), mode=0o600)
        shutil.chown(self.etc / "slurmdbd.conf", "slurm", "slurm")

    def start_cluster(self, users: list[str]) -> None:
        """From nothing to six idle nodes."""
        self.start_munge()
        self.start_mariadb()
        self.start_slurmdbd()
        self.must("sacctmgr", "-i", text=conf.accounts(["root", *users]))
        self.start_slurmctld()
        for node in NODES:
            self.start_node(node, wait=False)
        self.must("sacctmgr", "-i", text=conf.limits(["root", *users]))
        self.wait_nodes()

    def _up(self, name: str, is_up: partial[bool], timeout: float = 30) -> None:
        """Wait for a daemon that was started; one that ended is reported with its last words."""

        def ready() -> bool:
            if not self.processes.lives(name):
                raise LabError(f"{name} ended at once:\n{self.words_of(name)}")
            return is_up()

        try:
            wait_until(ready, timeout=timeout, pause=0.05)
        except AssertionError:
            raise LabError(f"{name} does not answer after {timeout:.0f} s:\n{self.words_of(name)}") from None

    def start_munge(self) -> None:
        if self.processes.lives("munged"):
            return
        own = self.directory / "munge"
        argv = ["munged", "--foreground", "--force", f"--key-file={own}/key", f"--socket={self.munge_socket}"]
        argv += [f"--pid-file={own}/pid", f"--seed-file={own}/seed", f"--log-file={own}/log", "--num-threads=4"]
        self.processes.start("munged", [*_AS_MUNGE, *argv])
        self._up("munged", partial(self._munge_answers))

    def _munge_answers(self) -> bool:
        return self.run("root", "munge", "-n", "-S", self.munge_socket).returncode == 0

    def start_mariadb(self) -> None:
        if self.processes.lives("mariadbd"):
            return
        my_cnf = f"--defaults-file={self.etc / 'my.cnf'}"
        if not (self.directory / "db" / "data").exists():
            auth = "--auth-root-authentication-method=normal"
            self.must("mariadb-install-db", my_cnf, "--user=mysql", "--skip-test-db", "--skip-name-resolve", auth)
        self.processes.start("mariadbd", ["mariadbd", my_cnf])
        self._up("mariadbd", partial(self._mariadb_answers))

    def _mariadb_answers(self) -> bool:
        return self._sql("SELECT 1").returncode == 0

    def _sql(self, statement: str) -> subprocess.CompletedProcess[str]:
        socket = self.directory / "db" / "socket" / "mariadb.sock"
        argv = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--skip-column-names", "--batch"]
        return self.run("root", *argv, text=statement)

    def sql(self, statement: str) -> list[list[str]]:
        """Rows of a statement against the accounting database (tables are lab_job_table, lab_step_table, …)."""
        done = self._sql(f"USE slurm_acct_db;\n{statement}")
        if done.returncode:
            raise LabError(f"{statement}: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def start_slurmdbd(self) -> None:
        if self.processes.lives("slurmdbd"):
            return
        socket = self.directory / "db" / "socket" / "mariadb.sock"
        # slurmdbd reads slurmdbd.conf from beside SLURM_CONF, and has no setting for the database's socket.
        env = {"SLURM_CONF": str(self.slurm_conf), "MYSQL_UNIX_PORT": str(socket)}
        self.processes.start("slurmdbd", [*_NAMED_LOCALHOST, *_AS_SLURM, "slurmdbd", "-D"], env=env)
        self._up("slurmdbd", partial(answers, self.port("slurmdbd")))

    def start_slurmctld(self) -> None:
        if not self.processes.lives("slurmctld"):
            argv = [*_NAMED_LOCALHOST, *_AS_SLURM, "slurmctld", "-D"]
            self.processes.start("slurmctld", argv, env=self._slurm_env())
        self._up("slurmctld", partial(self.controller_answers))

    def _slurm_env(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.slurm_conf)}

    def controller_answers(self) -> bool:
        """One question to the controller; asked only when its port is open, since Slurm's own silence limit is 20 s."""
        return answers(self.port("slurmctld")) and self.run("root", "scontrol", "ping").stdout.find("is UP") > 0

    def start_node(self, name: str, wait: bool = True) -> None:
        """Start a node's slurmd; its jobs of before are then ended by it or fenced off, as Slurm decides."""
        if not self.processes.lives(f"slurmd-{name}"):
            argv = [*_NAMED_LOCALHOST, "slurmd", "-D", "-N", name]
            self.processes.start(f"slurmd-{name}", argv, env=self._slurm_env())
        if wait:
            self.wait_nodes(name)

    def wait_nodes(self, *names: str, timeout: float = 60) -> None:
        """Wait until these nodes (all by default) can take jobs."""
        wanted = set(names or NODES)

        def ready() -> bool:
            for name in wanted:
                if not self.processes.lives(f"slurmd-{name}"):
                    raise LabError(f"slurmd of {name} ended:\n{self.words_of(f'slurmd-{name}')}")
            return all(self.node_state(name).lower() in ("idle", "mixed", "allocated") for name in wanted)

        wait_until(ready, timeout=timeout, pause=0.1)

    def node_state(self, name: str) -> str:
        """`idle`, `mixed*`, `down*`, … as sinfo says it."""
        return self.run("root", "sinfo", "-h", "-N", "-n", name, "-o", "%T").stdout.split("\n")[0].strip()

    # ---- the controller

    def stop_slurmctld(self) -> None:
        """SIGSTOP: it holds its port and answers nothing."""
        self.processes.send("slurmctld", signal.SIGSTOP)

    def cont_slurmctld(self) -> None:
        self.processes.send("slurmctld", signal.SIGCONT)

    def kill_slurmctld(self) -> None:
        self.processes.end("slurmctld")

    def restart_slurmctld(self) -> None:
        """Kill it if need be and start it on the state that it had."""
        self.kill_slurmctld()
        self.start_slurmctld()

    def lose_state(self) -> None:
        """The controller comes back without its state directory: it knows no job, and ids start at 1 again."""
        self.kill_slurmctld()
        number = len(list(self.directory.glob("state.lost*")))
        (self.directory / "state").rename(self.directory / f"state.lost{number}")
        _directory(self.directory / "state", "slurm", 0o700)
        self.start_slurmctld()
        self.wait_nodes()

    def configure(self, **changes: object) -> None:
        """Change settings of slurm.conf (`MinJobAge=2`) and let the daemons read it; no arguments: as it was."""
        self.write_conf(changes)
        self.must("scontrol", "reconfigure")

    @contextlib.contextmanager
    def without_accounting(self) -> Iterator[None]:
        """The cluster with accounting_storage/none, for the time of a `with` block."""
        self.kill_slurmctld()
        self.write_conf(conf.NO_ACCOUNTING)
        self.start_slurmctld()
        try:
            yield
        finally:
            self.kill_slurmctld()
            self.write_conf({})
            self.start_slurmctld()

    # ---- accounting and munge

    def kill_slurmdbd(self) -> None:
        self.processes.end("slurmdbd")

    def stop_munge(self) -> None:
        """munged is gone and its socket with it; every Slurm command fails."""
        self.processes.end("munged")
        self.munge_socket.unlink(missing_ok=True)

    # ---- nodes

    def pids_on(self, node: str) -> set[int]:
        """slurmstepd and job processes on a node; without cgroups, by the environment of jobs, and their parents."""
        found: set[int] = set()
        members = self.processes.everyone()
        daemons = {known[0] for known in map(self.processes.find, self.processes.names()) if known}
        for pid in members:
            with contextlib.suppress(OSError):
                if f"/slurm_{node}/" in Path(f"/proc/{pid}/cgroup").read_text():
                    found.add(pid)
                elif f"SLURMD_NODENAME={node}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    found |= {pid, parent(pid)} & members - daemons
        return found

    def kill_slurmd(self, node: str) -> None:
        """Only the node's daemon: its jobs go on and write, and Slurm gives the node up after SlurmdTimeout."""
        self.processes.end(f"slurmd-{node}")

    def kill_node(self, node: str) -> None:
        """As if its power failed: slurmd, slurmstepd and every process of its jobs."""
        self.kill_slurmd(node)
        while left := self.pids_on(node):
            kill(left)
            time.sleep(0.02)

    # ---- going down

    def thaw(self) -> None:
        """Processes of a suspended job are frozen, and what is frozen cannot be killed."""
        for node in NODES:
            for state in (V1 / "freezer" / f"slurm_{node}").rglob("freezer.state"):
                with contextlib.suppress(OSError):
                    state.write_text("THAWED")

    def clear_cgroups(self) -> None:
        """Slurm leaves its cgroups behind when it is killed."""
        for controller in V1.iterdir() if V1.is_dir() else ():
            for node in NODES:
                if (controller / f"slurm_{node}").is_dir():
                    remove_cgroup(controller / f"slurm_{node}")


def _directory(path: Path, owner: str, mode: int) -> None:
    path.mkdir(parents=True, exist_ok=True)
    shutil.chown(path, owner, owner if owner != "root" else "root")
    path.chmod(mode)
