"""Secrets taken out of text before anybody sees it: keys by their shape, values by the name before them.

What is redacted keeps its first characters, so that its owner can tell which secret it was.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

LONG = 4096  # characters of a text that is worth being asked first whether anything in it can be a secret

# Every way begins with a letter, by which `re` looks for it much faster than for a \b; the rest looks back for that.
_SHAPES = re.compile(
    r"hf_(?<=\bhf_)[A-Za-z0-9]{8,120}|api_org_(?<=\bapi_org_)[A-Za-z0-9]{8,120}"
    r"|sk-(?<=\bsk-)[A-Za-z0-9_-]{12,200}"
    r"|gh[pousr]_(?<=\bgh._)[A-Za-z0-9]{12,255}|github_pat_(?<=\bgithub_pat_)[A-Za-z0-9_]{12,255}"
    r"|glpat-(?<=\bglpat-)[A-Za-z0-9_-]{12,64}"
    r"|A(?:KIA|SIA)(?<=\bA.IA)[A-Z0-9]{12,20}\b"
    r"|xox[abeoprs]-(?<=\bxox.-)[A-Za-z0-9-]{8,200}"
    r"|AIza(?<=\bAIza)[A-Za-z0-9_-]{30,40}"
    r"|nvapi-(?<=\bnvapi-)[A-Za-z0-9_-]{16,120}"
    r"|pypi-Ag(?<=\bpypi-Ag)[A-Za-z0-9_-]{12,300}|npm_(?<=\bnpm_)[A-Za-z0-9]{30,60}"
    r"|sk_live_(?<=\bsk_live_)[A-Za-z0-9]{12,200}|rk_live_(?<=\brk_live_)[A-Za-z0-9]{12,200}"
    r"|wandb_v1_(?<=\bwandb_v1_)[A-Za-z0-9_]{20,120}|r8_(?<=\br8_)[A-Za-z0-9]{20,60}"
    r"|eyJ(?<=\beyJ)[A-Za-z0-9_-]{10,500}+\.[A-Za-z0-9_-]{5,1000}+\.[A-Za-z0-9_-]{5,500}"
    r"|hooks\.slack\.com/services/[A-Za-z0-9/]{8,120}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,4000}",
    re.ASCII,
)
_SHAPED = (
    *("hf_", "api_org_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "xox"),
    *("AIza", "nvapi-", "wandb_v1_", "r8_", "eyJ", "hooks.slack.com/services/", "-----BEGIN "),
    *("pypi-Ag", "npm_", "k_live_"),
)
_BEARER = re.compile(r"\b(bearer|basic|token)\s{1,4}([A-Za-z0-9+/._~=-]{12,2000})", re.IGNORECASE | re.ASCII)
_IN_URL = re.compile(r"(://[^\s:/@'\"]{0,100}):([^\s/@'\"]{1,200})@", re.ASCII)
_NAME = (
    r"(?:a(?:pi[_-]?key|cc(?:ess|ount)[_-]?key|uth)|secret|token|p(?:asswd|assword|assphrase|rivate[_-]?key)|credential"
    r"|cookie|-signature|[?&]sig\b)"
    r"[a-z0-9_-]{0,30}+['\"]{0,1}"
)
_VALUE = r"['\"]{0,1}([^\s'\"&,;)}\]]{6,2000})"
_GIVEN = re.compile(rf"{_NAME}\s{{0,3}}[=:]\s{{0,3}}{_VALUE}", re.ASCII)  # both in lower-cased text
_BESIDE = re.compile(rf"{_NAME}\s{{1,7}}{_VALUE}", re.ASCII)
_NAMES = ("key", "secret", "token", "passw", "passphrase", "credential", "auth", "cookie", "sig")
_HARMLESS = re.compile(
    r"[A-Za-z]{1,11}[.,:]{0,1}|[-+]{0,1}[\d.,_]{1,40}(?:[kKMGTB]{1,2}|e[-+]{0,1}\d{1,4}){0,1}|[\w.-]{0,40}/.{0,2000}"
)
# What a service hands out may hold slashes, as a path does; no path is that long without a dot, dash or underline.
_ENCODED = re.compile(r"(?=.{0,100}[a-z])(?=.{0,100}[A-Z])(?=.{0,100}\d)[A-Za-z0-9+/]{40,100}={0,2}", re.ASCII)
# A name that mostly stands before what is no secret: only what nobody would write by hand is one.
_KEYED = re.compile(r"\b(key['\"]{0,1}\s{0,2}[=:]\s{0,2}['\"]{0,1})([A-Za-z0-9]{32,128})\b", re.ASCII)
_KEPT = 4


def redacted(text: str) -> str:
    """`text` without secrets; linear in its length, and unchanged where there is none. What is given to a name goes
    first: what stands beside a name (`token WANDB_API_KEY: …`) may be the name of another."""
    if _may_hold(text, _SHAPED, _SHAPE_SIGN):
        text = _SHAPES.sub(lambda found: _masked(found.group()), text)
    if "://" in text:
        text = _IN_URL.sub(r"\1:[redacted]@", text)
    low = _lower(text)
    for pattern, sign in ((_GIVEN, _GIVEN_SIGN), (_BESIDE, _BESIDE_SIGN)):
        if _may_hold(low, _NAMES, sign):
            text = _without_values(text, low, pattern)
            low = _lower(text)
    if _may_hold(text, ("key",), _KEYED_SIGN):
        text = _KEYED.sub(lambda found: f"{found.group(1)}{_masked(found.group(2))}", text)
    if _may_hold(low, ("bearer", "basic", "token"), _BEARER_SIGN):
        text = _BEARER.sub(lambda found: f"{found.group(1)} {_masked(found.group(2))}", text)
    return text


def _lower(text: str) -> str:
    """The text in lower case, every character in its place."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(char if len(char.lower()) > 1 else char.lower() for char in text)


# What is in every text with a secret of that kind, in lower case where case does not matter: for an engine that goes
# through a long text once, whatever stands in it.
_SHAPE_SIGN = "|".join(map(re.escape, _SHAPED))
_BEARER_SIGN = r"(?:bearer|basic|token)[\s\v]{1,4}[a-z0-9+/._~=-]{12}"
_KEYED_SIGN = r"key['\"]?[\s\v]{0,2}[=:][\s\v]{0,2}['\"]?[A-Za-z0-9]{32}"
_GIVEN_SIGN, _BESIDE_SIGN = (
    r"(?:api[_-]?key|acc(?:ess|ount)[_-]?key|private[_-]?key|auth|secret|token|passwd|password|passphrase|credential"
    r"|cookie|-signature|[?&]sig\b)"
    rf"[a-z0-9_-]{{0,30}}['\"]?{sign}['\"]?[^\s'\"&,;)}}\]]{{6}}"
    for sign in (r"[\s\v]{0,3}[=:][\s\v]{0,3}", r"[\s\v]{1,7}")
)


def _may_hold(text: str, words: tuple[str, ...], sign: str) -> bool:
    return any(word in text for word in words) if len(text) < LONG else _linear(sign).search(text) is not None


@cache
def _linear(sign: str) -> Any:
    import re2

    return re2.compile(sign)


def _without_values(text: str, low: str, pattern: re.Pattern[str]) -> str:
    """The text without values behind telling names, unless they are plainly words, numbers or paths. What stands
    beside a name is such a value if the name is a flag, or if it looks like a secret."""
    parts: list[str] = []
    done = 0
    for found in pattern.finditer(low):
        start, end = found.span(1)
        value = text[start:end]
        sure = pattern is _GIVEN or _looks_secret(value) or "--" in text[max(0, found.start() - 20) : found.start()]
        harmless = _HARMLESS.fullmatch(value) and not _ENCODED.fullmatch(value)
        if sure and not harmless and "[redacted" not in value:
            parts += (text[done:start], "[redacted]")
            done = end
    return "".join((*parts, text[done:])) if parts else text


def _looks_secret(value: str) -> bool:
    return len(value) >= 16 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and "/" not in value


def _masked(secret: str) -> str:
    return f"{secret[:_KEPT]}…[redacted]"
