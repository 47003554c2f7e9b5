"""The frame as a value: its size, what stays when room is short, and what must be loud."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from dogwatch.clock import stamp
from dogwatch.tui.pen import Pen
from dogwatch.tui.screen import LOUD, Frame, screen
from dogwatch.tui.view import View
from tests.tui import sample
from tests.tui.sample import NOW


def frame(view: View, width: int = 80, height: int = 24, ascii_only: bool = False, fill: bool = True) -> list[str]:
    made = screen(view, width, height, NOW, fill)
    assert isinstance(made, Frame)
    return [line.plain for line in made.lines(Pen(ascii_only))]


def views() -> dict[str, View]:
    many = [sample.job(4, name=f"job-{i}", ref=f"r{i}") for i in range(60)]
    bare: Any = {"ref": "here/process:1", "name": "bare", "state": None}
    return {
        "one": sample.view(32),
        "few": sample.view(4),
        "512": sample.view(512),
        "hostile": sample.hostile(),
        "many": sample.view(jobs=many),
        "ended": sample.view(jobs=[sample.ended()]),
        "bare": View(jobs=[bare]),
        "nothing": View(jobs=[]),
    }


@pytest.mark.parametrize("name", list(views()))
@pytest.mark.parametrize("ascii_only", [False, True])
@settings(max_examples=25)
@given(width=st.integers(40, 140), height=st.integers(10, 70))
def test_a_frame_fills_its_size_exactly(name, ascii_only, width, height):
    """As many lines as the terminal has, each as wide as it is, with the evidence always on the last two."""
    lines = frame(views()[name], width, height, ascii_only)
    assert len(lines) == height
    assert {cell_len(line) for line in lines} == {width}
    assert not ascii_only or "".join(lines).isascii()
    foot = "".join(lines[-2:])
    assert any(word in foot for word in ("confirmed", "watching", "first poll"))


def test_header_progress_and_findings_stay_on_the_smallest_screen():
    """40x10 has the name, the share, the end, the worst finding and the low disk."""
    text = "\n".join(frame(sample.view(32), 40, 10))
    for fact in ("train-7b-sft", "running for 2h 34m", "62.3 %", "about 20:12", "!! worker 7", "low: 8.1 GB"):
        assert fact in text


def test_when_not_all_workers_fit_the_odd_ones_come_first():
    """Ended badly, stopped and slow are shown before any that just runs; the rest is counted."""
    lines = frame(sample.view(32), 60, 15)
    start = next(at for at, line in enumerate(lines) if line.startswith("Workers")) + 2
    cells = [line.partition("│")[0].strip() for line in lines[start : start + 3]]
    assert cells[0].startswith("7 ✗ 7   SIGKILL")
    assert cells[1].startswith("12 ■")
    assert cells[2].startswith("20 ▼") or cells[2].startswith("2")
    assert any("more" in line for line in lines[start : start + 3])


def test_on_80x24_events_give_way_before_a_worker_does():
    """With four lines of findings all 32 workers are still there."""
    found = [{"rule": "r", "level": "warning", "text": f"odd {i}", "since": stamp(NOW - i)} for i in range(9)]
    text = "\n".join(frame(sample.view(jobs=[sample.job(32, findings=found)])))
    assert "more findings" in text
    indexes = {int(at) for at in re.findall(r"(?:^| │ ) ?(\d+) [●○✗■▼✓]", text, re.MULTILINE)}
    assert indexes == set(range(32))


def test_more_workers_than_cells_are_counted_not_dropped():
    """Of 512 workers the tally says how all of them are."""
    text = "\n".join(frame(sample.view(512)))
    assert "✗ 1 SIGKILL" in text
    assert "and 4" in text


def test_few_workers_get_a_line_each_with_words():
    """Where there is room, a worker's state is a word and its reason a sentence."""
    odd = sample.workers(4)
    odd[1] = {**odd[1], "doing": "gone", "outcome": "unknown", "reason": "it vanished without a record"}
    text = "\n".join(frame(sample.view(jobs=[sample.job(4, workers=odd)])))
    assert "1 ✗ 1   gone" in text
    assert "it vanished without a record" in text
    assert "running" in text
    assert "sleeping" not in text


def test_a_zombie_is_called_one_even_though_its_outcome_is_unknown():
    """Exited and not yet reaped is a condition of its own."""
    odd = [{**sample.workers(1)[0], "doing": "zombie", "outcome": "unknown"}]
    assert "1 zombie" in "\n".join(frame(sample.view(jobs=[sample.job(1, workers=odd)])))


def test_fewer_workers_than_expected_is_said():
    """The tally compares with what was promised."""
    text = "\n".join(frame(sample.view(jobs=[sample.job(4, expect={"workers": 6})])))
    assert "4 of 6:" in text


def test_an_unknown_total_has_no_bar_and_no_percent():
    """What nobody said is not guessed."""
    progress = {"step": 500, "total": None, "unit": "items", "fraction": None, "rate": 2.0, "rate_average": None}
    lines = frame(sample.view(jobs=[sample.job(4, progress=progress, eta=None)]))
    assert lines[1].rstrip() == "500 items, unknown total"
    assert lines[2].startswith("no estimate yet")


def test_an_estimate_that_has_passed_is_overdue_not_postponed():
    """When the promised moment is over, the screen says so and keeps the promise in sight."""
    eta = {**sample.job()["eta"], "at": stamp(NOW - 180)}
    lines = frame(sample.view(jobs=[sample.job(4, eta=eta)]))
    assert "overdue by 3m, was expected at 19:57" in lines[2]


def test_nobody_watching_is_loud():
    """Old knowledge looks old: the footer says so in the loudest style, and the rest is dimmed."""
    made = screen(sample.view(4, alive=False), 80, 24, NOW)
    assert isinstance(made, Frame)
    lines = made.lines(Pen())
    assert "no watcher is running - last confirmed 2s ago" in lines[-1].plain
    assert any(span.style == LOUD for span in lines[-1].spans)
    assert any(span.style == "dim" for span in lines[1].spans if span.end - span.start > 40)


def test_a_watcher_that_proves_nothing_is_loud_too():
    """A living watcher with old knowledge is no better than none."""
    job = sample.job(4, confirmed_at=stamp(NOW - 600))
    assert "not confirmed for 10m: what is shown is old" in frame(sample.view(jobs=[job]))[-1]


def test_an_ended_job_needs_nobody_to_watch_it():
    """Its state is final, so the footer is calm."""
    last = frame(sample.view(jobs=[sample.ended()], alive=False))[-1]
    assert last.startswith("confirmed ")
    assert "nobody" not in last


def test_a_dark_place_is_told_above_the_findings():
    """Which place, for how long, and why."""
    unreachable_hosts: Any = {
        "name": "here",
        "answered_at": None,
        "unreachable_since": stamp(NOW - 300),
        "unreachable_why": "no answer in 5 s",
    }
    lines = frame(replace(sample.view(32), places=[unreachable_hosts]))
    assert lines[3].strip() == "here is unreachable since 19:55 (5m): no answer in 5 s"


def test_findings_that_do_not_fit_are_counted():
    """Twenty findings do not push the job off its own screen."""
    found = [{"rule": "r", "level": "warning", "text": f"odd {i}", "since": stamp(NOW - i)} for i in range(20)]
    found.append({"rule": "r", "level": "critical", "text": "worst", "since": stamp(NOW - 99)})
    lines = frame(sample.view(jobs=[sample.job(32, findings=found)]))
    assert lines[3].startswith("!! worst")
    assert lines[6].strip() == "and 18 more findings"


def test_many_jobs_show_the_urgent_first_and_count_the_rest():
    """A job with a critical finding and one that failed stand above those that just run."""
    jobs = [sample.job(4, name=f"calm-{i}", ref=f"r{i}") for i in range(40)]
    jobs += [sample.ended(name="fallen", ref="f", outcome="failed"), sample.job(32, name="burning", ref="b")]
    lines = frame(sample.view(jobs=jobs))
    assert lines[1].startswith("burning")
    assert lines[2].startswith("fallen")
    assert any("more jobs" in line for line in lines)


def test_jobs_of_one_kind_stand_in_the_order_in_which_people_count():
    """The second before the tenth."""
    lines = frame(sample.view(jobs=[sample.job(4, name=f"job{i}", ref=f"r{i}") for i in (10, 2, 1)]))
    assert [line.split()[0] for line in lines[1:4]] == ["job1", "job2", "job10"]


def test_inodes_are_mentioned_only_when_they_run_out():
    """They seldom matter, and then they matter a lot."""
    disk = {"path": "/data", "free": 5e11, "total": 1e12, "inodes_free": 90, "inodes": 100}
    assert "inodes" not in "\n".join(frame(sample.view(jobs=[sample.job(4, disks=[disk])])))
    short = {**disk, "inodes_free": 3}
    assert "low: 500 GB free of 1.0 TB (50 %) at /data, only 3 inodes left" in "\n".join(
        frame(sample.view(jobs=[sample.job(4, disks=[short])]))
    )


def test_the_copy_for_the_scrollback_is_no_taller_than_it_needs():
    """Without filling there is no hint for a program that is over, and no empty lines to scroll past."""
    lines = frame(sample.view(4), 80, 60, fill=False)
    assert len(lines) < 32
    assert "Ctrl-C" not in "\n".join(lines)


def test_a_console_that_is_not_utf_8_gets_ascii():
    """The frame asks the console that draws it, not the machine it is made on."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="iso-8859-1")
    Console(file=out, width=80, height=24).print(screen(sample.hostile(), 80, 24, NOW))
    out.flush()
    assert out.buffer.getvalue().isascii()


def test_how_busy_a_workers_gpus_are_stands_beside_them_where_there_is_room():
    """A column of its own once it is known, and none before; the tersest screen keeps to what it had."""
    job = sample.job(4)
    busy = {**job, "workers": [{**worker, "gpu_percent": 90.0 + at} for at, worker in enumerate(job["workers"])]}
    assert "91%" in "\n".join(frame(sample.view(jobs=[busy]), 100))
    assert " use " not in "\n".join(frame(sample.view(jobs=[job]), 100))
    assert {cell_len(line) for line in frame(sample.view(jobs=[busy]), 40, 10)} == {40}
