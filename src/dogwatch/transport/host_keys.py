"""Host keys: the first contact with a host whose key nobody here knows, and taking that key once a person said so.

The first contact writes into a known_hosts file of its own that is thrown away, and never logs in; nothing is
trusted by it. A host whose key has changed is not a first contact: that is for a person with `ssh-keygen -R`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import subprocess
import tempfile
from contextlib import suppress

from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.transport.child import KilledChildren, start
from dogwatch.transport.ssh_failure import HOST_KEY, explain_failure
from dogwatch.transport.target import SSH, Target

TIMEOUT = 20.0
_FIRST = ("StrictHostKeyChecking=accept-new", "GlobalKnownHostsFile=/dev/null", "KnownHostsCommand=none")
_KEY_LINE = re.compile(r"(?![#@])[!-~]+ [!-~]+ [!-~]+")  # names, kind, key; no comment, no marker such as @revoked
# No method at all: the key is known before anybody would have to prove who they are.
_NO_LOGIN = ("HashKnownHosts=no", "VerifyHostKeyDNS=no", "PreferredAuthentications=none")


def unknown_key(alias: str, config: str | None = None, ssh: str = SSH) -> list[str]:
    """The fingerprints that a host shows today, as `ssh-keygen -l` prints them: `ED25519 SHA256:…`."""
    return [fingerprint(line) for line in _first_contact(Target(alias, config, ssh))]


def accept(alias: str, config: str | None = None, ssh: str = SSH) -> tuple[list[str], str]:
    """Write what the host shows today into the user's own known_hosts; its fingerprints, and which file that was.
    Refused for a host of which another key is known."""
    target = Target(alias, config, ssh)
    settings = target.settings()
    file = _user_file(settings)
    if is_known(target):
        raise UsageError(
            f"a key of {alias} is known already; if it changed, `ssh-keygen -R {_token(settings)} -f {file}` forgets it"
        )
    lines = _first_contact(target)
    hashed = settings.get("hashknownhosts") == "yes"
    _append(file, "".join(f"{_hashed(line) if hashed else line}\n" for line in lines))
    return [fingerprint(line) for line in lines], file


def is_known(target: Target) -> bool:
    """Whether any key of this host stands in the known_hosts files that ssh would read for it."""
    settings = target.settings()
    files = [path for name in ("userknownhostsfile", "globalknownhostsfile") for path in _paths(settings.get(name, ""))]
    keygen = os.path.join(os.path.dirname(target.ssh), "ssh-keygen")
    for path in filter(os.path.isfile, files):
        with suppress(OSError, subprocess.TimeoutExpired):
            found = subprocess.run(
                [keygen, "-F", _token(settings), "-f", path],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=target.environment(),
                timeout=TIMEOUT,
            )
            if found.returncode == 0 and found.stdout.strip():
                return True
    return False


def fingerprint(line: str) -> str:
    """The key of a known_hosts line, in the words of `ssh-keygen -l`."""
    kind, key = line.split()[1:3]
    digest = base64.b64encode(hashlib.sha256(base64.b64decode(key)).digest()).decode("ascii").rstrip("=")
    short = re.sub(r"^(ssh-|sk-ssh-|sk-)|-nistp\d+|-sha2|@openssh\.com$", "", kind)
    return f"{short.upper()} SHA256:{digest}"


def _first_contact(target: Target) -> list[str]:
    """The known_hosts lines that ssh itself writes for this host, jump hosts and aliases minded."""
    graves = KilledChildren()
    with tempfile.TemporaryDirectory(prefix="dogwatch-") as directory:
        known = os.path.join(directory, "known_hosts")
        options = (*_FIRST, f"UserKnownHostsFile={known}", *_NO_LOGIN)
        try:
            child = start(target.argv(options=options, flags=("-N",)), target.environment())
        except OSError as error:
            raise CouldNotPoll(f"{target.ssh} could not be started: {error.strerror}") from error
        try:
            code = child.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            code = None
        said = (child.stderr.read() or b"") if child.stderr is not None else b""
        graves.kill(child)
        graves.close()
        lines = _lines(known)
    if not lines:
        raise CouldNotPoll(_no_key(target.alias, code, said.decode("utf-8", "replace")))
    return lines


def _no_key(alias: str, code: int | None, said: str) -> str:
    if code is None:
        return f"{alias} did not show its host key in {TIMEOUT:g} s"
    kind, why = explain_failure(alias, code, said, False)
    # We would have taken any key of its own.
    return (
        f"a host on the way to {alias} has a key that is not known here; log in there once" if kind == HOST_KEY else why
    )


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return [line.strip() for line in file if _KEY_LINE.match(line) and _is_key(line.split()[2])]
    except FileNotFoundError:
        return []


def _is_key(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except ValueError:
        return False


def _paths(value: str) -> list[str]:
    """`ssh -G` prints several paths with a space between them, and a path may hold spaces too."""
    return [path for path in re.split(r" (?=/|none\b)", value) if path.startswith("/")]


def _user_file(settings: dict[str, str]) -> str:
    paths = [path for path in _paths(settings.get("userknownhostsfile", "")) if path != "/dev/null"]
    if not paths:
        raise UsageError("your ssh config names no UserKnownHostsFile for this host, so no key can be kept for it")
    return paths[0]


def _token(settings: dict[str, str]) -> str:
    """The name under which known_hosts files a host."""
    alias = settings.get("hostkeyalias", "none")
    name, port = settings.get("hostname", ""), settings.get("port", "22")
    return alias if alias != "none" else name.lower() if port == "22" else f"[{name.lower()}]:{port}"


def _hashed(line: str) -> str:
    """The line with its host names hidden, as ssh itself hides them (HMAC-SHA1 with a salt)."""
    names, rest = line.split(" ", 1)
    found = []
    for name in names.split(","):
        salt = os.urandom(20)
        digest = hmac.new(salt, name.encode("ascii"), hashlib.sha1).digest()
        found.append(f"|1|{base64.b64encode(salt).decode('ascii')}|{base64.b64encode(digest).decode('ascii')} {rest}")
    return "\n".join(found)


def _append(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"{path} could not be written: {error.strerror}") from error
    with open(fd, "rb+", buffering=0) as file:
        size = os.fstat(fd).st_size
        broken = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        file.write((b"\n" if broken else b"") + text.encode("ascii"))
        os.fsync(fd)
