"""The screen's twin for pipes and logs: each fact once, and nothing when nothing is new."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

from dogwatch.clock import stamp
from dogwatch.tui.lines import lines
from tests.tui import sample
from tests.tui.sample import NOW


def later(view, seconds, step=None, **other):
    """The same job `seconds` later, seen again then, at another step if given."""
    job = {**view.jobs[0], "confirmed_at": stamp(NOW + seconds), **other}
    if step is not None:
        job["progress"] = {**job["progress"], "step": step, "fraction": step / 1_980_000}
    return replace(view, jobs=[job])


def test_the_first_lines_say_what_happened_and_how_it_stands():
    """History with its own times, then the job and its progress now."""
    assert lines(None, sample.view(4), NOW) == [
        "17:26:00  added train-7b-sft: 32 workers",
        "17:26:02  running: 32 of 32 workers are running",
        "19:26:40  half way: 990,000 of 1,980,000 images",
        "19:28:20  ! /data has 8.1 GB free",
        "19:56:50  !! worker 7 of 32 is gone: killed by SIGKILL",
        "19:58:20  checkpoint 14 saved: step-1400.pt",
        "20:00:00  train-7b-sft (here/process:7f3a91): running for 2h 34m",
        "20:00:00  62.3 %, 1,234,567 of 1,980,000 images; 1,204 images/s now, 1,180 average; "
        "done in 12m (90 % range 10-15m), about 20:12; 4 of 4 workers running",
    ]


def test_nothing_new_is_no_line():
    """The same view again, or a poll that moved little, prints nothing."""
    view = sample.view(32)
    assert lines(view, view, NOW) == []
    assert lines(later(view, 1), later(view, 6, 1_240_000), NOW + 6) == []


def test_progress_is_told_each_half_minute_and_each_tenth():
    """Crossing either boundary is worth a line; between them there is silence."""
    view = sample.view(4)
    assert "62.3 %" in lines(view, later(view, 31), NOW + 31)[0]
    assert "70.0 %" in lines(later(view, 5), later(view, 6, 1_386_000), NOW + 6)[0]


def test_a_new_event_is_told_once():
    """By its number, not by its text."""
    view = sample.view(4)
    more = replace(view, events=[*view.events, sample.event(7, NOW + 3, "checkpoint 15 saved")])
    assert lines(view, more, NOW + 4) == ["20:00:03  checkpoint 15 saved"]
    assert lines(more, more, NOW + 5) == []


def test_a_finding_is_told_once_whether_or_not_an_event_tells_it():
    """With its event there is one line; without one, the finding speaks for itself."""
    calm, found = sample.view(32), sample.view(32)
    calm = replace(calm, jobs=[{**calm.jobs[0], "findings": []}])
    assert lines(calm, found, NOW) == [
        "20:00:00  !! worker 7 of 32 is gone: killed by SIGKILL",
        "20:00:00  ! /data has 8.1 GB free",
    ]
    before = replace(calm, events=calm.events[:3])
    told = [line for line in lines(before, found, NOW) if "worker 7" in line]
    assert told == ["19:56:50  !! worker 7 of 32 is gone: killed by SIGKILL"]


def test_a_dark_place_and_a_dead_watcher_are_told():
    """Not being able to look is news, once."""
    view = sample.view(4)
    unreachable_hosts: Any = {
        "name": "here",
        "answered_at": None,
        "unreachable_since": stamp(NOW + 1),
        "unreachable_why": "no answer in 5 s",
    }
    blind = replace(view, places=[unreachable_hosts], watch={"alive": False})
    assert lines(view, blind, NOW + 2) == [
        "20:00:02  no watcher is running - last confirmed 4s ago",
        "20:00:02  !! here is unreachable since 20:00 (1s): no answer in 5 s",
    ]
    assert lines(blind, blind, NOW + 3) == []
    assert lines(blind, view, NOW + 4) == ["20:00:04  a watcher is running again"]


def test_an_unreachable_host_is_told_beside_the_job_once():
    """Since when, and how old what is known of the job is."""
    view = sample.view(4)
    outage: Any = {"since": stamp(NOW), "why": "no answer", "last_confirmed_at": stamp(NOW - 60)}
    lost = replace(view, jobs=[{**view.jobs[0], "unreachable": outage}])
    name = view.jobs[0]["name"]
    assert lines(view, lost, NOW + 2) == [
        f"20:00:02  !! {name}: unreachable since 20:00; last confirmed 62 s ago",
    ]
    assert lines(lost, lost, NOW + 3) == []
    assert "unreachable since 20:00; last confirmed 62 s ago" in lines(None, lost, NOW + 2)[-2]


def test_the_end_is_told_in_full_and_once():
    """When a job ends its summary follows, and never again."""
    view = sample.view(4)
    over = replace(view, jobs=[sample.ended()])
    told = lines(view, over, NOW)
    assert told[0] == "20:00:00  train-7b-sft (here/process:7f3a91): succeeded after 2h 33m"
    assert told[-1] == "20:00:00    workers      all 4 ended with exit code 0"
    assert lines(over, over, NOW + 1) == []


def test_several_jobs_are_named_in_every_line():
    """A line that could be about either job says which."""
    first, second = sample.job(4, name="one", ref="r1"), sample.job(4, name="two", ref="r2")
    view = sample.view(jobs=[first, second], events=[sample.event(1, NOW, "hello", ref="r2")])
    told = lines(None, view, NOW)
    assert told[0] == "20:00:00  two: hello"
    assert any(line.startswith("20:00:00  one: 62.3 %") for line in told)


def test_hostile_text_is_one_harmless_line_each():
    """No control character, line end or bidi mark survives, and every line keeps its time in front."""
    view = sample.hostile()
    told = lines(None, view, NOW) + lines(
        view, replace(view, jobs=[{**view.jobs[0], "state": "ended", "outcome": "failed"}]), NOW
    )
    assert len(told) > 8
    for line in told:
        assert re.match(r"\d\d:\d\d:\d\d  ", line)
        assert line.isprintable()
        assert len(line) < 900


def test_plain_lines_need_no_rich():
    """A program without a terminal does not pay for one."""
    code = "import sys; sys.path[:0] = ['src']; import dogwatch.tui.lines; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
