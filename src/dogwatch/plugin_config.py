"""The keys of a plug-in's configuration: a dataclass whose fields say what may stand in them.

A field is annotated with one of the types below; a field with a default may be left out. What is wrong is refused with
the key and what would be right, and never with a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

from dogwatch import secret
from dogwatch.errors import UsageError
from dogwatch.text import plain


@dataclass(frozen=True, slots=True)
class Key:
    """What may stand in a field. A `secret` is kept by reference; `literal` checks one that a person typed as it is,
    which is then moved to a private file; `typed` makes a
    value of a word of the command line. A `server` is somewhere to connect to. `owner_only`: what a job's file may
    never say, because it would start a program, write a file or lend a credential. `called` is its name in a file."""

    check: Callable[[Any, str], Any]
    secret: bool = False
    literal: Callable[[str, str], None] | None = None
    server: bool = False
    owner_only: bool = False
    called: str = ""
    number: bool = False
    typed: Callable[[str], Any] = str
    needed: bool = True


def text(value: Any, what: str) -> str:
    if not isinstance(value, str) or any(ord(char) < 32 for char in value):
        raise UsageError(f"{what} is a text on one line")
    return value


def reference(value: Any, what: str) -> str:
    return secret.checked(text(value, what), what)


def address(value: Any, what: str) -> str:
    """An e-mail address that cannot be anything else."""
    if not isinstance(value, str) or not re.fullmatch(r"[^\s@<>,;:\"\\()\[\]]{1,64}@[A-Za-z0-9.-]{1,253}", value):
        raise UsageError(f"{what} takes one e-mail address, not {str(value)[:80]!r}")
    return value


def argv(value: Any, what: str) -> list[str]:
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(word, str) and "\0" not in word for word in value)
    ):
        raise UsageError(f"{what} is a list: the program and its arguments, no shell line")
    return value


def absolute_path(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        raise UsageError(f"{what} is an absolute path")
    return value


def host(value: Any, what: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}", value):
        raise UsageError(f"{what} is the name of a server")
    return value


def port(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 65536:
        raise UsageError(f"{what} is a number from 1 to 65535")
    return value


def url(value: str, what: str) -> None:
    """One that can be meant; the sentence never repeats it, since it is a secret."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(value)
    except ValueError:
        raise UsageError(f"{what} is not one") from None
    if any(ord(char) <= 32 for char in value) or not re.fullmatch(r"[a-z][a-z0-9+.-]{1,30}", parts.scheme):
        raise UsageError(f"{what} must begin with a scheme (https://) and have no spaces")


def web_url(value: str, what: str) -> None:
    from urllib.parse import urlsplit

    url(value, what)
    parts = urlsplit(value)
    try:
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # of a port above 65535
        usable = False
    if not usable:
        raise UsageError(f"{what} begins with https:// (or http://) and a host, and its port is at most 65535")


def path_of(word: str) -> str:
    """A path from the current directory on; an empty word stays one, to be refused."""
    return os.path.abspath(word) if word else word


def number_of(word: str) -> Any:
    """The number that a word spells; the word itself, to be refused, where it spells none."""
    return int(word) if re.fullmatch(r"[0-9]{1,18}", word, re.ASCII) else word


Setting: TypeAlias = str | int | list[str]  # a value as it is kept; of a secret the reference

Text: TypeAlias = Annotated[str, Key(text)]
Address: TypeAlias = Annotated[str, Key(address)]
Host: TypeAlias = Annotated[str, Key(host, server=True)]
Port: TypeAlias = Annotated[int, Key(port, number=True, typed=number_of)]
Secret: TypeAlias = Annotated[str, Key(reference, secret=True, owner_only=True)]
WebUrl: TypeAlias = Annotated[str, Key(reference, secret=True, literal=web_url, server=True)]
ServiceUrl: TypeAlias = Annotated[str, Key(reference, secret=True, literal=url, server=True, owner_only=True)]
Argv: TypeAlias = Annotated[list[str], Key(argv, owner_only=True)]
AbsolutePath: TypeAlias = Annotated[str, Key(absolute_path, owner_only=True, typed=path_of)]


@cache
def keys(config: type) -> dict[str, tuple[str, Key]]:
    """(field, key) by the name that a file gives it."""
    hints = get_type_hints(config, include_extras=True)
    found = {}
    for field in fields(config):
        key = _key(hints[field.name])
        if key is None:
            raise TypeError(f"{config.__name__}.{field.name} has no type of dogwatch.plugin_config")
        needed = field.default is MISSING and field.default_factory is MISSING
        found[key.called or field.name] = field.name, replace(key, needed=needed)
    return found


def _key(hint: Any) -> Key | None:
    """The Key of `Annotated[…, Key]`, also within `… | None`."""
    if get_origin(hint) is Annotated:
        return next((part for part in get_args(hint)[1:] if isinstance(part, Key)), None)
    return next((key for key in map(_key, get_args(hint)) if key is not None), None)


def checked(config: type, given: Mapping[str, Any], where: str = "") -> dict[str, Setting]:
    """The values as they are kept, each checked; `where` stands before a key in a refusal."""
    known = keys(config)
    for name in given:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "it takes none"
            raise UsageError(f"{where}{plain(str(name), 60)} is not known; {there}")
    kept = {}
    for name, (_, key) in known.items():
        if given.get(name) is not None:
            kept[name] = key.check(given[name], where + name)
        elif key.needed:
            raise UsageError(f"{where}{name} is needed")
    return kept


def filled(config: type, kept: Mapping[str, Setting]) -> Any:
    """The configuration itself, with its secrets read now; NoSecret says which one is not there."""
    known = keys(config)
    values = {}
    for name, value in kept.items():
        if name in known:
            field, key = known[name]
            is_reference = key.secret and isinstance(value, str) and value.startswith(secret.KINDS)
            values[field] = secret.read(str(value)) if is_reference else value
    return config(**values)
