"""A receiver of webhooks that can be told to misbehave, and keeps what it was sent."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Got:
    """One request that arrived whole."""

    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]


Behaviour = Callable[["_Handler"], None]


def answer(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    def act(handler: _Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def hang(handler: _Handler) -> None:
    handler.receiver.release.wait(60)


def drip(handler: _Handler) -> None:
    """A byte a second, for ever."""
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        if handler.receiver.release.wait(0.5):
            return


def flood(handler: _Handler) -> None:
    """A body without end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.receiver.release.is_set():
        handler.wfile.write(b"x" * 65536)


def close(handler: _Handler) -> None:
    """Taken, and then the line dies before it is said."""
    handler.connection.shutdown(socket.SHUT_RDWR)


def garbage(handler: _Handler) -> None:
    handler.wfile.write(b"\x00\xff nothing like HTTP\r\n\r\n")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) < int(self.headers["Content-Length"]):
            self.close_connection = True
            return
        with self.receiver.lock:
            self.receiver.got.append(Got({k.lower(): v for k, v in self.headers.items()}, body))
            behaviour = self.receiver.next()
        self.close_connection = True
        try:
            behaviour(self)
        except OSError:
            return

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Receiver:
    """Listens on loopback until it is closed. `script` holds what to do with the next requests, `always` with those
    after them."""

    def __init__(self, context: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.lock = threading.Lock()
        self.release = threading.Event()
        self.got: list[Got] = []
        self.script: list[Behaviour] = []
        self.always: Behaviour = answer(200, b"ok")
        handler = type("Handler", (_Handler,), {"receiver": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{'http' if context is None else 'https'}://127.0.0.1:{self.port}/hook/secret-token"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def next(self) -> Behaviour:
        return self.script.pop(0) if self.script else self.always

    def names(self) -> list[str]:
        """Every job that was named, as often as it was."""
        return [job["name"] for got in list(self.got) for job in got.json["jobs"]]

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
