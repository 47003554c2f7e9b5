"""Secrets taken out of text before anybody else sees it: tokens by their vendors' formats, values by what names them.

`formats.py` is a table of token formats, `named.py` the rules about names, flags, commands and URLs. A token keeps its
first characters, so that its owner can tell which one it was. Everything is linear in the text (RE2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from dogwatch.redaction.named import REDACTED, without_named
from dogwatch.text import plain

_KEPT = 4
_SURROGATES = re.compile("[\ud800-\udfff]")
# Escape codes and what a terminal does not show.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2064\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
)
_KEY_BEGINS, _KEY_ENDS = "-----BEGIN ", "-----END "
# A line of a key's body, perhaps behind a logger's timestamp; its last line may be short.
_KEY_BODY = re.compile(r"(^|.*[\s:|>\]])([A-Za-z0-9+/=]{8,})\s*$", re.ASCII | re.DOTALL)


def redacted(text: str) -> str:
    """`text` without secrets; unchanged where there is none. A secret that escape codes or invisible characters split
    would be whole again on a screen, so such a text is first tried without them. What RE2 cannot encode (a byte of a
    file's name that is no UTF-8) is replaced, but only where something is redacted."""
    if _INVISIBLE.search(text):
        clean = plain(text, 12 * len(text) + 12, keep="\t\n\v\f\r")
        shown = _redacted(clean)
        if shown != clean:
            return shown
    return _redacted(text)


def _redacted(text: str) -> str:
    readable = _SURROGATES.sub("\ufffd", text)
    done = without_named(_tokens().sub(lambda found: f"{found.group()[:_KEPT]}…{REDACTED}", readable))
    return text if done == readable else done


def redacted_lines(lines: Sequence[str]) -> list[str]:
    """Lines of one text without secrets, nor the body of a private key, whose head or foot may have been cut off."""
    return list(_without_keys(lines))


def redacted_document(value: Any) -> Any:
    """The same JSON document with every text redacted; names of fields stay."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {str(key): redacted_document(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_document(one) for one in value]
    return value


def _without_keys(lines: Sequence[str]) -> Iterator[str]:
    inside = next((_KEY_ENDS in line for line in lines if _KEY_BEGINS in line or _KEY_ENDS in line), False)
    for line in lines:
        if _KEY_BEGINS in line and "PRIVATE KEY" in line:
            inside = True
        elif _KEY_ENDS in line:
            inside = False
        elif inside and (body := _KEY_BODY.match(line)):
            yield f"{redacted(body.group(1))}{REDACTED}"
            continue
        yield redacted(line)


@cache
def _tokens() -> Any:
    import re2

    from dogwatch.redaction.formats import FORMATS

    return re2.compile(rf"\b(?:{'|'.join(one.pattern for one in FORMATS)})|{_PRIVATE_KEY}")


_PRIVATE_KEY = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}-----|\z)"
