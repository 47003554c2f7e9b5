"""The words of a message, as every channel needs them: a short subject, one line for each job, and how much fits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from dogwatch.model import Item, Level, Message
from dogwatch.text import plain

SUBJECT = 120
SIGNS = {Level.CRITICAL: "CRITICAL", Level.WARNING: "WARNING", Level.INFO: "INFO", Level.PROGRESS: "PROGRESS"}


def subject(message: Message) -> str:
    """One line: the level, and the job with what is wrong, or how many jobs."""
    sign = SIGNS[message.level]
    if len(message.items) == 1:
        item = message.items[0]
        return plain(f"[dogwatch] {sign}: {item.name}: {item.text}", SUBJECT)
    names = list(dict.fromkeys(item.name for item in message.items))
    about = f"{len(message.items)} notices about {len(names)} jobs" if len(names) > 1 else f"{names[0]}"
    rules = {item.rule for item in message.items}
    what = f" ({plain(message.items[0].text, 60)})" if len(rules) == 1 else ""
    return plain(f"[dogwatch] {sign}: {about}{what}", SUBJECT)


def lines(message: Message, most: int | None = None) -> Iterator[str]:
    """The message line by line: each job by name, what, why, since when and what to do; at most so many jobs, and
    then how many more there are."""
    shown = message.items if most is None else message.items[:most]
    for item in shown:
        yield from item_lines(item)
    if len(shown) < len(message.items):
        rest = message.items[len(shown) :]
        yield f"and {len(rest)} more: " + plain(", ".join(item.name for item in rest[:50]), 1000)


def item_lines(item: Item) -> Iterator[str]:
    yield f"{SIGNS[item.level]}  {plain(item.name, 200)}: {plain(item.text, 500)}"
    if item.why:
        yield f"    why: {plain(item.why, 500)}"
    if item.do:
        yield f"    do: {plain(item.do, 300)}"
    yield f"    since {moment(item.since)}, {plain(item.subject, 200)}"


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def fitted(text: str, most: int) -> str:
    """The text cut to a number of characters, at the end of a line where one is near."""
    if len(text) <= most:
        return text
    cut = text.rfind("\n", most - most // 4, most - 2)
    return text[: cut if cut > 0 else most - 2] + "\n…"
