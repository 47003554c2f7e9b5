"""Other hosts: network namespaces with an sshd each, reached over a link that can be cut."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from tests.lab.ground import LabError, write
from tests.lab.ssh import Ssh

DOORWAY = Path(__file__).with_name("doorway.py")
FAR = "far"

# The two files beside a server's sshd_config say how it answers; without them it answers at once and in full.
_ANSWER = """\
#!/bin/sh
own=$1
[ -r "$own/delay" ] && sleep "$(cat "$own/delay")"
[ -n "${SSH_ORIGINAL_COMMAND+x}" ] || exec "$SHELL" -l
[ -r "$own/cut-after" ] || exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"
"$SHELL" -c "$SSH_ORIGINAL_COMMAND" | head -c "$(cat "$own/cut-after")"
"""


def number_of(name: str) -> int:
    """`far` is 0, `ns07` is 7: from this number come the host's addresses and the name of its link."""
    return 0 if name == FAR else int(name.removeprefix("ns"))


class Hosts(Ssh):
    """`ns01`, `ns02`, … are machines of their own; `far` is the cluster's login host, behind a link."""

    def hosts(self, count: int) -> list[str]:
        """Make sure that ns01 … exist, at least `count` of them, and return the first `count` names."""
        names = [f"ns{number:02d}" for number in range(1, count + 1)]
        self._make_hosts(names)
        return names

    def far(self) -> str:
        """Make sure that `far` exists: sessions on it reach Slurm, and its link can be cut like any other."""
        self._make_hosts([FAR])
        return FAR

    def _make_hosts(self, names: list[str]) -> None:
        new = [name for name in names if name not in self.read()["servers"]]
        if not new:
            return
        net = self._network()
        answer = self.directory / "answer"
        if not answer.exists():
            write(answer, _ANSWER, mode=0o755)
        self._ip(line for name in new for line in self._link(net, name))
        for name in new:
            self.build_server(name, self._address(net, name, 2), 22, force=f"{answer} {self.server_directory(name)}")
            self.start_sshd(name)
        for name in new:
            self.wait_sshd(name)
        self.write_ssh_config()

    def _network(self) -> str:
        """The range of the namespaces, unused on this machine and closed towards everything outside of it."""
        known = self.read().get("network")
        if known:
            return known
        for second in range(77, 100):
            net = f"10.{second}"
            if not self.must("ip", "-4", "route", "show", "root", f"{net}.0.0/16").strip():
                # Else the packets for a host whose link was cut would leave the machine by the default route.
                self._ip([f"route add blackhole {net}.0.0/16"])
                self.remember(network=net)
                return net
        raise LabError("all of 10.77.0.0/16 … 10.99.0.0/16 is in use on this machine")

    def _ip(self, lines: Iterable[str]) -> None:
        self.must("ip", "-batch", "-", text="\n".join(lines) + "\n")

    def _link(self, net: str, name: str) -> list[str]:
        """A veth pair. The neighbour is fixed, so that a cut link is silence and not `no route to host`."""
        here, there = self._address(net, name, 1), self._address(net, name, 2)
        near, far = (f"02:d0:00:00:{number_of(name):02x}:{end:02x}" for end in (1, 2))
        space, link = _space(name), _link_name(name)
        self.must("ip", "netns", "add", space)
        in_space = "ip -n " + space
        for command in (
            f"ip link add {link} address {near} type veth peer name eth0 address {far} netns {space}",
            f"{in_space} address add {there}/30 dev eth0",
            f"{in_space} link set lo up",
            f"{in_space} link set eth0 up",
        ):
            self.must(*command.split())
        return [
            f"address add {here}/30 dev {link}",
            f"link set {link} up",
            f"neighbour replace {there} lladdr {far} nud permanent dev {link}",
        ]

    @staticmethod
    def _address(net: str, name: str, end: int) -> str:
        number = number_of(name)
        return f"{net}.{number // 64}.{number % 64 * 4 + end}"

    def enter(self, host: str) -> list[str]:
        if host == "lab":
            return []
        return ["nsenter", f"--net=/run/netns/{_space(host)}"]

    def start_sshd(self, host: str = "lab") -> None:
        if host != FAR:
            super().start_sshd(host)
        elif not self.processes.lives(f"sshd-{host}"):
            address, port = self.read()["servers"][host]
            config = str(self.server_directory(host) / "sshd_config")
            door = [*self.enter(host), sys.executable, "-I", "-S", str(DOORWAY), address, str(port), config]
            # The doorway finds its way back by the network namespace that is open as descriptor 3.
            self.processes.start(f"sshd-{host}", ["sh", "-c", 'exec 3</proc/self/ns/net; exec "$@"', "sh", *door])

    # ---- breaking them

    def cut(self, host: str) -> None:
        """The cable is out: packets of open and of new connections vanish without an answer."""
        self.must("ip", "-n", _space(host), "link", "set", "eth0", "down")

    def restore(self, host: str) -> None:
        self.must("ip", "-n", _space(host), "link", "set", "eth0", "up")

    def reset(self, host: str) -> None:
        """Every open connection to the host ends at once, at this end; new ones succeed."""
        address = self.read()["servers"][host][0]
        self.must("ss", "-K", "dst", address)

    def delay(self, host: str, seconds: float) -> None:
        """From now on each command on this host starts `seconds` late; 0 ends it."""
        self._answer(host, "delay", seconds)

    def cut_after(self, host: str, count: int | None) -> None:
        """From now on each command's output ends after `count` bytes, with exit code 0; None ends it."""
        self._answer(host, "cut-after", count)

    def _answer(self, host: str, how: str, value: float | None) -> None:
        if host == "lab":
            raise LabError("the sshd on loopback answers at once; use far() or hosts()")
        path = self.server_directory(host) / how
        if value is None or (how == "delay" and not value):
            path.unlink(missing_ok=True)
        else:
            write(path, f"{value}\n")

    def heal_hosts(self) -> None:
        """Links up, servers running, answers prompt and whole."""
        for host in self.read()["servers"]:
            self.start_sshd(host)
            if self.processes.is_stopped(f"sshd-{host}"):
                self.cont_sshd(host)
            if host != "lab":
                self.restore(host)
                self.delay(host, 0)
                self.cut_after(host, None)
        for host in self.read()["servers"]:
            self.wait_sshd(host)
        self.authorize()
        self.write_ssh_config()

    def end_hosts(self) -> None:
        """The namespaces (their links go with them) and the closed range."""
        for space in Path("/run/netns").glob("dogwatch-*"):
            self.must("ip", "netns", "delete", space.name)
        known = self.read()
        if known.get("network"):
            self.run("root", "ip", "route", "delete", "blackhole", f"{known['network']}.0.0/16")


def _space(host: str) -> str:
    return f"dogwatch-{host}"


def _link_name(host: str) -> str:
    return f"dw-{host}"
