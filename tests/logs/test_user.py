"""The owner's own patterns: what they mean, and which are refused."""

from __future__ import annotations

import pytest

from dogwatch.errors import UsageError
from dogwatch.logs.interface import EPOCH, INNER, OWNER, RUN
from dogwatch.logs.reader import Reader
from dogwatch.logs.user import compile_patterns
from dogwatch.model import Metric, Step, Trouble


@pytest.mark.parametrize(
    ("name", "pattern", "line", "mark"),
    [
        ("items_processed", r"did (\d+)/(\d+)", "did 3/9", Step(3, 9, "items", None, OWNER + RUN)),
        ("items_processed", r"did (\d+)", "did 3", Step(3, None, "items", None, OWNER + RUN)),
        ("batch_number", r"b(\d+) of (\d+)", "b3 of 9", Step(3, 9, "batches", None, OWNER + INNER)),
        ("epoch", r"E(\d+)/(\d+)", "E3/9", Step(3, 9, "epochs", None, OWNER + EPOCH)),
        ("tiles", r"([\d,]+)/([\dkM.]+)", "1,200/3M", Step(1200, 3e6, "tiles", None, OWNER + RUN)),
        ("throughput", r"([\d.]+) docs/s", "12.5 docs/s", Metric("throughput", 12.5)),
        ("loss", r"L=([-\d.e]+)", "L=-1.5e-3", Metric("loss", -0.0015)),
        ("loss", r"L=(\S+)", "L=unknown", None),
        ("items_processed", r"did (\S+)/(\S+)", "did x/9", None),
        ("items_processed", r"did (\d+)/(\d+)?", "did 3/", None),
        ("epoch", r"^E(\d+)$", "xE3", None),
    ],
)
def test_groups_and_name_say_what_a_pattern_means(name, pattern, line, mark):
    """Two groups are done and total, one is a count, a rate or a metric by the pattern's name."""
    assert compile_patterns({name: pattern}, [], "job.yaml").read(line) == ([mark] if mark else [])


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "not a pattern"),
        ("[a-", "not a pattern"),
        ("", "empty"),
        ("count", "no group"),
        ("(a)(b)(c)", "3 groups"),
        (r"(?=x)(\d+)", "lookaround or a backreference"),
        (r"(?<!x)(\d+)", "lookaround or a backreference"),
        (r"(\d+) \1", "lookaround or a backreference"),
        ("(x)" + "y" * 1000, "at most 1000"),
        ("(\ud800)", "UTF-8"),
    ],
)
def test_a_pattern_that_cannot_work_is_refused_in_one_sentence(pattern, why, capfd):
    """The sentence names the file, the key and the remedy, and the engine prints nothing of its own."""
    with pytest.raises(UsageError, match=r"^job\.yaml: progress_patterns\.epoch") as told:
        compile_patterns({"epoch": pattern}, [], "job.yaml")
    assert why in str(told.value)
    assert str(told.value).isprintable()
    assert capfd.readouterr() == ("", "")


def test_error_patterns_are_checked_too():
    """They need no group, but a level that is known and a pattern that compiles."""
    compile_patterns({}, [("no group needed", "critical")], "f")
    with pytest.raises(UsageError, match="number 2"):
        compile_patterns({}, [("x", "warning"), ("(", "warning")], "f")
    with pytest.raises(UsageError, match="critical or warning"):
        compile_patterns({}, [("x", "fatal")], "f")


def test_every_line_in_trouble_is_told_once_at_its_worst_level():
    """Two patterns on one line make one trouble; two lines make two."""
    patterns = compile_patterns({}, [("refused", "warning"), ("(?i)oom", "critical")], "f")
    reading = Reader(patterns).feed(b"ok\nconnection refused\nOOM: refused\nok\nrefused\n")
    assert reading.troubles == [
        Trouble("warning", "connection refused", "refused", "refused"),
        Trouble("critical", "OOM: refused", "(?i)oom", "OOM"),
        Trouble("warning", "refused", "refused", "refused"),
    ]


@pytest.mark.parametrize(
    "pattern", ["^start", "end$", r"\Astart", r"end\z", "(?-m:^start)", "^start x end$", "é$|^start"]
)
def test_anchors_mean_the_line(pattern):
    """^, $, \\A and \\z are a line's ends, wherever in a piece of log the line stands."""
    reader = Reader(compile_patterns({}, [(pattern, "warning")], "f"))
    assert len(reader.feed(b"first\nstart x end\nlast\n\xff\n").troubles) == 1


def test_a_pattern_does_not_reach_over_line_ends():
    """What stands on two lines is not one match."""
    reader = Reader(compile_patterns({"epoch": r"E\s+(\d+)"}, [(r"a\s+b", "warning")], "f"))
    reading = reader.feed(b"E\n7\na\nb\n")
    assert reading.step is None
    assert reading.troubles == []


@pytest.mark.timeout(60)
def test_a_catastrophic_pattern_is_harmless():
    """The classic that takes other engines for ever is linear here."""
    reader = Reader(
        compile_patterns({"epoch": r"((?:a+)+)$"}, [("(a|aa)+$", "critical"), ("(x+x+)+y", "warning")], "f")
    )
    assert reader.feed((b"a" * 60_000 + b"!\n") * 5 + b"x" * 60_000 + b"\n").troubles == []


def test_the_owners_counter_wins_over_ours():
    """A counter that the owner described is the progress, with or without a total, and takes the rate given."""
    patterns = compile_patterns({"items_processed": r"handled (\d+)", "throughput": r"at ([\d.]+)/s"}, [], "f")
    reading = Reader(patterns).feed(b"handled 5 at 2.5/s\nEpoch 3/10\nstep 7/9\n")
    assert reading.step == Step(5, None, "items", 2.5, OWNER + RUN)
