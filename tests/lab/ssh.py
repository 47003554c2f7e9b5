"""sshd and ssh of the laboratory: own keys, own known hosts, and a client configuration for `ssh -F`."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

from tests.lab.accounts import PEOPLE, Accounts
from tests.lab.ground import LabError, answers, write
from tests.support import wait_until

RUN_SSHD = Path("/run/sshd")

# alias → user, for the sshd on loopback
ALIASES = {"lab": "alice", "lab-bob": "bob", "lab-noisy": "noisy", "lab-csh": "carol", "lab-bare": "bare"}

_SERVER = """\
ListenAddress {address}:{port}
HostKey {own}/host_key
PidFile none
AuthorizedKeysFile {ssh}/authorized_keys
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
AllowUsers {users}
MaxStartups 500
MaxSessions 100
PrintMotd no
Subsystem sftp internal-sftp
{force}
SetEnv SLURM_CONF={slurm_conf}
Match User bare
    SetEnv SLURM_CONF={slurm_conf} PATH={poor_path}
"""

_CLIENT = """\
    IdentityFile {ssh}/id
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {known_hosts}
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    BatchMode yes
    ConnectTimeout 10
    ControlMaster no
    ControlPath none
"""


class Ssh(Accounts):
    """One sshd on loopback; `hosts.py` adds those in namespaces."""

    @property
    def ssh_directory(self) -> Path:
        return self.directory / "ssh"

    @property
    def ssh_config(self) -> Path:
        """For `ssh -F`: lab (alice), lab-bob, lab-noisy, lab-csh, lab-bare, and the hosts that were made.

        Also lab-jump (alice by way of lab), lab-unknown (no known host key) and lab-refused (a key that nobody takes).
        """
        return self.ssh_directory / "config"

    def server_directory(self, host: str) -> Path:
        return self.directory / "hosts" / host

    def build_ssh(self) -> None:
        self.ssh_directory.mkdir(mode=0o711)
        for name in ("id", "stranger"):
            self._make_key(self.ssh_directory / name)
        shutil.copy(self.ssh_directory / "id.pub", self.ssh_directory / "authorized_keys")
        (self.ssh_directory / "authorized_keys").chmod(0o644)
        if not RUN_SSHD.exists():
            RUN_SSHD.mkdir(mode=0o755)
            self.remember(made_run_sshd=True)
        self.build_server("lab", "127.0.0.1", self.port("sshd"))
        self.write_ssh_config()

    def _make_key(self, path: Path) -> None:
        self.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "laboratory", "-f", path)

    def build_server(self, host: str, address: str, port: int, force: str = "") -> None:
        """Host key and sshd_config of one server."""
        own = self.server_directory(host)
        own.mkdir(parents=True)
        self._make_key(own / "host_key")
        self.remember_server(host, address, port)
        text = _SERVER.format(
            address=address,
            port=port,
            own=own,
            ssh=self.ssh_directory,
            users=" ".join(PEOPLE),
            force=f"ForceCommand {force}" if force else "",
            slurm_conf=self.slurm_conf,
            poor_path=self.poor_path,
        )
        write(own / "sshd_config", text)

    def remember_server(self, host: str, address: str, port: int) -> None:
        self.remember(servers={**self.read().get("servers", {}), host: [address, port]})

    def start_sshd(self, host: str = "lab") -> None:
        """Start an sshd that is built; one that runs is left alone."""
        if not self.processes.lives(f"sshd-{host}"):
            # sshd insists on an absolute path, to start itself again for each connection.
            argv = ["/usr/sbin/sshd", "-D", "-e", "-f", str(self.server_directory(host) / "sshd_config")]
            self.processes.start(f"sshd-{host}", [*self.enter(host), *argv])

    def enter(self, host: str) -> list[str]:
        """What goes before a command to start it on a host; here all hosts are this machine."""
        return []

    def wait_sshd(self, host: str = "lab") -> None:
        address, port = self.read()["servers"][host]

        def ready() -> bool:
            if not self.processes.lives(f"sshd-{host}"):
                raise LabError(f"the sshd of {host} ended at once:\n{self.words_of(f'sshd-{host}')}")
            return answers(port, address)

        wait_until(ready, timeout=20)

    def write_ssh_config(self) -> None:
        """The client configuration and the known hosts, from the servers that there are."""
        servers = self.read()["servers"]
        known = []
        for host, (address, port) in servers.items():
            key = (self.server_directory(host) / "host_key.pub").read_text()
            known.append(f"{address if port == 22 else f'[{address}]:{port}'} {key}")
        write(self.ssh_directory / "known_hosts", "".join(known))
        write(self.ssh_directory / "known_nobody", "")
        address, port = servers["lab"]
        parts = [self._entry(alias, user, address, port) for alias, user in ALIASES.items()]
        parts.append(self._entry("lab-unknown", "alice", address, port, known_hosts="known_nobody"))
        parts.append(self._entry("lab-jump", "alice", address, port) + "    ProxyJump lab\n")
        refused = self._entry("lab-refused", "alice", address, port)
        parts.append(refused.replace(f"{self.ssh_directory}/id\n", f"{self.ssh_directory}/stranger\n"))
        parts += [self._entry(host, "alice", *where) for host, where in servers.items() if host != "lab"]
        write(self.ssh_config, "\n".join(parts))

    def _entry(self, alias: str, user: str, address: str, port: int, known_hosts: str = "known_hosts") -> str:
        rest = _CLIENT.format(ssh=self.ssh_directory, known_hosts=self.ssh_directory / known_hosts)
        return f"Host {alias}\n    HostName {address}\n    Port {port}\n    User {user}\n{rest}"

    def ssh(
        self, host: str, *command: str, text: str | None = None, timeout: float = 60, options: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """`ssh -F config host command`, as any program would do it."""
        argv = ["ssh", "-F", str(self.ssh_config), *options, "--", host, *command]
        return self.run("root", *argv, text=text, timeout=timeout)

    def connections(self, host: str = "lab") -> int:
        """How many logins this server has accepted since it was started."""
        return (self.log / f"sshd-{host}.out").read_text(errors="replace").count("Accepted publickey")

    # ---- breaking it

    def stop_sshd(self, host: str = "lab") -> None:
        """SIGSTOP: connections are accepted by the kernel and no banner comes."""
        self.processes.send(f"sshd-{host}", signal.SIGSTOP)

    def cont_sshd(self, host: str = "lab") -> None:
        self.processes.send(f"sshd-{host}", signal.SIGCONT)

    def kill_sshd(self, host: str = "lab") -> None:
        """The listener only: connection refused from now on, sessions that are open go on."""
        self.processes.end(f"sshd-{host}")

    def change_host_key(self, host: str = "lab", known: bool = False) -> None:
        """The server comes back with another key, which clients know only if `known`."""
        self.kill_sshd(host)
        for path in (self.server_directory(host) / "host_key", self.server_directory(host) / "host_key.pub"):
            path.unlink()
        self._make_key(self.server_directory(host) / "host_key")
        if known:
            self.write_ssh_config()
        self.start_sshd(host)
        self.wait_sshd(host)

    def authorize(self, yes: bool = True) -> None:
        """Without it the client's key is refused by every server."""
        key = (self.ssh_directory / "id.pub").read_text() if yes else ""
        write(self.ssh_directory / "authorized_keys", key)

    def end_ssh(self) -> None:
        if self.read().get("made_run_sshd") and RUN_SSHD.exists() and not any(RUN_SSHD.iterdir()):
            RUN_SSHD.rmdir()
