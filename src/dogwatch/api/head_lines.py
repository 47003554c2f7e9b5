"""Head lines: what a program says of itself when it starts (versions, a commit, its settings), read from the top of
its log, so that two runs can be compared. What differs by nature from run to run (times, ids, ports) is left out."""

from __future__ import annotations

import re

MOST_LINES = 300
MOST_LENGTH = 4000
MOST_SETTINGS = 400

_VERSION = re.compile(
    r"\b(torch|pytorch|torchvision|cuda|cudnn|nccl|transformers|deepspeed|python|jax|jaxlib|flax|vllm|sglang|ray|numpy|triton"
    r"|tensorflow|keras|accelerate|peft|trl|lightning|megatron|nemo|apex|flash[-_]attn|driver)"
    r"(?:[ _-]version)?[\"']?[ \t]{0,2}[:=]{0,2}[ \t]{0,3}[\"']?v?(\d{1,4}\.\d{1,5}[\w.+-]{0,30})",
    re.IGNORECASE | re.ASCII,
)
_COMMIT = re.compile(
    r"\b(?:commit|git[ _-]?(?:hash|sha|rev\w{0,6})|revision|HEAD is now at)\b[ \t]{0,2}[:=]?[ \t]{0,2}"
    r"([0-9a-f]{7,40})\b",
    re.IGNORECASE | re.ASCII,
)
_DOTTED = re.compile(r"^[ \t]{0,8}([\w-]{2,50}) \.{3,60} (\S.{0,80})$", re.ASCII)
_PAIR = re.compile(
    r"(?<![\w./-])(-{0,2}[A-Za-z_][\w./-]{1,40})[\"']?[ \t]{0,2}[:=][ \t]{0,4}"
    r"([\"']?[\w./+@-][^,;|=:\s\"')}\]]{0,80})",
    re.ASCII,
)
_LIVE = re.compile(
    r"\d ?(?:it/s|s/it)|\d%\||\b(?:loss|step|steps|iter|iteration)['\"]?[ \t]{0,3}[:=][ \t]{0,3}\d", re.IGNORECASE
)
_BY_NATURE = re.compile(
    r"time|date|elapsed|seconds|pid|port|host|addr|rank|url|http|uuid|(?:^|[_.-])id$|job|run|node|device|gpu|memory|free|used"
    r"|loss|acc|eta|line|file|warn|info|error|master|session|dir|path|log|tmp",
    re.IGNORECASE,
)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|^\d{9,}$|^0x[0-9a-f]+$|[0-9a-f]{8}-[0-9a-f]{4}")


def settings(text: str) -> dict[str, tuple[str, int]]:
    """What the head of a log sets, by name: the value and the line it stands in, the first of each name."""
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate((line[:MOST_LENGTH] for line in text.split("\n")[:MOST_LINES]), 1):
        if _LIVE.search(line):
            break
        for match in _VERSION.finditer(line):
            found.setdefault(f"{match[1].lower()} version", (match[2], number))
        for match in _COMMIT.finditer(line):
            found.setdefault("commit", (match[1], number))
        dotted = _DOTTED.match(line)
        for name, value in [dotted.groups()] if dotted else _PAIR.findall(line):
            if not _BY_NATURE.search(name) and not _MOMENT.search(value):
                found.setdefault(name.lstrip("-"), (value.strip("\"'"), number))
        if len(found) >= MOST_SETTINGS:
            break
    return found
