"""Why ssh brought no answer, from its exit code and its words. Tables first; pure."""

from __future__ import annotations

import re

from dogwatch.text import plain

UNREACHABLE, AUTH, HOST_KEY, LATE, GARBLED, REFUSED = "unreachable", "auth", "host_key", "late", "garbled", "refused"
SSH_FAILED = 255
_LONGEST = 200

NO_PYTHON = "no python3 on PATH there"
KEY_CHANGED = (
    "the host key of {host} has changed: it is another machine, or the connection is"
    " intercepted; once you are sure which, remove the old key: ssh-keygen -R"
)
KEY_UNKNOWN = "the host key of {host} is not known here; `dogwatch host add` shows it, and accepts it with --accept-key"

# What ssh itself says before it ends with 255. The first that fits is taken; {words} are its own last words.
_SSH_SAYS = (
    (r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed", HOST_KEY, KEY_CHANGED),
    (r"REVOKED HOST KEY|revoked key", HOST_KEY, "the host key of {host} is marked as revoked"),
    (r"Host key verification failed|No .* host key is known", HOST_KEY, KEY_UNKNOWN),
    (
        r"Permission denied \(|Too many authentication failures|No supported authentication methods",
        AUTH,
        "{host} refused our login ({words}); `ssh -o BatchMode=yes` must log in there without a prompt",
    ),
    (
        r"[Bb]ad configuration option|bad configuration options|Can't open user config|Bad owner or permissions",
        REFUSED,
        "ssh rejects its configuration: {words}",
    ),
    (r"Could not resolve hostname", UNREACHABLE, "the name of {host} could not be resolved ({words})"),
    (
        r"timed out during banner exchange|banner exchange.*timed out",
        UNREACHABLE,
        "{host} accepted the connection but sent nothing",
    ),
    (r"Connection refused", UNREACHABLE, "{host} refused the connection: no sshd listens there"),
    (r"timed out|not responding", UNREACHABLE, "{host} did not answer ({words})"),
)
# What a login shell or python3 says.
_SHELL_SAYS = (
    (
        r"python3['\"]?: (?:[Cc]ommand )?not found|python3: No such file|[Uu]nknown command:? .?python3",
        REFUSED,
        NO_PYTHON,
    ),
    (r"\bsh: Command not found", REFUSED, NO_PYTHON),  # csh, of the sh that would do without
    (r"SyntaxError", REFUSED, "the python3 there is older than 3.6 ({words})"),
    (
        r"restricted|not available|not allowed|sftp connections only",
        REFUSED,
        "the login shell of {host} refuses commands ({words})",
    ),
)


def explain_failure(host: str, code: int | None, stderr: str, begun: bool) -> tuple[str, str]:
    """(kind, one sentence) for an ssh that ended with `code` after saying `stderr` on stderr; `begun` when a part of
    the answer had come."""
    words = last_line(stderr)
    if begun:
        return GARBLED, f"the answer of {host} broke off in the middle{f' ({words})' if words else ''}"
    for pattern, kind, sentence in _SSH_SAYS if code == SSH_FAILED else _SHELL_SAYS:
        if re.search(pattern, stderr):
            return kind, sentence.format(host=host, words=words)
    if code == SSH_FAILED:
        # ssh ends the same way when a signal ended the command there, and then says nothing.
        return (UNREACHABLE, f"the connection to {host} failed ({words})") if words else (GARBLED, _ended(host, None))
    if code == 127:
        return REFUSED, NO_PYTHON
    return GARBLED, _ended(host, code) + (f" ({words})" if words else "")


def last_line(stderr: str) -> str:
    """The last line that says something, fit for a terminal."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip(" \t\r@")]
    return plain(lines[-1], _LONGEST) if lines else ""


def _ended(host: str, code: int | None) -> str:
    return f"the session on {host} ended without an answer" + ("" if code is None else f", exit code {code}")
