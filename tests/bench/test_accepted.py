"""Figures against those that were accepted, and what is kept of a run that fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench import accepted
from bench.__main__ import NAMES, Run
from bench.accepted import Accepted
from bench.figures import Figure

WAS = {"cost": Accepted(10.0, 1.0, "ms", (10.0,))}


@pytest.mark.parametrize(("value", "worse"), [(11.5, True), (8.5, False)])
def test_a_figure_outside_the_noise_is_worse_or_better(value, worse):
    """Less is better: more than the noise above the accepted value is worse, as much below it better."""
    (change,) = accepted.changes({"cost": Figure("cost", value, "ms")}, WAS)
    assert change.worse is worse
    assert ("worse than accepted" in accepted.report([change])) is worse


def test_a_share_that_should_be_high_is_worse_when_it_falls():
    """Where more is better, the directions are exchanged."""
    (change,) = accepted.changes({"cost": Figure("cost", 5.0, "ms", more_is_better=True)}, WAS)
    assert change.worse


def test_within_the_noise_nothing_changed():
    """A difference as large as the noise, and a figure that nobody accepted yet, are no change."""
    figures = {"cost": Figure("cost", 11.0, "ms"), "new": Figure("new", 1.0)}
    assert accepted.changes(figures, WAS) == []


def test_the_noise_is_learnt_from_values_that_are_alike():
    """Values accepted one after another widen the noise to their spread, and one far away begins anew."""
    first = accepted.accepted_anew(Figure("cost", 10.0, "ms"), None)
    second = accepted.accepted_anew(Figure("cost", 12.4, "ms"), first)
    third = accepted.accepted_anew(Figure("cost", 8.5, "ms"), second)
    assert (first.noise, third.seen, third.value) == (2.5, (10.0, 12.4, 8.5), 10.0)
    assert third.noise == pytest.approx(3.9)
    assert accepted.accepted_anew(Figure("cost", 3.0, "ms"), third).seen == (3.0,)


def test_accepting_some_figures_leaves_the_others(tmp_path):
    """A run of one benchmark replaces its own figures in the file and no others."""
    path = tmp_path / "figures.json"
    accepted.accept({"a": Figure("a", 1.0), "b": Figure("b", 2.0)}, path)
    accepted.accept({"b": Figure("b", 9.0)}, path)
    assert {name: row.value for name, row in accepted.load(path).items()} == {"a": 1.0, "b": 9.0}


def test_what_was_measured_is_kept_when_a_later_part_fails(tmp_path, capsys):
    """A benchmark that fails, in its tear-down too, loses no figure, is named, and makes the run fail."""
    path = tmp_path / "kept" / "last.json"
    run = Run(path)

    def measure() -> Iterator[Figure]:
        yield Figure("cost", 3.0, "ms")
        raise TimeoutError("the tear-down gave up")

    run.run("broken", measure)
    run.run("intact", lambda: [Figure("size", 1.0, "MB")])
    assert {name: figure.value for name, figure in accepted.last(path).items()} == {
        "broken: cost": 3.0,
        "intact: size": 1.0,
    }
    assert run.conclude() == 1
    assert "broken failed" in capsys.readouterr().out


def test_every_accepted_figure_belongs_to_a_benchmark():
    """The file that is checked in names benchmarks that there are, and its figures have a noise."""
    rows = accepted.load()
    assert rows
    assert [name for name, row in rows.items() if name.partition(":")[0] not in NAMES or row.noise <= 0] == []
