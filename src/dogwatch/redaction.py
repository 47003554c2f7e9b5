"""Secrets taken out of text before anybody sees it: keys by their shape, values by the name before them.

What is redacted keeps its first characters, so that its owner can tell which secret it was.
"""

from __future__ import annotations

import re

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
    r"|wandb_v1_(?<=\bwandb_v1_)[A-Za-z0-9_]{20,120}|r8_(?<=\br8_)[A-Za-z0-9]{20,60}"
    r"|eyJ(?<=\beyJ)[A-Za-z0-9_-]{10,500}+\.[A-Za-z0-9_-]{5,1000}+\.[A-Za-z0-9_-]{5,500}"
    r"|hooks\.slack\.com/services/[A-Za-z0-9/]{8,120}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,4000}",
    re.ASCII,
)
_SHAPED = (
    *("hf_", "api_org_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "xox"),
    *("AIza", "nvapi-", "wandb_v1_", "r8_", "eyJ", "hooks.slack.com/services/", "-----BEGIN "),
)
_BEARER = re.compile(r"\b(bearer|basic|token)\s{1,4}([A-Za-z0-9+/._~=-]{12,2000})", re.IGNORECASE | re.ASCII)
_IN_URL = re.compile(r"(://[^\s:/@'\"]{0,100}):([^\s/@'\"]{1,200})@", re.ASCII)
_NAMED = re.compile(
    r"([aAcCpPsStT](?:(?<=[aA])(?i:pi[_-]?key|ccess[_-]?key|uth)|(?<=[sS])(?i:ecret[_-]?key|ecret)"
    r"|(?<=[tT])(?i:oken)|(?<=[pP])(?i:asswd|assword|assphrase|rivate[_-]?key)|(?<=[cC])(?i:redential))"
    r"[A-Za-z0-9_-]{0,30}+['\"]{0,1}\s{0,3}(?:=|:|\s)\s{0,3}['\"]{0,1})([^\s'\"&,;)}\]]{6,2000})",
    re.ASCII,
)
_NAMES = ("key", "secret", "token", "passw", "passphrase", "credential", "auth")
_HARMLESS = re.compile(
    r"[A-Za-z]{1,11}[.,:]{0,1}|[-+]{0,1}[\d.,_]{1,40}(?:[kKMGTB]{1,2}|e[-+]{0,1}\d{1,4}){0,1}|[\w.]{0,20}/.{0,2000}"
)
_KEPT = 4


def redacted(text: str) -> str:
    """`text` without secrets; linear in its length, and unchanged where there is none."""
    if any(literal in text for literal in _SHAPED):
        text = _SHAPES.sub(lambda found: _masked(found.group()), text)
    if "://" in text:
        text = _IN_URL.sub(r"\1:[redacted]@", text)
    low = text.lower()
    if any(word in low for word in ("bearer", "basic", "token")):
        text = _BEARER.sub(lambda found: f"{found.group(1)} {_masked(found.group(2))}", text)
    return _NAMED.sub(_named, text) if any(name in low for name in _NAMES) else text


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
