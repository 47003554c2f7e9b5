"""Profiles: what is known of a kind of rented box, as small data files, each fact with its source.

A fact that nobody has a source for is unknown; it is never guessed. A user's own profile is `profiles/NAME.toml` in the
configuration directory and wins over one of ours; to add one of ours, add a file here and its name to NAMES.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Struct

from dogwatch.errors import UsageError
from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import FactDocument, ProfileDocument

UNKNOWN = "unknown"
NAMES = ("autodl", "runpod", "vast", "lambda", "paperspace", "plain")
MOST = 1 << 16
_HOME = re.compile(r"\A/(?:root|home/[^/]+)/")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")

T = TypeVar("T")


class Fact(Struct, Generic[T], frozen=True, forbid_unknown_fields=True):
    """Something that is true of a kind of box, and where that is said; without a value it is unknown."""

    value: T | None = None
    source: str = UNKNOWN


class Profile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A kind of box. `kept_on_stop` and `kept_on_release` are the directories whose files are still there afterwards;
    `stop` is what ends the costs, a command or the words of a console, and `stop_where` says which of them."""

    title: str
    name: str = ""
    data_dirs: Fact[tuple[str, ...]] = Fact()
    kept_on_stop: Fact[tuple[str, ...]] = Fact()
    kept_on_release: Fact[tuple[str, ...]] = Fact()
    detach: Fact[Literal["tmux", "nohup", "setsid"]] = Fact()
    stop: Fact[str] = Fact()
    stop_where: Fact[Literal["box", "client", "console"]] = Fact()
    stop_destroys_data: Fact[bool] = Fact()
    spot_grace_seconds: Fact[float] = Fact()
    inode_cap: Fact[int] = Fact()
    price_per_hour: Fact[float] = Fact()

    def facts(self) -> dict[str, Fact[Any]]:
        """The facts by name, in the order in which people read them."""
        return {name: getattr(self, name) for name in LABELS}


# How each fact is called in a sentence.
LABELS = {
    "data_dirs": "directories for data",
    "kept_on_stop": "kept after a stop",
    "kept_on_release": "kept after a release",
    "detach": "how a run is detached",
    "stop": "what ends the costs",
    "stop_where": "where that is given",
    "stop_destroys_data": "a stop destroys data",
    "spot_grace_seconds": "notice before a spot box ends",
    "inode_cap": "most files on its disk",
    "price_per_hour": "price per hour",
}
WHERE = {"box": "on the box", "client": "on your own machine", "console": "in the provider's console"}


def load(name: str, folder: str | None = None) -> Profile:
    """The profile of that name: the user's own in `folder`, or ours. UsageError says what is wrong with it."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{plain(name, 40)}' is not the name of a profile; use lower-case letters, digits, - and _")
    path = None if folder is None else os.path.join(folder, f"{name}.toml")
    if path is not None and os.path.lexists(path):
        return _checked(_text(path), name, path)
    if name not in NAMES:
        known = names(folder)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        own = "" if path is None else f" (your own would be {path})"
        raise UsageError(f"there is no profile '{name}'; {hint}{own}")
    text = resources.files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return _checked(text, name, f"{name}.toml")


def names(folder: str | None = None) -> list[str]:
    """Every profile that can be named: ours, and the user's own."""
    try:
        own = [] if folder is None else sorted(entry for entry in os.listdir(folder) if entry.endswith(".toml"))
    except OSError:
        own = []
    return list(dict.fromkeys([*NAMES, *(entry.removesuffix(".toml") for entry in own)]))


def priced(profile: Profile | None, price: str | None) -> Profile | None:
    """A profile with the price that the owner of a box gave; a price alone makes a plain one."""
    if price is None:
        return profile
    fact = Fact(float(price), "dogwatch host add --price-per-hour")
    return msgspec.structs.replace(load("plain") if profile is None else profile, price_per_hour=fact)


def stop_command(profile: Profile) -> str:
    """What ends the costs of such a box, where that is given, and whether data is lost by it; in one sentence."""
    if profile.stop.value is None:
        return f"how to stop a box of this kind ({profile.title}) is not known here; see its provider's console"
    where = WHERE[profile.stop_where.value or "console"]
    return f"{profile.stop.value} ({where}{_lost(profile)})"


def _lost(profile: Profile) -> str:
    kept = profile.kept_on_stop.value
    if profile.stop_destroys_data.value is None:
        return "; whether its disk is kept is not known"
    if not profile.stop_destroys_data.value:
        return "; its disk is kept"
    return f"; only {', '.join(kept)} is kept" if kept else "; this destroys the data on it"


def shown(fact: Fact[Any]) -> str:
    """A fact's value as people read it."""
    match fact.value:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if fact.value else "no"
        case tuple():
            return " ".join(plain(path, 200) for path in fact.value) or "nothing"
        case float():
            return f"{fact.value:g}"
        case _:
            return plain(str(fact.value), 200)


def document(profile: Profile) -> ProfileDocument:
    facts: dict[str, FactDocument] = {
        name: {"value": msgspec.to_builtins(fact.value), "source": fact.source}
        for name, fact in profile.facts().items()
    }
    return {"name": profile.name, "title": profile.title, "facts": facts, "stop_command": stop_command(profile)}


def is_kept(profile: Profile, path: str) -> bool | None:
    """Whether what lies under an absolute path is still there after the box was stopped; None where that is unknown."""
    kept = profile.kept_on_stop.value
    if kept is None:
        return None
    whole = os.path.normpath(path)
    at_home = _HOME.sub("~/", whole)
    return any(
        given == folder or given.startswith(folder.rstrip("/") + "/") for folder in kept for given in (whole, at_home)
    )


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MOST)
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not TOML: it is not UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _checked(text: str, name: str, file: str) -> Profile:
    try:
        profile = msgspec.convert({**tomllib.loads(text), "name": name}, Profile)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is not TOML: {plain(str(error), 200)}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}: {_wrong(str(error))}") from None
    for key, fact in profile.facts().items():
        if why := _wrong_fact(fact):
            raise UsageError(f"{file}: {key} {why}")
    return profile


def _wrong_fact(fact: Fact[Any]) -> str | None:
    if fact.value is not None and fact.source.strip() in ("", UNKNOWN):
        return 'has a value but no source; add source = "where that is said" to it'
    paths = fact.value if isinstance(fact.value, tuple) else ()
    if wrong := next((path for path in paths if not path.startswith(("/", "~/"))), None):
        return f"has {plain(wrong, 80)!r}, which is not an absolute path"
    if isinstance(fact.value, int | float) and fact.value < 0:
        return f"is {fact.value:g}; it cannot be less than 0"
    return None


def _wrong(error: str) -> str:
    """What msgspec found, in words: the key first, and the nearest key that there is."""
    what, _, at = plain(error, 300).partition(" - at `$.")
    key = at.rstrip("`")
    if unknown := re.fullmatch(r"Object contains unknown field `(.+)`", what):
        choices = ("value", "source") if key else ("title", *LABELS)
        near = difflib.get_close_matches(unknown[1], choices, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(choices)}"
        return f"unknown key {f'{key}.' if key else ''}{unknown[1]}; {hint}"
    if missing := re.fullmatch(r"Object missing required field `(.+)`", what):
        return f"{missing[1]} is missing"
    if key in LABELS:
        return f'{key} must be a table with a value and a source, as in: [{key}] value = ... source = "https://..."'
    return f"{key}: {what[:1].lower()}{what[1:]}" if key else what
