"""Schedule: when a message is tried again, by a clock that nobody sets."""

from __future__ import annotations

import random
from dataclasses import dataclass

from dogwatch.channels.interface import LONGEST_WAIT
from dogwatch.store.rows.channels import MessageRow
from dogwatch.watcher.alerts.policy import backoff
from dogwatch.watcher.alerts.senders import Sent

CHANNEL_RESTS = 60.0  # at most; so often a channel that is down is asked at all


@dataclass(frozen=True, slots=True)
class _Planned:
    mono: float
    due: float  # as it was written down; another value there is somebody's `alerts retry`


@dataclass(frozen=True, slots=True)
class _Rest:
    failures: int = 0  # in a row
    until: float = float("-inf")
    critical: bool = False  # whether what failed last said something critical


class Schedule:
    """A message rests after a try that failed, and so does its channel: a receiver that is down is asked with one
    message, not with each of a thousand. Something critical is tried once in a rest that others began. What another
    process has tried is due by the wall clock."""

    def __init__(self) -> None:
        self._messages: dict[int, _Planned] = {}
        self._channels: dict[str, _Rest] = {}
        self._chance = random.Random()

    def tried(self, sent: Sent, tries: int, now: float, mono: float, critical: bool = False) -> float:
        """Take note of a try; the time of the message's next."""
        receipt = sent.receipt
        wait = backoff(tries, self._chance.random(), receipt.after)
        if receipt.ok or receipt.permanent:
            self._messages.pop(sent.message, None)
            self._channels.pop(sent.channel, None)
            return now + wait
        before = self._channels.get(sent.channel, _Rest())
        rest = receipt.after if receipt.after is not None else min(CHANNEL_RESTS, backoff(before.failures, 0.0, None))
        resting_for_critical = before.critical and mono < before.until
        self._channels[sent.channel] = _Rest(before.failures + 1, mono + rest, critical or resting_for_critical)
        self._messages[sent.message] = _Planned(mono + wait, now + wait)
        return now + wait

    def left(self, row: MessageRow, now: float, mono: float) -> float:
        """Seconds until a message that is not due will be."""
        planned, rest = self._messages.get(row.key), self._channels.get(row.channel, _Rest())
        return max(0.0, rest.until - mono, row.due - now if planned is None else planned.mono - mono)

    def due(
        self, row: MessageRow, now: float, mono: float, *, critical: bool = False, now_or_never: bool = False
    ) -> bool:
        """Whether to try a message now; one who leaves (`now_or_never`) tries what others have tried once more."""
        planned, rest = self._messages.get(row.key), self._channels.get(row.channel, _Rest())
        if planned is not None and planned.due != row.due:
            return True
        rests = mono < rest.until and not (critical and planned is None and not rest.critical)
        if rests or planned is not None:
            return not rests and planned is not None and mono >= planned.mono
        # A clock that was set back must not make a message wait until it has caught up.
        return now_or_never or bool(row.due <= now or row.due > now + 2 * LONGEST_WAIT or row.created > now)
