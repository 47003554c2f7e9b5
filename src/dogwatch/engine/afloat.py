"""Afloat: alerts while the store takes nothing (a full disk). What can be read is decided, sent and remembered here,
and written down in one transaction as soon as there is room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dogwatch.engine import alerting, routing
from dogwatch.store import alerts
from dogwatch.store.alerts import OPEN, WAITING, Decision
from dogwatch.store.database import Store

Token = Callable[[str, Sequence[Mapping[str, Any]]], str]


@dataclass(slots=True)
class _Message:
    number: int
    channel: str
    token: str
    notices: list[Mapping[str, Any]]
    created: float
    tries: int = 0
    last: alerts.Try = field(default_factory=lambda: alerts.Try(OPEN, "", 0.0))

    def row(self) -> dict[str, Any]:
        """As the store would give it, with a number that no row there has."""
        told = {"key": self.number, "token": self.token, "channel": self.channel, "created": self.created}
        return {**told, "due": self.last.due, "tries": self.tries, "notices": self.notices}


class Afloat:
    """Decisions and messages that are nowhere but here. After a kill they are made again from the same notices."""

    def __init__(self, store: Store, token: Token) -> None:
        self._store, self._token = store, token
        self._decided: dict[int, dict[str, Decision]] = {}
        self._letters: list[dict[str, Any]] = []  # that wait for company, of the store and of `_decided`
        self._known: set[tuple[int, str]] = set()  # (notice, channel) of those
        self._messages: dict[int, _Message] = {}
        self._number = 0

    def __bool__(self) -> bool:
        return bool(self._decided or self._messages)

    def take(self, channels: routing.Channels, at: float, quiet: alerting.Quiet | None) -> None:
        """Decide on whatever is new."""
        fresh = [notice for notice in alerts.unrouted(self._store) if notice["id"] not in self._decided]
        if fresh:
            now = routing.now_of(self._store, at, fresh, quiet)
            done = routing.routed(self._store, fresh, channels, now)
            self._decided |= done.letters
            for notice in fresh:
                for channel, decision in done.letters[notice["id"]].items():
                    self._wait(notice, channel, decision.state, decision.due)
        for letter in alerts.open_letters(self._store):
            self._wait(letter["about"], letter["channel"], letter["state"], letter["due"])

    def _wait(self, notice: Mapping[str, Any], channel: str, state: str, due: float) -> None:
        if state == WAITING and (notice["id"], channel) not in self._known:
            self._known.add((notice["id"], channel))
            self._letters.append({"channel": channel, "due": due, "about": notice})

    def waiting(self, channel: str) -> list[dict[str, Any]]:
        return [letter for letter in self._letters if letter["channel"] == channel]

    def compose(self, channel: str, at: float) -> None:
        letters = sorted(self.waiting(channel), key=lambda letter: letter["about"]["id"])
        self._letters = [letter for letter in self._letters if letter["channel"] != channel]
        number = self._number = self._number - 1
        told = [letter["about"] for letter in letters]
        self._messages[number] = _Message(number, channel, self._token(channel, letters), told, at)

    def rows(self) -> list[dict[str, Any]]:
        """The messages that nobody has taken yet."""
        return [one.row() for one in self._messages.values() if one.last.state == OPEN]

    def row(self, number: int) -> dict[str, Any] | None:
        return next((row for row in self.rows() if row["key"] == number), None)

    def tried(self, number: int, one: alerts.Try) -> None:
        message = self._messages[number]
        message.tries, message.last = message.tries + 1, one

    def land(self, at: float) -> None:
        """Write all of it; what is raised by the store leaves it here."""
        messages = [
            alerts.Afloat(
                one.channel, one.token, tuple(about["id"] for about in one.notices), one.created, one.tries, one.last
            )
            for one in self._messages.values()
        ]
        alerts.land(self._store, list(self._decided.items()), messages, at)
        self._decided, self._letters, self._known, self._messages = {}, [], set(), {}
