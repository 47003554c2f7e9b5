"""Start a chain on a machine: one connection that writes its files, starts it once and brings back what came of it.

Whether an answer that got lost had started it, the same request finds out: a run is started once, whoever asks.
"""

from __future__ import annotations

import os

import msgspec

from dogwatch.actions.chain.script import SBATCH, chain_script, delivery
from dogwatch.clock import Clock
from dogwatch.errors import COULD_NOT_POLL, ENDED_BADLY, DogwatchError
from dogwatch.text import plain
from dogwatch.transport.script import run_script
from dogwatch.transport.target import Target
from dogwatch.wire.chain import Chain, StartReport

DEADLINE, SUBMIT_DEADLINE = 60.0, 180.0


class ChainRefused(DogwatchError):
    """The machine could not start the chain, and nothing of it runs there."""

    exit_code = ENDED_BADLY


class ChainUnclear(DogwatchError):
    """The chain may have been started; the machine did not say."""

    exit_code = COULD_NOT_POLL


def start(
    place: str,
    target: Target | None,
    chain: Chain,
    run: str,
    *,
    runs: str,
    created: float,
    push: bytes | None,
    clock: Clock,
) -> StartReport:
    """Start it, or find that this run was started before. After ChainRefused nothing of it runs."""
    nonce = os.urandom(16).hex()
    script = delivery(chain_script(chain, run, created), push, run, runs, nonce)
    deadline = SUBMIT_DEADLINE if chain.detach == SBATCH else DEADLINE
    answer = run_script(place, target, script, nonce, deadline, clock)
    try:
        report = msgspec.json.decode(answer.decode("utf-8", "replace"), type=StartReport)
    except msgspec.DecodeError as error:
        raise ChainUnclear(f"the answer of {place} cannot be used ({plain(str(error), 100)})") from error
    if report.error is not None:
        why = f"{place}: {plain(report.error, 400)}"
        raise ChainUnclear(why) if report.unclear or report.jobs else ChainRefused(f"{why}; nothing was started")
    return report
