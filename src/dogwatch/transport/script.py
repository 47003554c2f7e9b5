"""A script of sh at a place, of which only the answer is wanted: sent on stdin, over one connection, within a deadline.

Unlike a poll it may start something that outlives it, so nothing it started is ended here.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

from dogwatch.clock import Clock
from dogwatch.errors import CouldNotPoll
from dogwatch.transport.child import KilledChildren, start
from dogwatch.transport.ssh import Exchange
from dogwatch.transport.ssh_failure import AUTH, HOST_KEY, REFUSED, explain_failure, last_line
from dogwatch.transport.target import Target

REMOTE = "exec sh -s dogwatch-chain"
NEVER_BEGAN = frozenset({AUTH, HOST_KEY, REFUSED})
# What is said of a connection that never came about; `connect to host` is how ssh itself begins to.
NO_WAY = ("refused the connection", "could not be resolved", "connect to host", "accepted the connection but sent")


class NoAnswer(CouldNotPoll):
    """The place gave no answer; `began` is false where it is certain that nothing of the script ran."""

    def __init__(self, why: str, began: bool) -> None:
        super().__init__(why)
        self.began = began


def run_script(place: str, target: Target | None, script: bytes, nonce: str, deadline: float, clock: Clock) -> bytes:
    """What the script answers before its line `DOGWATCH-END nonce SIZE`. Without a target it runs on this machine, with
    our own environment."""
    until, mark = clock.mono() + deadline, nonce.encode("ascii")
    try:
        if target is None:
            child = start(["/bin/sh", "-s"], os.environ)
        else:
            child = start(target.argv(REMOTE), target.environment())
    except OSError as error:
        raise NoAnswer(f"{error.filename or 'sh'} could not be started: {error.strerror}", began=False) from error
    ended = KilledChildren()
    try:
        exchange = Exchange(child, script, mark)
        while exchange.answer is None and not exchange.over:
            left = until - clock.mono()
            if left <= 0 or not exchange.go_on(left):
                words = last_line(exchange.stderr_text())
                raise NoAnswer(
                    f"{place} did not answer in {deadline:g} s" + (f" ({words})" if words else ""), began=True
                )
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.1, min(2.0, until - clock.mono())))
        exchange.read_stderr()
        if exchange.answer is None:
            kind, why = explain_failure(place, child.poll(), exchange.stderr_text(), mark in exchange.inbox)
            raise NoAnswer(why, began=kind not in NEVER_BEGAN and not any(words in why for words in NO_WAY))
        return exchange.answer
    finally:
        if child.poll() is None:  # of one that has ended the group is what it started, which is to stay
            ended.kill(child)
        else:
            for pipe in (child.stdin, child.stdout, child.stderr):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()
        ended.close()
