"""macOS is a client that watches hosts over ssh; on Windows every command names WSL.

Neither system is at hand: for macOS, /proc is hidden and what its Python lacks is taken away; for Windows, the modules
that do not exist there cannot be imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.cli.verbs import VERBS
from tests.conftest import needs_root, needs_tool
from tests.security.hosts import Hosts
from tests.support import wait_until
from tests.transport.sshd import SSHD, running

# The names that the documentation of Python gives to Linux and not to macOS.
AS_ON_MACOS = """
import errno, fcntl, os, resource, select, signal, socket, sys, time
lacking = {
    os: ("memfd_create", "O_PATH", "O_TMPFILE", "O_DIRECT", "O_NOATIME", "posix_fallocate", "posix_fadvise", "pipe2",
         "getxattr", "listxattr", "setxattr", "fdatasync", "splice", "copy_file_range", "eventfd", "getrandom",
         "pidfd_open", "sched_getaffinity", "sched_setaffinity", "getresuid", "getresgid"),
    time: ("CLOCK_BOOTTIME", "CLOCK_TAI"),
    select: ("epoll",),
    signal: ("sigtimedwait", "sigwaitinfo", "SIGPWR", "SIGSTKFLT", "SIGRTMIN", "SIGRTMAX", "SIGPOLL"),
    socket: ("SOCK_CLOEXEC", "SOCK_NONBLOCK", "AF_NETLINK", "AF_PACKET", "SO_PEERCRED", "SO_BINDTODEVICE"),
    fcntl: ("F_OFD_SETLK", "F_OFD_SETLKW", "F_OFD_GETLK", "F_SETPIPE_SZ", "F_GETPIPE_SZ", "F_ADD_SEALS"),
    resource: ("prlimit",),
}
for module, names in lacking.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
import urllib.request  # it would now want a module of macOS for the proxies
sys.platform = "darwin"
from dogwatch.cli.main import main
sys.exit(main())
"""
WITHOUT_PROC = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
AS_ON_WINDOWS = """
import sys
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "syslog", "posix", "crypt"):
    sys.modules[name] = None
sys.platform = "win32"
from dogwatch.cli.main import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    if SSHD is None:
        pytest.skip("needs sshd, which is not installed (Debian: openssh-server)")
    with running(tmp_path_factory.mktemp("sshd")) as sshd:
        yield Hosts(sshd, tmp_path_factory.mktemp("hosts"))


@pytest.fixture
def mac(environment: dict[str, str]):
    """The program as it finds itself on macOS, to its end or as a process of its own."""

    def run(*words: object, background: bool = False):
        argv = [*WITHOUT_PROC, sys.executable, "-c", AS_ON_MACOS, *map(str, words)]
        if background:
            return subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120)

    return run


def done(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stdout


@needs_root
@needs_tool("unshare")
def test_macos_watches_a_host_over_ssh(mac, hosts: Hosts, home: Path) -> None:
    """From adding the host to the end of the job, with a daemon between."""
    hosts.tell("")
    assert "honest" in done(mac("host", "add", "honest", "--ssh-config", hosts.sshd.config, "--floor", "1s"))
    done(mac("add", "slurm", "--host", "honest", "12", "--name", "train", "--log", hosts.log))
    done(mac("patrol"))
    (job,) = json.loads(done(mac("ls", "--json", "--no-poll")))["jobs"]
    assert (job["name"], job["state"], job["unreachable"]) == ("train", "running", None)
    assert "step 9/100" in done(mac("logs", "train"))
    assert "running" in done(mac("status", "train"))
    assert mac("wait", "train", "--timeout", "3s").returncode == 124
    daemon = mac("daemon", background=True)
    try:
        wait_until(lambda: json.loads(done(mac("doctor", "--json")))["checks"][0] and daemon.poll() is None, 30)
        before = job["confirmed_at"]

        def confirmed() -> str:
            return json.loads(done(mac("ls", "--json", "--no-poll")))["jobs"][0]["confirmed_at"]

        wait_until(lambda: confirmed() > before, 60)
        assert daemon.poll() is None
    finally:
        daemon.kill()
        daemon.wait(20)
    assert "progress" in done(mac("read", hosts.log))
    assert "this machine has no /proc" in done(mac("doctor"))
    for words in (("report", "train"), ("events",), ("alerts",), ("host", "test", "honest"), ("forget", "train")):
        done(mac(*words))


@needs_root
@needs_tool("unshare")
@pytest.mark.parametrize(
    "words",
    [
        ("run", "--", "true"),
        ("demo",),
        ("add", "process", "1"),
        ("add", "slurm", "12"),
        ("watch", "--pid", "1"),
        ("check", "/etc/hosts"),
        ("preflight", "--", "true"),
    ],
)
def test_what_macos_cannot_do_is_one_sentence(mac, words: tuple[str, ...]) -> None:
    """Watching its own processes; the sentence says what can be watched instead."""
    ran = mac(*words)
    said = ran.stdout + ran.stderr
    assert ran.returncode in (2, 3), said
    assert said.count("this machine has no /proc") == 1
    assert "dogwatch host add" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("words", [(), ("--version",), ("--help",), ("nonsense",), *((verb,) for verb in VERBS)])
def test_windows_is_sent_to_wsl_by_every_command(words: tuple[str, ...]) -> None:
    """Before anything is imported that does not exist there."""
    ran = subprocess.run([sys.executable, "-c", AS_ON_WINDOWS, *words], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
    assert "WSL" in ran.stderr
