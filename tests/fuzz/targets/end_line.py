"""What ssh brings back: noise, an answer and its end line; the answer of a host without Python; ssh's last words."""

from __future__ import annotations

import os
import re
from typing import Any

from msgspec import to_builtins

from dogwatch.sources.slurm import requests
from dogwatch.transport import without_python
from dogwatch.transport.ssh import Exchange, _Unreachable
from dogwatch.transport.ssh_failure import explain_failure
from dogwatch.wire.json_value import JsonObject
from tests.fuzz.dice import Dice, is_clean, refused_well

NONCE = "00ff" * 8
CODES = (None, 0, 1, 127, 137, 255)
COMMANDS = to_builtins(requests.poll([], ["12"], [], 1_000_000, 0.0))
REQUEST: JsonObject = {"commands": COMMANDS, "logs": {"job": {}}, "disks": ["/"]}


class Pipes:
    """The pipes of an ssh that has said all it will."""

    def __init__(self, said: bytes, complained: bytes) -> None:
        self.stdout, self.stderr = _pipe(said), _pipe(complained)
        self.stdin = open(os.open(os.devnull, os.O_WRONLY), "wb", buffering=0)  # noqa: SIM115


def _pipe(text: bytes) -> Any:
    reading, writing = os.pipe()
    os.write(writing, text)
    os.close(writing)
    os.set_blocking(reading, False)
    return open(reading, "rb", buffering=0)


def target(data: bytes) -> None:
    """An answer has as many bytes as its end line says, or there is none and a clean sentence why; an answer in words
    of sh passes the check of every answer, or is refused."""
    dice = Dice(data)
    code, said = dice.pick(CODES), dice.rest().replace(b"@", NONCE.encode())
    kind, why = explain_failure("login", code, said.decode("utf-8", "replace"), False)
    assert kind
    assert len(why) < 800
    assert is_clean(why)
    try:
        answer = without_python.read(said, REQUEST, NONCE)
        assert is_clean(answer.host or "")
    except without_python.Unusable as wrong:
        refused_well(wrong)
    reply = _talk(said)
    assert reply is None or re.search(rb"\nDOGWATCH-END %s \r*0*%d\r*\n" % (NONCE.encode(), len(reply)), said)


def _talk(said: bytes) -> bytes | None:
    pipes: Any = Pipes(said, said[-500:])
    try:
        exchange = Exchange(pipes, b"", NONCE.encode())
        while not exchange.over and exchange.answer is None and exchange.go_on(1.0):
            pass
    except _Unreachable as unreachable:
        refused_well(unreachable)
        return None
    finally:
        for pipe in (pipes.stdin, pipes.stdout, pipes.stderr):
            pipe.close()
    return exchange.answer


def seeds() -> list[bytes]:
    parts = "@ about\n1794780000\nalice\nlogin1\nboot\n@ run0\n12|x\n@ said\noops\n0\n"
    parts += "@ ids1\n12,13\n@ run1\n1|2\n@ said\n\n0\n"
    said = [
        "Permission denied (publickey).",
        "bash: python3: command not found",
        "Connection refused",
        "SyntaxError: x",
    ]
    texts = [
        "motd\n{}\nDOGWATCH-END @ 2\n",
        "{}\r\nDOGWATCH-END @ 2\r\n",
        "x\nDOGWATCH-END @ 99\n",
        "{}\nDOGWATCH-END @",
    ]
    return [bytes([5]) + text.encode() for text in (parts, *texts, *said)]
