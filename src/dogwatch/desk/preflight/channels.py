"""The alert channels: would they be there? Each is reached and told nothing."""

from __future__ import annotations

import os
import shutil
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from dogwatch import secret
from dogwatch.channels.timed import Private, connect, deadline, secure_context
from dogwatch.desk.checklist import Line
from dogwatch.desk.preflight.facts import FAIL, PASS, WARN
from dogwatch.programs import find_program
from dogwatch.settings import Smtp
from dogwatch.text import plain

PATIENCE = 8.0
NOT_SENT = "nothing was sent"
PRIVATE = "say it yourself: --alert-slack, `dogwatch alerts add`, or [smtp] in the configuration file"


def judge(rows: Sequence[Mapping[str, Any]], smtp: Smtp) -> Iterator[Line]:
    """A line for each channel; one line when there is none."""
    if not rows:
        yield Line(WARN, "alerts", "there is no channel: nobody will be told", "`dogwatch alerts add` makes one")
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(8, len(rows))) as threads:
        yield from threads.map(lambda row: _one(row, smtp), rows)


def _one(row: Mapping[str, Any], smtp: Smtp) -> Line:
    what, kind, told = f"channel {plain(row['name'], 40)}", row["kind"], row["settings"]
    test = "`dogwatch alerts test` sends a word on it"
    try:
        if kind == "email":
            used = smtp.at(told.get("host"), told.get("port"))
            text = _mail(used, inside=used is smtp or not told.get("outside"))
        elif kind == "command":
            text = _program(told["argv"][0])
        elif kind == "desktop":
            text = _program(find_program("notify-send") or "notify-send")
        elif kind == "file":
            text = _file(told["path"])
        else:
            url = secret.read(told["url"]) if told["url"].startswith(secret.KINDS) else told["url"]
            text = _web(url, inside=not told.get("outside"))
    except secret.NoSecret as error:
        return Line(FAIL, what, str(error), "set what it refers to, where the watcher runs")
    except ssl.SSLError as error:
        return Line(FAIL, what, f"its encryption is not to be trusted: {plain(str(error.reason), 80)}", test)
    except Private:
        return Line(FAIL, what, "leads into a private network, where a job file may not point", PRIVATE)
    except TimeoutError:
        return Line(FAIL, what, f"did not answer in {PATIENCE:g} s", test)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or (str(error) if isinstance(error, _Wrong) else type(error).__name__)
        return Line(FAIL, what, f"cannot be reached: {plain(str(why), 120)}", test)
    return Line(PASS, what, f"{text}; {NOT_SENT}")


class _Wrong(ValueError):
    """What is wrong with a channel, in words without its secret."""


def _web(url: str, inside: bool) -> str:
    """A connection, encrypted where the URL says so; no request is made on it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return f"{plain(parts.scheme or 'its service', 30)} is reached by what was installed for it, and not tried"
    if not parts.hostname:
        raise _Wrong("its URL names no host")
    until = deadline(PATIENCE)
    made = connect(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80), until, inside)
    with made:
        if parts.scheme == "https":
            secure_context(until).wrap_socket(made, server_hostname=parts.hostname).close()
    return f"{plain(parts.hostname, 100)} answers"


def _mail(server: Smtp, inside: bool) -> str:
    """The greeting of the mail server, and nothing more."""
    until, host, port = deadline(PATIENCE), server.host, server.port
    with connect(host, port, until, inside) as made:
        if server.tls == "tls":
            with secure_context(until).wrap_socket(made, server_hostname=host) as secured:
                greeting = secured.recv(512)
        else:
            greeting = made.recv(512)
            if greeting[:3] == b"220":
                made.sendall(b"QUIT\r\n")
    if greeting[:3] != b"220":
        raise _Wrong(f"{host} said {plain(greeting.decode('utf-8', 'replace'), 60) or 'nothing'}")
    return f"{plain(host, 100)} port {port} answers"


def _program(word: str) -> str:
    found = shutil.which(word)
    if found is None:
        raise _Wrong(f"{word} is not there or not executable")
    return f"{found} is there"


def _file(path: str) -> str:
    at = path if os.path.exists(path) else os.path.dirname(path) or "/"
    if not os.access(at, os.W_OK):
        raise _Wrong(f"{path} cannot be written")
    return f"{path} can be written"
