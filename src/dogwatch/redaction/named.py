"""Secrets known by what stands before them: a telling name, a flag, a command that takes a password, a URL's user.

Each rule is an RE2 pattern with two groups, what is kept and the value, and a test of whether the value is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

REDACTED = "[redacted]"

# What is never a secret: a placeholder, a variable that holds it, the next flag, what was redacted already.
_PLACEHOLDER = re.compile(
    r"[*.xX•-]{1,}|--[a-z][\w-]*|[<\[{$%(].*|none|null|nil|true|false|yes|no|empty|unset", re.IGNORECASE
)
# Words that stand behind "password:" in a sentence.
_PROSE = re.compile(
    r"(?:an?|and|are|as|at|auth(?:entication)?|be|been|by|can(?:not)?|changed|check|does|error|expired|failed|field|for"
    r"|from|has|hash(?:ing)?|if|in|incorrect|input|invalid|is|it|length|login|manager|mismatch|missing|must|needed|not|of"
    r"|ok|on|only|or|please|policy|prompt|protect(?:ed|ion)|provided|rejected|required|reset|set|should|the|this|too?|type"
    r"|unknown|used?|using|was|with|wrong|your?)[.,:;!]?",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"[A-Za-z]{1,11}[.,:]?|[-+]?[\d.,_]{1,40}(?:[kKMGTB]{1,2}|e[-+]?\d{1,4})?|[\w.-]{0,40}/.{0,2000}", re.DOTALL
)
# What a service hands out may hold slashes, as a path does; no path is that long without a dot, dash or underline.
_ENCODED = re.compile(r"(?=.{0,100}[a-z])(?=.{0,100}[A-Z])(?=.{0,100}\d)[A-Za-z0-9+/]{40,100}={0,2}", re.ASCII)
# Names of things, and expressions of a program that was printed with its traceback.
_IDENTIFIER = re.compile(r"[A-Za-z]{2,}(?:[_.-](?:[A-Za-z]+|\d{1,4}))*|[A-Z]+(?:_[A-Z0-9]+)+", re.ASCII)
_METAVAR = re.compile(r"[A-Z]+(?:_[A-Z]+)+")
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[].*", re.ASCII | re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+][A-Za-z0-9+/_-]{31,127}={0,2}\.?")
# A public key, a digest, a C++ symbol; JSON, such as DeepSpeed's --world_info (signed JSON is a format of its own).
_NO_SECRET = re.compile(r"AAAA[BCE]|sha\d{3}-|_Z|eyJ")
_LOWER_WORD = re.compile(r"(?:^|[/_-])[A-Za-z]?[a-z]{3,}(?=[/_-]|$)")
_FINGERPRINT = "SHA256:"
_COUNTS = re.compile(r"(?i)tokens")  # "tokens" are counted; a token is handed out
_NOT_SECRET_KEYS = re.compile(r"(?i)(?:cache|sort|hash|partition|primary|foreign|public|dict|state)[_-]?key\W*$")


def is_password(value: str, before: str = "") -> bool:
    """Behind a word such as "password": anything but a placeholder, a path or a word of a sentence."""
    return not (_PLACEHOLDER.fullmatch(value) or value.startswith("/") or _PROSE.fullmatch(value))


def is_given(value: str, before: str = "") -> bool:
    """Behind "token=" and the like: anything but a plain word, a number or a path."""
    if _COUNTS.search(before):
        return is_random(value)
    plainly = _PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value)
    return not (plainly or _PLACEHOLDER.fullmatch(value) or _CODE.fullmatch(value) or _METAVAR.fullmatch(value))


def is_random(value: str, before: str = "") -> bool:
    """What nobody writes by hand: long, of letters and digits, not a path, a name or a piece of a program."""
    if len(value) < 16 or "/" in value or _IDENTIFIER.fullmatch(value) or _CODE.fullmatch(value):
        return False
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def is_keyed(value: str, before: str = "") -> bool:
    """Behind "KEY=": only what is random, and not the key of a cache or a table."""
    return bool(is_random(value) or _ENCODED.fullmatch(value)) and not _NOT_SECRET_KEYS.search(before)


def is_said(value: str, before: str = "") -> bool:
    """Behind "the password is": what is no word."""
    return is_password(value) and not value.rstrip(".,:;!").isalpha()


def is_encoded(value: str, before: str = "") -> bool:
    """A key in base64, named by nothing: it changes between small, capital and other characters far more often than
    words, paths and identifiers do. Of random ones about 97 in 100 are found."""
    if before == _FINGERPRINT or not _BASE64.fullmatch(value) or _NO_SECRET.match(value) or _LOWER_WORD.search(value):
        return False
    kinds = [1 if char.islower() else 2 if char.isupper() else 3 for char in value.rstrip(".=")]
    changes = sum(one != other for one, other in pairwise(kinds))
    mixed = min(kinds.count(1), kinds.count(2)) >= len(kinds) // 8 and any(map(str.isdigit, value))
    return mixed and changes >= 0.42 * len(kinds)


class Rule(NamedTuple):
    """`words`: one of them is in every text, in lower case, in which the pattern can be found; none where the pattern
    names no word."""

    words: tuple[str, ...]
    pattern: str
    is_secret: Callable[[str, str], bool]


_NAMES = (
    r"(?:api[ _-]?key|acc(?:ess|ount)[_-]?key|private[_-]?key|fernet[_-]?key|auth|secret|token|passw(?:or)?d|passphrase"
    r"|credential|cookie|-signature|[?&]sig\b)[a-z0-9_-]{0,30}['\"]?"
)
_PASSWORD = r"(?:passw(?:or)?d|passphrase|pwd|[a-z0-9]_pass|[a-z0-9]_pw)['\"]?"
_EQUALS = r"[\s\v]{0,3}(?:=|:|=>)[\s\v]{0,3}"
_VALUE = r"['\"]?([^\s\v'\"&,;)}\]]{6,})"

RULES = (
    Rule(("pass", "pwd", "_pw"), rf"(?i)({_PASSWORD}{_EQUALS}\")([^\"\n]{{3,200}})\"", is_password),
    Rule(("pass", "pwd", "_pw"), rf"(?i)({_PASSWORD}{_EQUALS}')([^'\n]{{3,200}})'", is_password),
    Rule(("passphrase",), rf"(?i)(passphrase{_EQUALS})([a-z]+(?:[ -][a-z]+){{2,23}})", is_password),
    Rule(("pass", "pwd", "_pw"), rf"(?i)({_PASSWORD}{_EQUALS})([^\s\v'\"&,;)}}\]]{{3,}})", is_password),
    Rule(("pass",), r"(?i)(passw(?:or)?d (?:is|was|are|set to|changed to)[\s\v]{1,3}['\"]?)([^\s\v'\"]{4,})", is_said),
    Rule(
        ("key", "secret", "token", "pass", "credential", "auth", "cookie", "sig"),
        rf"(?i)({_NAMES}{_EQUALS}){_VALUE}",
        is_given,
    ),
    # A flag and its value; and what looks like a secret beside a telling name.
    Rule(
        ("key", "secret", "token", "pass", "credential", "auth"),
        rf"(?i)(--[a-z-]{{0,30}}{_NAMES}[\s\v]{{1,7}}){_VALUE}",
        is_given,
    ),
    Rule(
        ("key", "secret", "token", "pass", "credential", "auth", "cookie"),
        rf"(?i)({_NAMES}[\s\v]{{1,7}}){_VALUE}",
        is_random,
    ),
    Rule(
        ("key",),
        rf"(?i)(\b[a-z0-9_-]{{0,40}}key(?:-data)?['\"]?{_EQUALS}['\"]?)([a-z0-9+/_-]{{16,}}={{0,2}})",
        is_keyed,
    ),
    Rule(("bearer", "basic", "token"), r"(?i)(\b(?:bearer|basic|token)[\s\v]{1,4})([a-z0-9+/._~=-]{12,})", is_given),
    Rule(("authorization",), r"(?i)(authorization['\"]?[:=]\s{0,3}['\"]?[a-z]{2,20} {1,4})([^\s'\"]{8,})", is_given),
    Rule(("_pat",), rf"(\b[A-Z0-9_]{{1,60}}_PAT{_EQUALS}['\"]?)([A-Za-z0-9_-]{{20,}})", is_random),
    # Lines of .netrc.
    Rule(("password",), r"(\blogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4})(\S{2,})", is_password),
    Rule(("password",), r"(?m)(^\s{0,8}password[ \t]{1,4})(\S{4,100})$", is_password),
    # host:port:database:user:password, a line of .pgpass; a compiler's file:line:column has a number for the database.
    Rule(
        (":",),
        r"(?m)(^\s{0,8}[A-Za-z0-9.*_-]{1,253}:(?:\*|\d{4,5}):(?:\*|[^:\s]{0,60}[^:\s\d][^:\s]{0,60})"
        r":[^:\s]{1,64}:)(\S{4,})$",
        is_password,
    ),
    # Commands that take one. Quotes and pipes end them.
    Rule(("pass:",), r"(-pass(?:in|out)?\s{1,4}['\"]?pass:)([^\s'\"]{2,})", is_password),
    Rule(
        ("mysql", "mariadb"),
        r"(?i)(\b(?:mysql|mariadb)[a-z-]{0,10}\b[^\n|;]{0,300}\s-p['\"]?)([^\s'\"]{2,})",
        is_password,
    ),
    Rule(("sshpass",), r"(\bsshpass\s{1,4}-p\s{0,4}['\"]?)([^\s'\"]{2,})", is_password),
    Rule(("redis-cli",), r"(\bredis-cli\b[^\n|;]{0,200}\s-a\s{1,4}['\"]?)([^\s'\"]{2,})", is_password),
    Rule(("login",), r"(\blogin\b[^\n|;]{0,200}\s-p[\s=]{1,4}['\"]?)([^\s'\"]{2,})", is_password),
    Rule(
        ("curl", "http"),
        r"(\b(?:curl|https?)\b[^\n|;]{0,300}\s(?:-u|--user)[\s=]{0,4}['\"]?[^\s:'\"]{1,100}:)([^\s'\"]{2,})",
        is_password,
    ),
    Rule(
        ("login",),
        r"(\b(?:wandb|comet|neptune|kaggle|ngc|huggingface-cli|hf(?: auth)?)\s{1,3}login"
        r"(?:\s{1,3}--?[a-z-]{1,30}){0,5}\s{1,3})([A-Za-z0-9_.-]{16,})",
        is_random,
    ),
    # A URL's user, with a password or by itself.
    Rule(("://",), r"(://[^\s:/@'\"]{0,100}:)([^\s/@'\"]{1,300})@", lambda value, before: value != REDACTED),
    Rule(("://",), r"(://)([^\s:/@'\"]{16,300})@", is_random),
    Rule((), rf"(^|{_FINGERPRINT}|[^A-Za-z0-9/+_.-])([A-Za-z0-9/+_.-]{{32,}}={{0,2}}\.?)", is_encoded),
)


_WORDS = tuple({word for rule in RULES for word in rule.words})


def without_named(text: str) -> str:
    """`text` without the values that a rule finds."""
    low = text.lower()
    present = {word for word in _WORDS if word in low}
    for rule in RULES:
        if not rule.words or not present.isdisjoint(rule.words):
            text = _without(text, rule)
    return text


def _without(text: str, rule: Rule) -> str:
    parts: list[str] = []
    done = 0
    for found in _compiled(rule.pattern).finditer(text):
        start, end = found.span(2)
        value = text[start:end]
        if REDACTED[:-1] not in value and rule.is_secret(value, found.group(1)):
            parts += (text[done:start], REDACTED)
            done = end
    return "".join((*parts, text[done:])) if parts else text


@cache
def _compiled(pattern: str) -> Any:
    import re2

    return re2.compile(pattern)
