"""Target: a host as the user's own ssh configuration knows it, and the one way in which ssh is called.

What a person or a file gives us never becomes an option or a shell's word: an alias has no character for it, and
`--` stands before it all the same.
"""

from __future__ import annotations

import glob
import ipaddress
import os
import re
import subprocess
from dataclasses import dataclass

from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.text import plain

SSH = "/usr/bin/ssh"
# For each option ssh takes the first value that it meets, so ours stand before whatever a configuration says.
OPTIONS = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "Tunnel=no",
    "RequestTTY=no",
    "EscapeChar=none",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ControlMaster=no",
    "ControlPath=none",
)
# What ssh, its agent, its proxies and Kerberos need; nothing that could ask a question on a screen.
PASSED = {"HOME", "KRB5CCNAME", "LOGNAME", "PATH", "SHELL", "SSH_AUTH_SOCK", "TMPDIR", "USER", "XDG_RUNTIME_DIR"}
PASSED |= {"ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "https_proxy", "http_proxy", "no_proxy"}
TIMEOUT = 10.0
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
_HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]{0,254}|[0-9a-fA-F:]{2,45}(%[A-Za-z0-9_.-]+)?")
_MATCH_EXEC = re.compile(r"^\s*Match\s.*\bexec\b", re.IGNORECASE)
_INCLUDE = re.compile(r"^\s*Include[\s=]+(.+)$", re.IGNORECASE)
_RUNS_COMMANDS = ("proxycommand", "knownhostscommand")
_CONFIG_CAP = 1 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """An alias (or an address, or either with `user@` before it) and the configuration file that is used for it.
    One that could be read as anything else cannot be made."""

    alias: str
    config: str | None = None
    ssh: str = SSH

    def __post_init__(self) -> None:
        user, at, host = self.alias.rpartition("@")
        if at and not _USER.fullmatch(user):
            raise UsageError(f"the user {_shown(user)} is not a user name; use lower-case letters, digits and _ . -")
        if not (_ALIAS.fullmatch(host) or _is_address(host)):
            raise UsageError(
                f"the ssh host {_shown(host)} is not an alias or address;"
                " use letters, digits and . _ -, and begin with a letter or digit"
            )
        if self.config is not None:
            if not os.path.isabs(self.config) or "\0" in self.config:
                raise UsageError(f"the ssh configuration {_shown(self.config)} must be an absolute path")
            if not os.path.isfile(self.config):
                raise UsageError(f"there is no ssh configuration file {_shown(self.config)}")

    def argv(self, *remote: str, options: tuple[str, ...] = (), flags: tuple[str, ...] = ()) -> list[str]:
        """The command line of ssh; `options` win over the fixed ones."""
        chosen = [word for option in (*options, *OPTIONS) for word in ("-o", option)]
        config = [] if self.config is None else ["-F", self.config]
        return [self.ssh, *config, "-T", *flags, *chosen, "--", self.alias, *remote]

    def environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name in PASSED} | {"LC_ALL": "C"}

    def settings(self) -> dict[str, str]:
        """What ssh would use for this host, by its own word (`ssh -G`); the first value of each keyword."""
        config = [] if self.config is None else ["-F", self.config]
        try:
            said = subprocess.run(
                [self.ssh, *config, "-T", "-G", "--", self.alias],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self.environment(),
                timeout=TIMEOUT,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise CouldNotPoll(f"`ssh -G {self.alias}` did not end; a Match exec of your ssh config hangs") from error
        except OSError as error:
            raise CouldNotPoll(f"{self.ssh} could not be started: {error.strerror}") from error
        if said.returncode:
            words = plain(said.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2], 200)
            raise UsageError(f"ssh rejects its configuration for {self.alias}: {words}")
        pairs = (line.partition(" ") for line in said.stdout.decode("utf-8", "replace").splitlines())
        return {word: value for word, _, value in reversed(list(pairs))}


def audit(target: Target) -> list[str]:
    """Warnings about what connecting would run on this machine; a HostName that is no name is refused."""
    settings = target.settings()
    name = settings.get("hostname", "")
    if not _HOST_NAME.fullmatch(name):
        raise UsageError(
            f"your ssh config gives {target.alias} the HostName {_shown(name)}, which is not a host name or address;"
            " a proxy command would hand it to a shell"
        )
    found = [
        f"connecting runs a command of your ssh config here ({word}): {plain(settings[word], 200)}"
        for word in _RUNS_COMMANDS
        if settings.get(word, "none") != "none"
    ]
    if settings.get("localcommand", "none") != "none":
        found.append("your ssh config has a LocalCommand for it, which Dogwatch does not run")
    files = (
        [target.config] if target.config is not None else [os.path.expanduser("~/.ssh/config"), "/etc/ssh/ssh_config"]
    )
    found += [f"{place}: Match exec runs a command here whenever ssh reads it" for place in _match_exec(files)]
    return found


def _match_exec(files: list[str], depth: int = 0) -> list[str]:
    """FILE:LINE of each `Match exec`, included files too; `ssh -G` does not tell."""
    found: list[str] = []
    for path in files:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read(_CONFIG_CAP).splitlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            if _MATCH_EXEC.match(line):
                found.append(f"{path}:{number}")
            included = _INCLUDE.match(line)
            if included and depth < 4:
                base = "/etc/ssh" if path.startswith("/etc/ssh/") else os.path.expanduser("~/.ssh")
                patterns = [os.path.join(base, os.path.expanduser(word.strip('"'))) for word in included[1].split()]
                found += _match_exec([name for pattern in patterns for name in sorted(glob.glob(pattern))], depth + 1)
    return found


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _shown(text: str) -> str:
    return f"'{plain(text, 80)}'"
