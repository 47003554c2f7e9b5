"""Conformance checks for plug-ins: what a source, a channel, a log format and a rule must do whatever they are about.

Each raises AssertionError with a sentence when the plug-in breaks a promise that the watcher relies on.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import convert

from dogwatch.channels.interface import Channel, Receipt
from dogwatch.channels.plugin import OUTSIDE, ChannelPlugin, built
from dogwatch.channels.plugin import check as check_channel_keys
from dogwatch.clock import Clock
from dogwatch.logs.foreign import check as check_formats
from dogwatch.logs.interface import FormatPlugin
from dogwatch.model import Closing, Ended, Item, Job, Known, Level, Message, Outcome
from dogwatch.plugin_config import Setting, checked, keys
from dogwatch.rules.interface import Case, Rule
from dogwatch.sources.interface import SourcePlugin
from dogwatch.wire.questions import Questions
from dogwatch.wire.sections import WHOLE

JOB = "here/example:1"
HOSTILE = ("", "\0", "\x1b]52;c;x\x07", "9" * 5000, "-1/0", "{" * 2000, "\ud800", "e" * 100_000, "1e999 / nan items")


def check_source(source: Any, jobs: Sequence[Job], answers: Sequence[Mapping[str, Any]], at: float = 1.0e9) -> None:
    """A source asks what the probe understands, speaks only of jobs it was given, and never calls silence a success.
    `answers` are plain JSON; one of ours, which asks `Questions`, is given them as the section that they are."""
    known = {job.ref: Known() for job in jobs}
    asked = source.ask(jobs, known, at)
    ours = isinstance(asked, Questions)
    assert ours or json.loads(json.dumps(asked)) == asked, f"{source.kind}: what it asks is not plain JSON"
    convert(asked.to_request() if ours else {source.section: asked}, Questions)
    assert source.ask(jobs, known, at) == asked, f"{source.kind}: the same question twice differs"
    refs = {job.ref for job in jobs}
    for plain in answers:
        answer = convert(plain, WHOLE[source.section]) if ours else plain
        if source.trouble(answer, jobs) is not None:
            continue
        asked, observations = source.read(answer, jobs, known, at)
        assert asked <= refs, f"{source.kind}: it answers for jobs it was not given: {asked - refs}"
        assert set(observations) <= asked, f"{source.kind}: it observed a job that it does not answer for"
        assert not asked & set(source.blind(answer, jobs)), (
            f"{source.kind}: it answers for a job that it says it cannot see"
        )
        for observation in observations.values():
            done = isinstance(observation.state, Ended) and observation.state.outcome is Outcome.SUCCEEDED
            assert not done or observation.evidence, f"{source.kind}: {observation.ref} succeeded without any evidence"


def check_log_format(plugin: FormatPlugin, lines: Sequence[str]) -> None:
    """The formats of a plug-in read each of these example lines, by a needle that is in it, and survive every hostile
    line."""
    check_formats(plugin)
    formats = plugin.formats
    for line in lines:
        low = line.lower().encode("utf-8", "replace")
        fit = [each for each in formats if any(needle in low for needle in each.needles)]
        assert fit, f"{plugin.name}: no needle is in {line!r}"
        assert any(each.read(line) for each in fit), f"{plugin.name}: nothing was read from {line!r}"
    for line in (*HOSTILE, *(example + hostile for example in lines for hostile in HOSTILE)):
        for each in formats:
            each.read(line.encode("utf-8", "replace").decode("utf-8"))


def check_channel(channel: Channel) -> None:
    """A channel tells truthfully whether a notification was taken, and takes hostile text without raising."""
    for text in HOSTILE:
        item = Item("0" * 32, f"here/process:{text[:40]}", text[:60], Level.WARNING, "rule", text, 1.0e9, text, text)
        receipt = channel.deliver(Message("0" * 32, (item,), 1.0e9))
        assert isinstance(receipt, Receipt), f"{channel.kind}: it returned no receipt"
        assert receipt.ok or receipt.detail, f"{channel.kind}: it failed without saying why"


def check_source_plugin(
    plugin: SourcePlugin, settings: Mapping[str, Setting], answers: Sequence[Mapping[str, Any]], at: float = 1.0e9
) -> None:
    """A source builds, takes a job with these settings, and keeps what `check_source` asks of it."""
    assert plugin.help, f"{plugin.name}: it has no line of help"
    track = checked(plugin.config, settings) if plugin.config is not None else dict(settings)
    source = plugin.build()
    assert source.kind == plugin.name, f"{plugin.name}: its source calls itself {source.kind!r}"
    check_source(source, [Job(JOB, "here", plugin.name, "1", "one", track=track)], answers, at)


def check_channel_plugin(plugin: ChannelPlugin, settings: Mapping[str, Setting]) -> None:
    """A channel builds from these settings and takes hostile text; where a job's file may name it, it leads nowhere
    private from there."""
    check_channel_keys(plugin)
    assert plugin.help, f"{plugin.name}: it has no line of help"
    channel = built(plugin, settings, {}, Clock())
    assert channel.kind == plugin.name, f"{plugin.name}: its channel calls itself {channel.kind!r}"
    check_channel(channel)
    for key in plugin.job_file.values():
        if keys(plugin.config)[key][1].server:
            _check_confined(plugin, settings, key)


def _check_confined(plugin: ChannelPlugin, settings: Mapping[str, Setting], key: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        private = f"http://127.0.0.1:{port}/" if keys(plugin.config)[key][1].secret else "127.0.0.1"
        where = {name: port for name in keys(plugin.config) if keys(plugin.config)[name][1].number}
        channel = built(plugin, {**settings, **where, key: private, OUTSIDE: True}, {}, Clock())
        item = Item("0" * 32, "here/process:1", "one", Level.WARNING, "rule", "text", 1.0e9)
        receipt = channel.deliver(Message("0" * 32, (item,), 1.0e9))
        server.settimeout(0)
        try:
            server.accept()[0].close()
        except BlockingIOError:
            connected = False
        else:
            connected = True
    assert not connected, f"{plugin.name}: a job's file led it into a private network"
    refused = not receipt.ok and receipt.permanent
    assert refused, f"{plugin.name}: it did not refuse a private network for good"


def check_rule(rule: Rule, cases: Sequence[Case], now: float = 1.0e9) -> None:
    """A rule is pure, finds only what is its own about the job it was given, and says what became of a finding."""
    assert rule.judge or rule.judge_blind or rule.judge_place, f"{rule.name}: it judges nothing"
    for case in cases:
        findings = list(rule.judge(case, now)) if rule.judge is not None else []
        again = list(rule.judge(case, now)) if rule.judge is not None else []
        assert findings == again, f"{rule.name}: the same case twice differs"
        for finding in findings:
            assert finding.rule == rule.name, f"{rule.name}: it finds something for the rule {finding.rule}"
            assert finding.subject == case.job.ref, f"{rule.name}: its finding is about {finding.subject}"
            assert finding.text, f"{rule.name}: it finds something without saying what"
            assert isinstance(rule.is_gone(case, finding.what), Closing), f"{rule.name}: it does not say what is gone"
