"""Writes docs/json.md and docs/schema.json from `dogwatch.wire.documents`; with --check it only says whether they are
out of date. Run it with the Python of .venv (`make docs`)."""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from dogwatch.wire.documents import (
    cancel,
    commands,
    diagnosis,
    handbook,
    job,
    log,
    report,
    takeover,
    transfer,
    waiters,
    watch,
)

DOCS = Path(__file__).parent.parent / "docs"
OPENING = """# The documents

<!-- Made by tools/json_docs.py (`make docs`) from src/dogwatch/wire/documents: change it there. -->

What `--json` prints, the same in every command. Keys are only ever added: none is renamed, removed or given another
type, so ignore the keys you do not know. [schema.json](schema.json) is the same as a JSON Schema, for programs.

- Times are RFC 3339 in UTC (`"2026-11-15T20:00:00.000Z"`). Durations are seconds, sizes are bytes, confidences and
  fractions lie between 0 and 1.
- `null` means: not known, or nothing there. It never stands for zero, for no, or for success.
- A key that is *not always there* is absent where it does not apply.
- Text that came from a job (names, log lines, paths) is passed on as it was. Treat it as untrusted, and strip
  control characters before showing it.
"""
# What is printed, in the order of the page. What they are made of follows each of them.
ROOTS: tuple[tuple[str, Any], ...] = (
    ("A job", job.JobDocument),
    ("Several jobs", watch.JobsDocument),
    ("The list of jobs", watch.ListingDocument),
    ("The short list", watch.BriefDocument),
    ("Why", diagnosis.WhyDocument),
    ("An event", watch.EventDocument),
    ("Events", watch.EventsDocument),
    ("Who waits", waiters.WaitersDocument),
    ("The handbook", handbook.HandbookDocument),
    ("A takeover", takeover.TakeoverDocument),
    ("A report", report.ReportDocument),
    ("A bundle", report.BundleDocument),
    ("A patrol", watch.PatrolDocument),
    ("A log", log.LogDocument),
    ("The time left of a series", log.SeriesDocument),
    ("A backtest", log.BacktestDocument),
    ("A file that was checked", log.FileDocument),
    ("The lines of logs", commands.LogsDocument),
    ("A host", commands.TestedHostDocument),
    ("Hosts", commands.HostsDocument),
    ("A profile", commands.ProfileDocument),
    ("A cancel", cancel.CancelDocument),
    ("A fetch", transfer.FetchDocument),
    ("What there is to fetch", transfer.FetchListDocument),
    ("Alerts", commands.AlertsDocument),
    ("A channel", commands.ChannelDocument),
    ("A kind of channel", commands.ChannelKindDocument),
    ("A decision on an alert", commands.DecisionDocument),
    ("A test of a channel", commands.ReceiptDocument),
    ("A registry file that was synced", commands.SyncedDocument),
    ("Doctor", commands.DoctorDocument),
    ("Preflight", commands.PreflightDocument),
    ("The service", commands.ServiceDocument),
    ("What an uninstall leaves", commands.UninstallDocument),
)
_PLAIN = {str: "text", int: "number", float: "number", bool: "true or false", type(None): "null", Any: "anything"}


class Page:
    """The page as it grows; a type is described once, and later ones lead to it."""

    def __init__(self) -> None:
        self.lines = [OPENING]
        self._titles: dict[Any, str] = {}

    def add(self, title: str, kind: Any, level: int = 2) -> None:
        """The section of a document and, below it, of all that it is made of."""
        self._titles[kind] = title
        keys = dict(_keys(kind))
        inner = [(name, part, many) for name, key in keys.items() for part, many in key.parts()]
        fresh = [(name + "[]" * many, part) for name, part, many in inner if part not in self._titles]
        for name, part in fresh:
            own = name if level == 2 else f"{title}.{name}"
            taken = {_anchor(known) for known in self._titles.values()}
            self._titles.setdefault(part, f"{title}: {own}" if _anchor(own) in taken else own)
        self.lines += [f"{'#' * level} {title}", "", _prose(kind), "", "| key | type | meaning | example |"]
        self.lines += ["|---|---|---|---|", *(self._row(name, key) for name, key in keys.items()), ""]
        if kind is watch.EventDocument:
            self.lines += ["| kind | when |", "|---|---|", *(f"| {k} | {v} |" for k, v in watch.KINDS.items()), ""]
        for part in dict.fromkeys(part for _, part in fresh):
            self.add(self._titles[part], part, 3)

    def _row(self, name: str, key: Key) -> str:
        links = [f"[{title}](#{_anchor(title)})" for title in (self._titles[part] for part, _ in key.parts())]
        meaning = f"{key.meaning}; see {', '.join(links)}" if links else key.meaning
        if not key.required:
            meaning = f"*not always there*: {meaning}"
        example = ", ".join(f"`{json.dumps(example, ensure_ascii=False)}`" for example in key.examples)
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in (f"`{name}`", key.type, meaning, example)) + " |"


class Key:
    """A key of a document: its type in words, its meaning, and whether it is always there."""

    def __init__(self, hint: Any, required: bool) -> None:
        if get_origin(hint) is NotRequired:
            (hint,) = get_args(hint)
        self.required = required
        known = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, msgspec.Meta)]
        self.meaning = next((one.description for one in known if one.description), "")
        self.examples = [example for one in known for example in one.examples or ()]
        self.hint = hint
        self.type = " or ".join(dict.fromkeys(_words(self.hint)))

    def parts(self) -> list[tuple[Any, bool]]:
        """The documents that it holds, and whether it holds many."""
        return list(dict.fromkeys(_inside(self.hint)))


def _keys(kind: Any) -> Iterator[tuple[str, Key]]:
    """The keys of a document, those that hold documents last."""
    hints = get_type_hints(kind, include_extras=True)
    keys = {name: Key(hint, name in kind.__required_keys__) for name, hint in hints.items()}
    yield from sorted(keys.items(), key=lambda pair: bool(pair[1].parts()))


def _words(hint: Any) -> Iterator[str]:
    origin = get_origin(hint)
    if origin is Annotated:
        titles = [one.title for one in hint.__metadata__ if isinstance(one, msgspec.Meta) and one.title]
        yield from titles or _words(hint.__origin__)
    elif origin in (Union, types.UnionType):
        for one in get_args(hint):
            yield from _words(one)
    elif origin in (list, tuple):
        yield "list"
    elif origin is dict or is_typeddict(hint):
        yield "object"
    else:
        yield _PLAIN[hint]


def _inside(hint: Any, many: bool = False) -> Iterator[tuple[Any, bool]]:
    if is_typeddict(hint):
        yield hint, many
    for one in get_args(hint) if get_origin(hint) is not Annotated else (hint.__origin__,):
        yield from _inside(one, many or get_origin(hint) is list)


def _anchor(title: str) -> str:
    """Where a heading is on the page, as GitHub names it."""
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def _prose(kind: Any) -> str:
    return " ".join((kind.__doc__ or "").split())


def page() -> str:
    """docs/json.md."""
    whole = Page()
    for title, kind in ROOTS:
        whole.add(title, kind)
    whole.lines += ["## The others", "", "| command | document |", "|---|---|"]
    whole.lines += [f"| {command} | {text} |" for command, text in commands.SMALL.items()]
    return "\n".join(whole.lines) + "\n"


def schema() -> str:
    """docs/schema.json: a definition for each document and each part of one."""
    _, parts = msgspec.json.schema_components([kind for _, kind in ROOTS], ref_template="#/$defs/{name}")
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Dogwatch", "$defs": parts}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> int:
    made = {DOCS / "json.md": page(), DOCS / "schema.json": schema()}
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        for path in stale:
            sys.stderr.write(f"{path.name} is out of date; `make docs` writes it anew\n")
        return int(bool(stale))
    for path in stale:
        path.write_text(made[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
