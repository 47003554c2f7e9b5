"""Secrets taken out of text before anybody sees it: keys by their shape, values by the name before them.

What is redacted keeps its first characters, so that its owner can tell which secret it was.
"""

from __future__ import annotations

import re

_SHAPES = re.compile(
    r"\b(?:hf_|api_org_)[A-Za-z0-9]{8,120}"
    r"|\bsk-[A-Za-z0-9_-]{12,200}"
    r"|\bgh[pousr]_[A-Za-z0-9]{12,255}|\bgithub_pat_[A-Za-z0-9_]{12,255}"
    r"|\bglpat-[A-Za-z0-9_-]{12,64}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,20}\b"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{8,200}"
    r"|\bAIza[A-Za-z0-9_-]{30,40}"
    r"|\bnvapi-[A-Za-z0-9_-]{16,120}"
    r"|\b(?:wandb_v1_[A-Za-z0-9_]{20,120}|r8_[A-Za-z0-9]{20,60})"
    r"|\beyJ[A-Za-z0-9_-]{10,500}\.[A-Za-z0-9_-]{5,1000}\.[A-Za-z0-9_-]{5,500}"
    r"|hooks\.slack\.com/services/[A-Za-z0-9/]{8,120}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,4000}",
    re.ASCII,
)
_BEARER = re.compile(r"\b(bearer|basic|token)\s{1,4}([A-Za-z0-9+/._~=-]{12,2000})", re.IGNORECASE | re.ASCII)
_IN_URL = re.compile(r"(://[^\s:/@'\"]{0,100}):([^\s/@'\"]{1,200})@", re.ASCII)
_NAMED = re.compile(
    r"((?:api[_-]?key|access[_-]?key|secret[_-]?key|secret|token|passwd|password|passphrase|credential|auth"
    r"|private[_-]?key)"
    r"[A-Za-z0-9_-]{0,30}['\"]{0,1}\s{0,3}(?:=|:|\s)\s{0,3}['\"]{0,1})([^\s'\"&,;)}\]]{6,2000})",
    re.IGNORECASE | re.ASCII,
)
_HARMLESS = re.compile(
    r"[A-Za-z]{1,11}[.,:]{0,1}|[-+]{0,1}[\d.,_]{1,40}(?:[kKMGTB]{1,2}|e[-+]{0,1}\d{1,4}){0,1}|[\w.]{0,20}/.{0,2000}"
)
_KEPT = 4


def redacted(text: str) -> str:
    """`text` without secrets; linear in its length, and unchanged where there is none."""
    text = _SHAPES.sub(lambda found: _masked(found.group()), text)
    text = _IN_URL.sub(r"\1:[redacted]@", text)
    text = _BEARER.sub(lambda found: f"{found.group(1)} {_masked(found.group(2))}", text)
    return _NAMED.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    """A value behind a telling name, unless it is plainly a word, a number or a path."""
    name, value = found.groups()
    if "[redacted" in value or _HARMLESS.fullmatch(value):
        return found.group()
    given = name.rstrip(" '\"").endswith(("=", ":")) or "--" in found.string[max(0, found.start() - 20) : found.start()]
    return f"{name}[redacted]" if given or _looks_secret(value) else found.group()


def _looks_secret(value: str) -> bool:
    return len(value) >= 16 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and "/" not in value


def _masked(secret: str) -> str:
    return f"{secret[:_KEPT]}…[redacted]"
