"""What targets make of the fuzzer's bytes: choices, texts, pieces, and documents that lie in some of their fields."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
RAW, LYING = b"\0", b"\1"
MOST_LIES = 16
DEEP: Any = 0
for _ in range(40):
    DEEP = [DEEP]
LIES: list[Any] = [
    *(None, True, False, 0, 1, -1, 0.5, 1e308, -(1 << 70), 1 << 70, 10**400, float("nan"), float("inf")),
    *("", "0", "\x1b]52;c;aGk=\x07 lie", "x" * 5000, "9" * 5000, "\ud800", "²", "-1", "N/A", "../../etc/passwd", "\0"),
    *([], {}, [[]], DEEP, {"": ""}, ["x"] * 20),
]


class Dice:
    """Bytes taken one after the other; when they are used up every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self._left = memoryview(data)

    def number(self, below: int) -> int:
        size = 1 if below <= 256 else 3
        taken, self._left = bytes(self._left[:size]), self._left[size:]
        return int.from_bytes(taken, "little") % below

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.number(len(choices))]

    def left(self) -> bool:
        return len(self._left) > 0

    def rest(self) -> bytes:
        taken, self._left = bytes(self._left), self._left[:0]
        return taken

    def text(self) -> str:
        return self.rest().decode("utf-8", "replace")

    def pieces(self) -> list[bytes]:
        """The rest, cut at places that the bytes before it choose."""
        sizes = [self.number(256) ** 2 // 64 + 1 for _ in range(self.number(16))]
        text, at, found = self.rest(), 0, []
        for size in sizes:
            found.append(text[at : at + size])
            at += size
        return [*found, text[at:]]

    def document(self, truth: Any) -> str:
        """A JSON text: whatever the bytes say, or the truth with lies in some of its fields."""
        if self.pick((RAW, LYING)) == RAW:
            return self.text()
        return json.dumps(self.lied(truth))

    def lied(self, truth: Any) -> Any:
        """The document with some fields replaced, moved, renamed or gone."""
        made = {"": copy.deepcopy(truth)}
        for _ in range(MOST_LIES):
            if not self.left():
                break
            places = list(_places(made))
            holder, key = places[self.number(len(places))]
            how = self.number(len(LIES) + 5) - len(LIES)
            if how < 0:
                holder[key] = copy.deepcopy(LIES[how])
            elif how == 0:
                holder[key] = {"x": holder[key]}
            elif how == 1:
                holder[key] = [holder[key]]
            elif how == 2:
                other, where = places[self.number(len(places))]
                holder[key] = copy.deepcopy(other[where]) if where in _keys(other) else None
            elif how == 3 and isinstance(holder, dict) and key:
                holder[str(LIES[self.number(len(LIES))])[:50]] = holder.pop(key)
            elif how == 4 and key:
                del holder[key]
        return made.get("")


def _keys(holder: Any) -> Any:
    return range(len(holder)) if isinstance(holder, list) else holder


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) of a document, itself included."""
    todo = [value]
    while todo:
        holder = todo.pop()
        for key in list(_keys(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list):
                todo.append(holder[key])


def documents(*truths: Any) -> list[bytes]:
    """Seeds for `Dice.document`: the texts themselves, and the beginnings of lies."""
    texts = [RAW + json.dumps(truth).encode() for truth in truths]
    return [*texts, *(LYING + bytes([at, at, 0, at + 7, how, 0]) for at, how in ((3, 5), (9, 17), (20, 30), (40, 33)))]


def refused_well(error: Exception, begins: str = "", limit: int = 800) -> None:
    """A refusal is one clean sentence of sane length, and begins with what is wrong."""
    told = str(error)
    assert len(told) < limit
    assert is_clean(told)
    assert told.startswith(begins)


def is_clean(text: str, keep: str = "") -> bool:
    """Whether a text may touch a terminal."""
    return all(char.isprintable() or char in keep for char in text)
