"""NeMo Evaluator's results.yml (tasks and groups, each with metrics, each with scores) and its newer eval-….json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dogwatch.results.interface import Score, figure

LARGEST = 256 << 10
MOST_EVENTS = 20_000
_TEXT_KINDS = ("StreamStartEvent", "StreamEndEvent", "DocumentStartEvent", "DocumentEndEvent")


class Nel:
    """Groups, where there are any, stand for the tasks below them."""

    globs: tuple[str, ...] = ("results.yml", "artifacts/results.yml", "*/artifacts/results.yml")

    def read(self, text: str) -> list[Score] | None:
        block = _results_block(text)
        document = None if block is None else _tree(block)
        results = document.get("results") if document else None
        if not isinstance(results, dict):
            return None
        for level in ("groups", "tasks"):
            found = [_headline(name, row) for name, row in _mapping(results.get(level)).items()]
            scores = [score for score in found if score is not None]
            if scores:
                return scores
        return []


class NelBundle:
    """One benchmark per file."""

    globs: tuple[str, ...] = ("eval-*.json", "*/eval-*.json")

    def read(self, text: str) -> list[Score] | None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return None
        benchmark = document.get("benchmark") if isinstance(document, dict) else None
        if not isinstance(benchmark, dict) or not isinstance(benchmark.get("name"), str):
            return None
        for metric, row in _mapping(benchmark.get("scores")).items():
            value = figure(_mapping(row).get("value"))
            if value is not None:
                return [Score(benchmark["name"], metric, value, figure(_mapping(row).get("stderr")))]
        return []


def _headline(name: str, row: Any) -> Score | None:
    """The first score of the first metric; of a group without any, the first of a group in it."""
    for metric, body in _mapping(_mapping(row).get("metrics")).items():
        for score in _mapping(_mapping(body).get("scores")).values():
            value = figure(_mapping(score).get("value"))
            if value is not None:
                return Score(name, metric, value, figure(_mapping(_mapping(score).get("stats")).get("stderr")))
    for inner in _mapping(_mapping(row).get("groups")).values():
        found = _headline(name, inner)
        if found is not None:
            return found
    return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}


def _results_block(text: str) -> str | None:
    """The lines of the top-level key `results`: the command and the configuration beside it may be long and odd."""
    kept: list[str] = []
    for line in text.splitlines(keepends=True):
        top = bool(line.strip()) and line[0] not in " \t#-"
        if kept and top:
            break
        if kept or line.startswith("results:"):
            kept.append(line)
    block = "".join(kept)
    return block if block and len(block) <= LARGEST else None


def _tree(text: str) -> dict[str, Any] | None:
    """Plain YAML only: what has an alias, a tag or no end is not read."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        for count, event in enumerate(YAML(typ="safe", pure=True).parse(text)):
            kind = type(event).__name__
            odd = kind == "AliasEvent" or getattr(event, "anchor", None) or getattr(event, "tag", None)
            if count > MOST_EVENTS or (odd and kind not in _TEXT_KINDS):
                return None
        document = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


reader, bundle = Nel(), NelBundle()
