"""Model servers: no total and no end, but requests under way and tokens a second."""

from __future__ import annotations

import re
from functools import partial

from dogwatch.logs.interface import TRAINER, Format, FormatPlugin
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Metric, Phase

_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"

# what is printed → the metric's name
VLLM = {
    rf"avg prompt throughput: {_NUMBER} tok": "prompt_tokens_per_second",
    rf"avg generation throughput: {_NUMBER} tok": "generation_tokens_per_second",
    rf"running: {_NUMBER} req": "requests_running",
    rf"(?:waiting|pending): {_NUMBER} req": "requests_waiting",
    rf"swapped: {_NUMBER} req": "requests_swapped",
    rf"gpu kv cache usage: {_NUMBER}%": "kv_cache_percent",
    rf"prefix cache hit rate: {_NUMBER}%": "prefix_cache_hit_percent",
}
SGLANG = {
    rf"#running-req: {_NUMBER}": "requests_running",
    rf"#queue-req: {_NUMBER}": "requests_waiting",
    rf"gen throughput \(token/s\): {_NUMBER}": "generation_tokens_per_second",
    rf"input throughput \(token/s\): {_NUMBER}": "prompt_tokens_per_second",
    rf"token usage: {_NUMBER}": "token_usage",
}


def _read(needle: str, patterns: tuple[tuple[re.Pattern[str], str], ...], line: str) -> list[LogEvent]:
    low = line.lower()
    if needle not in low:
        return []
    found = [Metric(name, float(hit[1])) for pattern, name in patterns if (hit := pattern.search(low))]
    return [Phase("serving"), *found] if found else []


def _row(kind: str, needle: str, table: dict[str, str]) -> Format:
    patterns = tuple((lazily(pattern, re.ASCII), name) for pattern, name in table.items())
    read = partial(_read, needle, patterns)
    return Format(kind, (needle.encode(),), read, family=kind.split()[0], weight=TRAINER)


rows = (
    _row("vllm", "avg generation throughput:", VLLM),
    _row("sglang", "#running-req:", SGLANG),
    _row("sglang prefill", "prefill batch", SGLANG),
)

PLUGIN = FormatPlugin("servers", rows)
