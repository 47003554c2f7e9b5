"""The words of a message, as every channel needs them: a short subject, one line for each job, and how much fits."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.clock import local_date
from dogwatch.model import Item, Level, Message
from dogwatch.model.message import RANK
from dogwatch.text import plain

SUBJECT = 120
LEVEL_WORDS = {Level.CRITICAL: "CRITICAL", Level.WARNING: "WARNING", Level.INFO: "INFO", Level.PROGRESS: "PROGRESS"}


def subject(message: Message) -> str:
    """One line: the level, and the job with what is wrong, or how many jobs; what is worst goes first."""
    level = LEVEL_WORDS[message.level]
    worst = [item for item in message.items if item.level is message.level]
    names = list(dict.fromkeys(item.name for item in worst))
    others = len(message.items) - (len(worst) if len(names) > 1 else 1)
    more = f" (and {others} more)" if others else ""
    if len(names) == 1:
        newest = max(worst, key=lambda item: item.since)
        return plain(f"[dogwatch] {level}: {newest.name}: {newest.text}", SUBJECT - len(more)) + more
    about = f"{len(worst)} notifications about {len(names)} jobs"
    rules = {item.rule for item in worst}
    what = f" ({plain(worst[0].text, 60)})" if len(rules) == 1 else ""
    return plain(f"[dogwatch] {level}: {about}{what}", SUBJECT - len(more)) + more


def lines(message: Message, most: int | None = None) -> Iterator[str]:
    """The message line by line: each job by name, what, why, since when and what to do; at most so many jobs, the
    worst of them first, and then how many more there are."""
    ordered = sorted(message.items, key=lambda item: -RANK[item.level])
    shown = ordered if most is None else ordered[:most]
    for item in shown:
        yield from item_lines(item)
    if len(shown) < len(ordered):
        rest = ordered[len(shown) :]
        yield f"and {len(rest)} more: " + plain(", ".join(item.name for item in rest[:50]), 1000)


def item_lines(item: Item) -> Iterator[str]:
    yield f"{LEVEL_WORDS[item.level]}  {plain(item.name, 200)}: {plain(item.text, 500)}"
    if item.why:
        yield f"    why: {plain(item.why, 500)}"
    if item.do:
        yield f"    do: {plain(item.do, 300)}"
    yield f"    since {moment(item.since)}, {plain(item.subject, 200)}"


def moment(at: float) -> str:
    return local_date(at)


def fitted(text: str, most: int) -> str:
    """The text cut to a number of characters, at the end of a line where one is near."""
    if len(text) <= most:
        return text
    cut = text.rfind("\n", most - most // 4, most - 2)
    return text[: cut if cut > 0 else most - 2] + "\n…"
