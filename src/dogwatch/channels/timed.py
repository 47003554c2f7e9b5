"""Sockets with one deadline for everything: a server that sends a byte a second ends with it like a silent one."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from typing import Any


class Private(Exception):
    """An address of a private network, where only a public one is allowed."""


class _Timed:
    """Gives every call only what is left until `until`."""

    until = 0.0

    def left(self: Any) -> None:
        seconds = self.until - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("timed out")
        self.settimeout(seconds)

    def recv(self: Any, *args: Any, **more: Any) -> bytes:
        self.left()
        return bytes(super().recv(*args, **more))  # type: ignore[misc]

    def recv_into(self: Any, *args: Any, **more: Any) -> int:
        self.left()
        return int(super().recv_into(*args, **more))  # type: ignore[misc]

    def sendall(self: Any, *args: Any, **more: Any) -> None:
        self.left()
        super().sendall(*args, **more)  # type: ignore[misc]

    def do_handshake(self: Any, *args: Any, **more: Any) -> None:
        self.left()
        super().do_handshake(*args, **more)  # type: ignore[misc]


class Timed(_Timed, socket.socket):
    """A plain one."""


def deadline(seconds: float) -> float:
    return time.monotonic() + seconds


def connect(host: str, port: int, until: float, inside: bool = True) -> Timed:
    """A connection to an address that was looked up once and is the one that was checked; `inside` allows those of
    a private network."""
    last: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        if not inside and not public(str(address[0])):
            raise Private(host)
        made = Timed(family, kind, protocol)
        made.until = until
        try:
            made.left()
            made.connect(address)
            return made
        except OSError as error:
            made.close()
            last = error
    raise last or OSError("no address")


def secure_context(until: float) -> ssl.SSLContext:
    """A context that trusts what the system trusts and whose sockets keep the same deadline."""
    context = ssl.create_default_context()
    context.sslsocket_class = type("Secure", (_Timed, ssl.SSLSocket), {"until": until})
    return context


_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SHARED = ipaddress.ip_network("100.64.0.0/10")


def public(address: str) -> bool:
    """Whether an address is on the open internet. An IPv6 address that wraps an IPv4 address is judged by that one;
    any other must be global unicast (RFC 4291), so `::127.0.0.1` and site-local addresses are private."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return public(str(inner))
        return ip.is_global and ip in _GLOBAL_UNICAST
    return ip.is_global and not ip.is_multicast and ip not in _SHARED
