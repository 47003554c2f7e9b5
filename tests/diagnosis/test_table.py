"""The table of causes: every example shows its cause, no counterexample does, every pattern is cheap."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dogwatch.diagnosis import CAUSES
from dogwatch.diagnosis.table import _ROWS, _compiled, classify, stems
from dogwatch.diagnosis.tracebacks import bare, body_of
from tests.diagnosis.examples import COUNTEREXAMPLES, EXAMPLES, EXAMPLES_OF

NAMES = [
    "cuda_oom",
    "host_oom",
    "disk_full",
    "disk_quota",
    "inodes_full",
    "shm_exhausted",
    "too_many_open_files",
    "time_limit",
    "preempted",
    "cancelled",
    "node_failure",
    "gpu_hardware",
    "cuda_illegal_access",
    "cuda_device_assert",
    "cuda_unavailable",
    "nccl_timeout",
    "nccl_error",
    "rendezvous_failed",
    "network_error",
    "port_in_use",
    "missing_module",
    "code_error",
    "config_error",
    "shape_mismatch",
    "checkpoint_mismatch",
    "checkpoint_corrupt",
    "file_missing",
    "permission_denied",
    "hub_access",
    "dataloader_worker_died",
    "loss_nan",
    "segfault",
    "aborted",
    "killed",
    "container_failed",
    "interrupted",
    "launch_failed",
    "dependency_failed",
    "stalled",
    "unknown",
]


def test_the_table_has_the_forty_causes_by_their_names():
    """The names are an interface: none is missing, none is added in passing."""
    assert sorted(CAUSES) == sorted(NAMES)


@pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda cause: cause.name)
def test_a_row_is_whole(cause):
    """Every cause says what it is and what to do, and shows itself in examples."""
    assert cause.title
    assert cause.advice
    assert cause.name in EXAMPLES_OF or cause.name == "unknown"
    assert set(cause.neighbours) <= set(CAUSES)
    assert cause.tell or cause.name == "unknown"


def test_examples_are_of_causes_that_exist():
    """A cause that was renamed takes its examples along."""
    assert {name for name, _ in (*EXAMPLES, *COUNTEREXAMPLES)} <= set(CAUSES)


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_an_example_shows_its_cause(name, line):
    """An example line, raised or printed, is read as its cause and as no other."""
    match = classify(body_of(line), raised=True)
    assert match is not None
    assert match.cause == name


@pytest.mark.parametrize(("name", "line"), COUNTEREXAMPLES)
def test_a_counterexample_does_not(name, line):
    """A line that only looks like a cause is not read as it."""
    match = classify(body_of(line), raised=bare(body_of(line)))
    assert match is None or match.cause != name


def row_name(row):
    return f"{row.match.cause}:{row.stems[0]}"[:60]


@pytest.mark.parametrize("row", _ROWS, ids=row_name)
def test_a_stem_is_lower_case(row):
    """A literal that is not lower-case could never be found in text that was made lower-case; one of less than three
    bytes would be found everywhere."""
    assert all(stem == stem.lower() and len(stem.encode()) >= 3 for stem in row.stems)


@pytest.mark.parametrize("row", [row for row in _ROWS if row.pattern], ids=row_name)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_pattern_matches_holds_one_of_its_literals(row, data):
    """Lines are found by literal: a match without one would never be looked at."""
    line = data.draw(st.from_regex(re.compile(row.pattern, re.IGNORECASE | re.ASCII)))
    assert any(stem in line.lower() for stem in row.stems)


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_the_examples_of_a_cause_use_its_signs(name):
    """A cause is not left without a sign that its own examples exercise."""
    patterns = [row for row in _ROWS if row.match.cause == name]
    lows = [line.lower() for line in EXAMPLES_OF.get(name, ())]
    assert not patterns or any(stem in low for row in patterns for stem in row.stems for low in lows)


def test_the_literals_are_few_and_none_holds_another():
    """A literal that holds another one would be looked for twice."""
    found = stems()
    assert [a for a in found for b in found if a != b and b in a] == []


HOSTILE = [
    "a" * 4096,
    " " * 4096,
    "(" * 4096,
    "error: " * 600,
    "srun: error: " + "task 1, " * 400,
    "xid " * 1000,
    "file dataset not " * 250,
    "0: " * 1300,
    "[rank0]: " * 450,
    "valueerror: unknown " + "word " * 800,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_line_made_to_hurt_is_read_in_no_time(text):
    """Every pattern ends on a line made against it; one that does not runs into the time limit of the tests."""
    everything = (text + " ".join(row.stems[0] for row in _ROWS))[-6000:]
    assert classify(everything, raised=True) == classify(everything, raised=True)


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.stems[0])
def test_every_pattern_is_one_of_the_linear_engine(row):
    """A pattern that RE2 does not take would fail only at the first line that holds its stem."""
    for pattern in filter(None, (row.pattern, row.unless)):
        linear, _ = _compiled(pattern)
        assert linear.search(b"nothing of the kind") is None
