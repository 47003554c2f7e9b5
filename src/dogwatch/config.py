"""The classic single-job YAML file, read strictly: whatever is not understood is refused by name.

Every refusal is one sentence with the file, the line, the key and what to do; nothing is executed,
expanded or guessed. A value that the file does not set is None, so that a flag can override it.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dogwatch.errors import UsageError
from dogwatch.plugin_config import Setting, keys
from dogwatch.text import named, plain

if TYPE_CHECKING:
    from dogwatch.channels.plugin import ChannelPlugin

LARGEST = 1 << 20
MOST_EVENTS = 20_000
DEEPEST = 16
LONGEST_WAIT = 10 * 365 * 86400.0
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s?([smhd]?)", re.ASCII)
_GROWTH = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s?([kKmMgGtT]?)(i?)B?\s?/\s?(s|min|m|h|d)", re.ASCII)
_GPU = re.compile(r"\d{1,4}(?:,\d{1,4}){0,63}|(?:GPU|MIG)-[0-9A-Za-z/-]{1,80}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PreflightSection:
    """What `dogwatch preflight` is told of the job beyond what watching it needs."""

    command: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    host: str | None = None
    cwd: str | None = None
    environment: str | None = None
    slurm: str | None = None
    gpu_memory: str | None = None
    memory_per_item: str | None = None
    checkpoint_every: str | None = None
    try_import: bool | None = None
    resume: bool | None = None
    core_dumps: bool | None = None
    batch_size: int | None = None


@dataclass(frozen=True, slots=True)
class JobFile:
    """What a job file sets; None for what it leaves open."""

    path: str
    name: str | None = None
    description: str | None = None
    workers: int | None = None
    gpu_ids: tuple[str, ...] | None = None
    total_items: int | None = None
    output_dir: str | None = None
    log_dir: str | None = None
    checkpoint_dir: str | None = None
    output_pattern: str | None = None
    log_pattern: str | None = None
    checkpoint_pattern: str | None = None
    check_interval: float | None = None
    launch_timeout: float | None = None
    stall_timeout: float | None = None
    min_growth: float | None = None
    progress_patterns: Mapping[str, str] | None = None
    error_patterns: tuple[tuple[str, str], ...] | None = None
    terminal: bool | None = None
    refresh_rate: float | None = None
    channels: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)  # what the file says of each, by kind
    preflight: PreflightSection = field(default_factory=PreflightSection)


@dataclass(frozen=True, slots=True)
class _Value:
    """A YAML value with the line it stands on; `held` is a scalar, a list or a dict of these."""

    held: Any
    line: int
    key: str

    def refuse(self, file: str, wrong: str) -> UsageError:
        return UsageError(f"{file} line {self.line}: {self.key} {wrong}")


def duration(value: str | float, what: str = "the duration") -> float:
    """Seconds from 90, "90s", "15m", "2h" or "1d"; more than nothing and less than ten years."""
    found = _DURATION.fullmatch(str(value).strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else math.nan
    if not 0 < seconds <= LONGEST_WAIT:
        shown = plain(str(value), 40)
        raise UsageError(
            f"{what} '{shown}' is not a time above zero; write seconds, or a number with s, m, h or d as in 15m"
        )
    return seconds


def growth(value: str, what: str = "the growth") -> float:
    """Bytes per second from "10MB/h", "500 kB/min" or "2GiB/d"; a rate above zero."""
    found = _GROWTH.fullmatch(str(value).strip())
    rate = 0.0
    if found:
        base = 1024 if found[3] else 1000
        per = _SECONDS[found[4][0]]
        rate = float(found[1]) * base ** ("kmgt".index(found[2].lower()) + 1 if found[2] else 0) / per
    if not 0 < rate <= 1e15:
        shown = plain(str(value), 40)
        raise UsageError(f"{what} '{shown}' is not a rate above zero; write bytes per time as in 10MB/h or 500kB/min")
    return rate


def load_job_file(path: str) -> JobFile:
    """The job that a YAML file describes, or one sentence about the first thing wrong with it."""
    shown = plain(path, 200)
    root = _tree(_text(path, shown), shown)
    if not isinstance(root.held, dict):
        wrong = "is empty" if root.held is None else "is not a mapping"
        raise UsageError(f"{shown} {wrong}; start it with a section such as 'job:' and put its keys below, indented")
    job = JobFile(path)
    for name, section in root.held.items():
        _known(name, section, _SECTIONS, shown, "section")
        if section.held is not None:
            job = _SECTIONS[name](job, section, shown)
    if job.progress_patterns or job.error_patterns:
        from dogwatch.logs.user import compile_patterns

        compile_patterns(job.progress_patterns or {}, job.error_patterns or (), shown)
    return job


def _text(path: str, shown: str) -> str:
    """The file's text; only a regular file of sane size is read at all."""
    try:
        with open(path, "rb", opener=lambda p, flags: os.open(p, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{shown} is not a regular file; give the path of a YAML file")
            raw = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise UsageError(f"{shown} does not exist; check the path") from None
    except (OSError, ValueError) as wrong:
        why = getattr(wrong, "strerror", None) or str(wrong)
        raise UsageError(f"{shown} cannot be read ({why}); check the path and its permissions") from None
    if len(raw) > LARGEST:
        raise UsageError(f"{shown} is larger than 1 MiB; a job file is a few lines, check the path")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = raw.count(b"\n", 0, wrong.start) + 1
        raise UsageError(f"{shown} line {line}: the text is not UTF-8; save the file as UTF-8") from None


def _tree(text: str, file: str) -> _Value:
    """The YAML as values with their lines; no tags, anchors, aliases, duplicate keys or second document."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        _check_events(YAML(typ="safe", pure=True).parse(text), file)
        node = YAML(typ="safe", pure=True).compose(text)
        return _value(node, file, "the file") if node is not None else _Value(None, 1, "the file")
    except MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        line = f" line {mark.line + 1}" if mark is not None else ""
        why = plain(wrong.problem or wrong.context or "cannot be read", 120)
        raise UsageError(f"{file}{line}: this is not YAML ({why}); correct the line") from None
    except (YAMLError, ValueError) as wrong:
        why = plain(str(wrong).splitlines()[0] if str(wrong) else "cannot be read", 120)
        raise UsageError(f"{file}: this is not YAML ({why}); correct the file") from None


def _check_events(events: Iterator[Any], file: str) -> None:
    """Refuse what only a trick needs before anything is built from it."""
    depth = documents = 0
    for count, event in enumerate(events):
        kind = type(event).__name__
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        documents += kind == "DocumentStartEvent"
        wrong = None
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            wrong = "anchors and aliases (& and *) are not supported; write the value out"
        elif getattr(event, "tag", None) is not None or getattr(event, "tags", None):
            wrong = "tags (! and !!) are not supported; write a plain value"
        elif depth > DEEPEST or count > MOST_EVENTS:
            wrong = "the file is nested too deep or too long for a job file; check the path"
        elif documents > 1:
            wrong = "a second document starts here; keep one document in the file"
        if wrong:
            raise UsageError(f"{file} line {line}: {wrong}")


def _value(node: Any, file: str, key: str) -> _Value:
    line = node.start_mark.line + 1
    if node.id == "mapping":
        held: dict[str, _Value] = {}
        for name, child in node.value:
            text, at = name.value, name.start_mark.line + 1
            if not isinstance(text, str):
                raise UsageError(f"{file} line {at}: a key must be a word; write it as text")
            if text in held:
                first = held[text].line
                raise UsageError(
                    f"{file} line {at}: the key '{plain(text, 60)}' is given twice (first on line {first}); keep one"
                )
            inner = plain(text, 60) if key == "the file" else f"{key}.{plain(text, 60)}"
            held[text] = _Value(_value(child, file, inner).held, at, inner)
        return _Value(held, line, key)
    if node.id == "sequence":
        return _Value([_value(child, file, f"{key}[{i}]") for i, child in enumerate(node.value, 1)], line, key)
    return _Value(_scalar(node), line, key)


def _scalar(node: Any) -> Any:
    """A plain YAML 1.2 scalar: a quoted one is text, and so is whatever is no number, truth or nothing."""
    kind = str(node.tag).rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return node.value.lower() == "true"
    if kind == "int" and re.fullmatch(r"[-+]?[0-9]{1,18}", node.value):
        return int(node.value)
    if kind in ("int", "float") and re.fullmatch(r"[-+]?[0-9]{1,18}(\.[0-9]{0,18})?([eE][-+]?[0-9]{1,2})?", node.value):
        return float(node.value)
    return node.value


def _known(name: str, value: _Value, choices: Collection[str], file: str, kind: str) -> None:
    if name not in choices:
        import difflib

        near = difflib.get_close_matches(name, choices, 1, 0.5)
        remedy = f"did you mean '{near[0]}'?" if near else f"use one of {', '.join(choices)}"
        raise value.refuse(file, f"is not a known {kind}; {remedy}")


Check = Callable[[_Value, str], Any]
Section = Callable[[JobFile, _Value, str], JobFile]
Filled = TypeVar("Filled", JobFile, PreflightSection)


def _fill(settings: Filled, keys: Mapping[str, tuple[str, Check]], section: _Value, file: str) -> Filled:
    """The settings with what a section says; each of its keys fills one field."""
    values = {}
    for name, value in _mapping(section, file).items():
        _known(name, value, keys, file, "key")
        field, check = keys[name]
        if value.held is not None:
            values[field] = check(value, file)
    return replace(settings, **values)


def _section(keys: Mapping[str, tuple[str, Check]]) -> Section:
    return lambda job, section, file: _fill(job, keys, section, file)


def _mapping(value: _Value, file: str) -> dict[str, _Value]:
    if not isinstance(value.held, dict):
        raise value.refuse(file, "must hold keys with values; indent them below it")
    return value.held


def _text_value(value: _Value, file: str) -> str:
    if not isinstance(value.held, str) or not value.held or "\0" in value.held:
        raise value.refuse(file, "must be text; put it in quotes")
    return value.held


def _name(what: str) -> Check:
    def check(value: _Value, file: str) -> str:
        text = _text_value(value, file)
        try:
            return named(text, what)
        except UsageError as wrong:
            raise UsageError(f"{file} line {value.line}: {wrong}") from None

    return check


def _whole(value: _Value, file: str) -> int:
    if isinstance(value.held, bool) or not isinstance(value.held, int) or value.held < 1:
        raise value.refuse(file, "must be a whole number above zero")
    return value.held


def _truth(value: _Value, file: str) -> bool:
    if not isinstance(value.held, bool):
        raise value.refuse(file, "must be true or false")
    return value.held


def _duration(value: _Value, file: str) -> float:
    if isinstance(value.held, bool) or not isinstance(value.held, int | float | str):
        raise value.refuse(file, "must be a number of seconds above zero")
    return duration(value.held, f"{file} line {value.line}: {value.key}")


def _rate(value: _Value, file: str) -> float:
    return growth(_text_value(value, file), f"{file} line {value.line}: {value.key}")


def _gpus(value: _Value, file: str) -> tuple[str, ...]:
    listed = value.held if isinstance(value.held, list) else []
    found = [str(item.held) for item in listed if not isinstance(item.held, bool | float)]
    if not found or len(found) != len(listed) or not all(_GPU.fullmatch(gpu) for gpu in found):
        raise value.refuse(file, "must be a list of GPU numbers such as [0, 1]")
    return tuple(found)


def _progress(job: JobFile, section: _Value, file: str) -> JobFile:
    patterns = {name: _text_value(value, file) for name, value in _mapping(section, file).items()}
    for name, value in section.held.items():
        if not name or not name.isprintable() or len(name) > 60:
            raise value.refuse(file, "must have a short printable name")
    return replace(job, progress_patterns=patterns)


def _errors(job: JobFile, section: _Value, file: str) -> JobFile:
    from dogwatch.logs.user import ANY_CASE

    if not isinstance(section.held, list):
        raise section.refuse(file, "must be a list; write each entry as '- pattern: …' with 'severity: …' below it")
    found = []
    for entry in section.held:
        for name, value in _mapping(entry, file).items():
            _known(name, value, ("pattern", "severity", "case_sensitive"), file, "key")
        if "pattern" not in entry.held:
            raise entry.refuse(file, "has no 'pattern'; write '- pattern: …'")
        severity = entry.held.get("severity")
        level = "warning" if severity is None else severity.held
        if level not in ("critical", "warning"):
            raise severity.refuse(file, "must be critical or warning")
        exact = entry.held.get("case_sensitive")
        if exact is not None and not isinstance(exact.held, bool):
            raise exact.refuse(file, "must be true or false")
        pattern = _text_value(entry.held["pattern"], file)
        found.append((pattern if exact is not None and exact.held else f"{ANY_CASE}{pattern}", level))
    return replace(job, error_patterns=tuple(found))


def _alerts(job: JobFile, section: _Value, file: str) -> JobFile:
    """Where alerts about this job go, besides the terminal; what is not enabled is only checked."""
    from dogwatch.channels.registry import CHANNELS

    channels: dict[str, Mapping[str, Setting]] = {}
    for name, value in _mapping(section, file).items():
        plugin = None if name == "terminal" else CHANNELS.find(name)
        if name != "terminal" and (plugin is None or not plugin.job_file):
            offered = [kind for kind, known in CHANNELS.all().items() if known.job_file]
            _known(name, value, [*offered, "terminal"], file, "key")
        if value.held is None:
            continue
        if plugin is None:
            job = _TERMINAL(job, value, file)
            continue
        settings = _channel(plugin, value, file)
        if settings is not None:
            channels[name] = settings
    return replace(job, channels=channels)


def _channel(plugin: ChannelPlugin, value: _Value, file: str) -> dict[str, Setting] | None:
    """What a channel's own keys are in a job's file; None where it is not enabled."""
    given = _mapping(value, file)
    for key, inner in given.items():
        _known(key, inner, ("enabled", *plugin.job_file), file, "key")
    if "enabled" in given and not _truth(given["enabled"], file):
        return None
    known = keys(plugin.config)
    for called, name in plugin.job_file.items():
        if known[name][1].needed and called not in given:
            raise value.refuse(file, f"needs {called!r}, or enabled: false")
    return {
        name: (_whole if known[name][1].number else _text_value)(given[called], file)
        for called, name in plugin.job_file.items()
        if called in given
    }


def _texts(value: _Value, file: str) -> tuple[str, ...]:
    listed = value.held if isinstance(value.held, list) else [value]
    return tuple(str(one.held) if _is_number(one.held) else _text_value(one, file) for one in listed)


def _is_number(held: Any) -> bool:
    return isinstance(held, int | float) and not isinstance(held, bool)


def _text_or_number(value: _Value, file: str) -> str:
    return str(value.held) if _is_number(value.held) else _text_value(value, file)


def _preflight(job: JobFile, section: _Value, file: str) -> JobFile:
    keys = {key: (key, check) for key, check in _PREFLIGHT_CHECKS.items()}
    return replace(job, preflight=_fill(PreflightSection(), keys, section, file))


_PREFLIGHT_CHECKS: dict[str, Check] = {
    **dict.fromkeys(("command", "inputs", "packages", "variables", "network", "signals"), _texts),
    **dict.fromkeys(("host", "cwd", "environment", "slurm"), _text_value),
    **dict.fromkeys(("gpu_memory", "memory_per_item", "checkpoint_every"), _text_or_number),
    **dict.fromkeys(("try_import", "resume", "core_dumps"), _truth),
    "batch_size": _whole,
}
_TERMINAL = _section({"enabled": ("terminal", _truth), "refresh_rate": ("refresh_rate", _duration)})

_SECTIONS: dict[str, Section] = {
    "job": _section(
        {
            "name": ("name", _name("job name")),
            "description": ("description", _name("description")),
            "num_workers": ("workers", _whole),
            "gpu_ids": ("gpu_ids", _gpus),
            "total_items": ("total_items", _whole),
        }
    ),
    "paths": _section({key: (key, _text_value) for key in ("output_dir", "log_dir", "checkpoint_dir")}),
    "patterns": _section(
        {
            "output": ("output_pattern", _text_value),
            "logs": ("log_pattern", _text_value),
            "checkpoints": ("checkpoint_pattern", _text_value),
        }
    ),
    "monitoring": _section(
        {key: (key, _duration) for key in ("check_interval", "launch_timeout", "stall_timeout")}
        | {"min_growth": ("min_growth", _rate)}
    ),
    "progress_patterns": _progress,
    "error_patterns": _errors,
    "alerts": _alerts,
    "preflight": _preflight,
}
