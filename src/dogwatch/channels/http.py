"""One POST with a deadline for all of it, to an address that was checked before it is used; no redirect is followed."""

from __future__ import annotations

import base64
import email.utils
import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from dogwatch.channels.interface import DEADLINE, LONGEST_WAIT, Receipt
from dogwatch.channels.timed import Private, Timed, connect, secure_context
from dogwatch.channels.timed import deadline as until_when
from dogwatch.redaction import redacted
from dogwatch.text import plain

BODY_MOST = 65536
AGENT = "dogwatch"
# Worth another try later; what else is refused with 4xx stays refused.
PASSING = frozenset({408, 421, 423, 425, 429})


PREFLIGHT = 8.0  # seconds in all for reaching a server that is told nothing


@dataclass(frozen=True, slots=True)
class Network:
    """A channel's way out. `private` allows addresses of a private network, where only the owner may point."""

    private: bool = True

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """One POST; Unsent where nothing was taken."""
        return post(url, body, headers, inside=self.private)

    def connect(self, host: str, port: int, until: float) -> Timed:
        """A connection whose every call ends at `until` (see `timed.deadline`); Private for one that is not allowed."""
        return connect(host, port, until, self.private)


class Unsent(Exception):
    """Nothing was taken: why, without the URL. `permanent` when it is the URL that is wrong."""

    def __init__(self, why: str, permanent: bool = False) -> None:
        super().__init__(why)
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server said: status, headers in lower case, and the beginning of its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def post(url: str, body: bytes, headers: Mapping[str, str], *, inside: bool = True) -> Reply:
    """Send `body` once. `inside` allows addresses of a private network, which only the owner may name."""
    until = until_when(DEADLINE)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise Unsent("its URL cannot be used", permanent=True) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unsent("its URL is not one of http or https", permanent=True)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise Unsent("its URL has no valid port", permanent=True) from None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = http.client.HTTPConnection(parts.hostname, port)
    try:
        connection.sock = _connected(parts.scheme, parts.hostname, port, inside, until)
        told = {"User-Agent": AGENT, "Connection": "close", **_login(parts.username, parts.password), **headers}
        connection.request("POST", path, body, told)
        answer = connection.getresponse()
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read(BODY_MOST))
    except Private:
        raise Unsent(f"{parts.hostname} is an address of a private network", permanent=True) from None
    except TimeoutError:
        raise Unsent(f"{parts.hostname} did not answer in {DEADLINE:g} s") from None
    except ssl.SSLCertVerificationError as error:
        raise Unsent(f"the certificate of {parts.hostname} is not trusted: {error.verify_message}") from None
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise Unsent(f"{parts.hostname} could not be reached: {why}") from None
    except (ValueError, UnicodeError):
        raise Unsent("its URL cannot be used", permanent=True) from None
    finally:
        connection.close()


def reached(url: str, network: Network) -> str:
    """A connection, encrypted where the URL says so; no request is made on it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return f"{plain(parts.scheme or 'its service', 30)} is sent by a plug-in, and was not tried"
    if not parts.hostname:
        raise OSError(0, "its URL names no host")
    until = until_when(PREFLIGHT)
    with network.connect(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80), until) as made:
        if parts.scheme == "https":
            secure_context(until).wrap_socket(made, server_hostname=parts.hostname).close()
    return f"{plain(parts.hostname, 100)} answers"


def _login(user: str | None, password: str | None) -> dict[str, str]:
    """What stands before the @ of a URL is for the server only."""
    if user is None:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Authorization": "Basic " + base64.b64encode(pair).decode("ascii")}


def _connected(scheme: str, host: str, port: int, inside: bool, until: float) -> socket.socket:
    proxy = None if not inside or proxy_bypass(host) else getproxies().get(scheme)
    if proxy:
        way = urlsplit(proxy if "//" in proxy else f"http://{proxy}")
        made = connect(way.hostname or "", way.port or 3128, until)
        _tunnel(made, f"{host}:{port}".encode("ascii"))
    else:
        made = connect(host, port, until, inside)
    return made if scheme == "http" else secure_context(until).wrap_socket(made, server_hostname=host)


def _tunnel(made: socket.socket, target: bytes) -> None:
    """Through a proxy, also for plain http: it then sees no more of it than that."""
    made.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target))
    said = b""
    while not said.endswith(b"\r\n\r\n") and len(said) < BODY_MOST:
        byte = made.recv(1)
        if not byte:
            raise OSError("the proxy closed the connection")
        said += byte
    if b" 200" not in said.partition(b"\r\n")[0]:
        raise OSError("the proxy refused the connection")


def receipt(url: str, reply: Reply, taken: bool | None = None) -> Receipt:
    """What a status means, unless the channel knows better (`taken`)."""
    host = host_of(url)
    if taken is not None and 200 <= reply.status < 300:
        if taken:
            return Receipt(True, f"{host} answered {reply.status}")
        return Receipt(False, f"{host} answered {reply.status} and refused it: {said(reply, url)}", permanent=True)
    if 200 <= reply.status < 300:
        return Receipt(True, f"{host} answered {reply.status}")
    if 300 <= reply.status < 400:
        return Receipt(
            False, f"{host} redirects elsewhere ({reply.status}); redirects are not followed", permanent=True
        )
    passing = reply.status in PASSING or reply.status >= 500
    return Receipt(
        False, f"{host} answered {reply.status}: {said(reply, url)}", not passing, waits(reply) if passing else None
    )


def said(reply: Reply, url: str) -> str:
    """The beginning of what a server said, without whatever of our URL it repeats: many an error page quotes it."""
    text = redacted(plain(reply.body[:2000].decode("utf-8", "replace"), 2000))
    for part in sorted(_secret_parts(url), key=len, reverse=True):
        text = text.replace(part, "[redacted]")
    return plain(text[:300], 120)


def _secret_parts(url: str) -> set[str]:
    parts = urlsplit(url)
    pieces = {*parts.path.split("/"), parts.username or "", parts.password or ""}
    pieces |= {value for pair in parts.query.split("&") for value in pair.split("=")}
    pieces |= {unquote(piece) for piece in pieces}
    return {piece for piece in pieces if len(piece) >= 4}


def waits(reply: Reply) -> float | None:
    """Retry-After, in seconds or as a date."""
    told = reply.headers.get("retry-after", "").strip()
    try:
        seconds = float(told)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(told)
            seconds = date.timestamp() - email.utils.parsedate_to_datetime(reply.headers.get("date", told)).timestamp()
        except (ValueError, TypeError):
            return None
    return min(max(0.0, seconds), LONGEST_WAIT) if seconds == seconds else None


def host_of(url: str) -> str:
    """What may be said of a URL: the rest of it is often the secret."""
    try:
        return plain(urlsplit(url).hostname or "its host", 100)
    except ValueError:
        return "its host"
