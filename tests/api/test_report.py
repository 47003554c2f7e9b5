"""A report says what the store knows of a job, from the first attempt to what it cost."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dogwatch.api import report
from dogwatch.clock import stamp
from dogwatch.model import Ended, Evidence, Known, Outcome, Running
from dogwatch.store.rows import tick
from dogwatch.store.rows.registration import forget, register
from dogwatch.store.sqlite.location import open_store
from dogwatch.tui import page
from dogwatch.tui import report as text
from tests.store.sample import NOW, job

REF = "here/process:1"
HOSTILE = "\x1b[2J<img src=x onerror=alert(1)>\n</title><script>alert('1')</script>\u202e&amp;"


class Story:
    """A job's life, told to a real store event by event."""

    def __init__(self, home: Path, name: str = "train", **more: Any) -> None:
        self.store = open_store(str(home))
        register(self.store, job(name=name, **more), NOW - 60, 1.0)

    def at(self, seconds: float, *events: tick.Event, **more: Any) -> Story:
        tick.commit(self.store, tick.Tick(NOW + seconds, seconds, events=events, **more))
        return self

    def runs(self, seconds: float, attempt: int = 1, **more: Any) -> Story:
        at = NOW + seconds
        known = Known(Running(at, "here"), at, "R", "", f"a{attempt}", attempt, at, (Evidence("probe", "running", at),))
        return self._moved(seconds, known, "running", attempt, started=at, **more)

    def ends(self, seconds: float, outcome: Outcome = Outcome.SUCCEEDED, attempt: int = 1, **more: Any) -> Story:
        at, code = NOW + seconds, int(outcome is not Outcome.SUCCEEDED)
        known = Known(
            Ended(outcome, code, None, at), at, f"exit {code}", more.pop("reason", ""), f"a{attempt}", attempt
        )
        return self._moved(seconds, known, "ended", attempt, outcome=outcome.value, **more)

    def _moved(self, seconds: float, known: Known, after: str, attempt: int, **more: Any) -> Story:
        body: Any = {"after": after, "attempt": attempt, "outcome": more.pop("outcome", None)}
        kind = "job.state" if attempt == 1 or after == "ended" else "job.attempt"
        event = tick.Event(kind, f"→ {after}", ref=REF, body=body)
        started = more.pop("started", NOW)
        return self.at(seconds, event, jobs=(tick.JobUpdate(REF, known, started=started, **more),))

    def told(self, seconds: float = 0.0, price: float | None = None) -> Any:
        return report.document(self.store, REF, NOW + seconds, price)


def finding(seconds: float, kind: str = "finding.opened", rule: str = "stalled", text: str = "it stands still") -> Any:
    return tick.Event(kind, text, ref=REF, level="critical", body={"rule": rule, "what": ""})


def test_the_time_of_a_job_with_one_attempt(home: Path) -> None:
    """From its start to its end by the place's own record, with what it waited before."""
    told = Story(home, submitted=NOW - 600).runs(0).ends(7200).told(9000)
    assert told["time"] == {
        "submitted": stamp(NOW - 600),
        "began": stamp(NOW),
        "ended": stamp(NOW + 7200),
        "confirmed_at": None,
        "waited_seconds": 600.0,
        "total_seconds": 7200.0,
        "running_seconds": 7200.0,
        "watched_seconds": None,
        "attempts": 1,
    }
    assert told["so_far"] is False


def test_restarts_are_attempts_and_the_pause_between_them_is_not_running_time(home: Path) -> None:
    """The whole takes from the first start to the last end."""
    story = Story(home).runs(0).ends(100, Outcome.PREEMPTED).runs(500, attempt=2).ends(800, attempt=2)
    told = story.told(900)
    assert [(one["attempt"], one["seconds"], one["outcome"]) for one in told["attempts"]] == [
        (1, 100.0, "preempted"),
        (2, 300.0, "succeeded"),
    ]
    assert (told["time"]["total_seconds"], told["time"]["running_seconds"]) == (800.0, 400.0)
    assert [one["rule"] for one in told["incidents"]] == ["restart"]


def test_a_running_job_is_told_so_far_as_it_was_last_proved(home: Path) -> None:
    """Not until now: what happened since nobody knows."""
    told = Story(home).runs(0).told(5000)
    assert (told["so_far"], told["time"]["ended"], told["time"]["total_seconds"]) == (True, None, 0.0)
    assert "so far" in "\n".join(text.lines(told, NOW + 5000))


def test_incidents_have_their_end_and_one_that_stands_has_none(home: Path) -> None:
    """The same finding twice is two incidents."""
    story = Story(home).runs(0)
    for seconds, kind in [(10, "opened"), (40, "resolved"), (90, "opened")]:
        story.at(seconds, finding(seconds, f"finding.{kind}"))
    told = story.ends(100).told(200)
    assert [(one["rule"], one["seconds"]) for one in told["incidents"]] == [("stalled", 30.0), ("stalled", None)]


def test_gaps_count_only_as_far_as_the_job_ran(home: Path) -> None:
    """Of our own watching and of its place; another place is nobody's business here."""
    story = Story(home)
    story.at(50, tick.Event("watch.gap", "no watcher ran", body={"from": stamp(NOW - 500), "to": stamp(NOW + 50)}))
    story.runs(0)
    story.at(60, tick.Event("place.unreachable", "here did not answer", place="here"))
    story.at(61, tick.Event("place.unreachable", "elsewhere", place="elsewhere"))
    story.at(90, tick.Event("place.answered", "here answers again", place="here"))
    story.at(95, tick.Event("place.unreachable", "here did not answer", place="here"))
    told = story.ends(100).told(200)
    assert [(gap["seconds"], gap["text"]) for gap in told["gaps"]] == [
        (50.0, "no watcher ran"),
        (30.0, "here did not answer"),
        (5.0, "here did not answer"),
    ]


SPENT = {
    "watched_seconds": 7000.0,
    "memory_peak_bytes": 5,
    "gpu_memory_peak_bytes": 9,
    "gpus": 4,
    "gpu_tenths_seconds": [100.0, *[0.0] * 8, 300.0],
    "gpu_idle_seconds": 80.0,
    "gpu_busy_seconds": 290.0,
    "energy_joules": 7.2e6,
    "energy_seconds": 3600.0,
}


def test_gpus_energy_and_cost(home: Path) -> None:
    """Two hours on four GPUs at 2.50 are 20; the distribution adds up to one."""
    told = Story(home).runs(0).ends(7200, detail={"spent": SPENT}).told(9000, price=2.5)
    assert told["gpus"] == {
        "count": 4,
        "seconds": 400.0,
        "used_mean": 0.725,
        "tenths": [0.25, *[0.0] * 8, 0.75],
        "idle_seconds": 80.0,
        "idle_fraction": 0.2,
        "memory_peak_bytes": 9,
    }
    assert told["energy"] == {"joules": 7.2e6, "seconds": 3600.0}
    assert told["cost"] == {"price_per_gpu_hour": 2.5, "gpu_hours": 8.0, "amount": 20.0}
    shown = "\n".join(text.lines(told, NOW))
    assert "2.00 kWh, measured over 1h" in shown
    assert "20.00: 8.00 GPU hours at 2.5" in shown
    assert told["memory_peak_bytes"] == 5


def test_a_slurm_job_is_told_by_the_accounting(home: Path) -> None:
    """Its figures cover all tasks and the time that nobody watched."""
    used = {"memory_bytes": 77, "gpu_percent": 50.0, "gpu_memory_bytes": 8, "gpus": 2, "gpu_seconds": 14400.0}
    told = Story(home).runs(0).ends(3600, detail={"efficiency": used}).told(9000, price=1.0)
    assert (told["memory_peak_bytes"], told["gpus"]["used_mean"], told["gpus"]["count"]) == (77, 0.5, 2)
    assert told["cost"]["amount"] == 4.0
    assert told["energy"] is None


def test_a_price_without_known_gpus_is_no_cost(home: Path) -> None:
    """Zero would be a lie."""
    told = Story(home).runs(0).ends(3600).told(9000, price=2.5)
    assert told["cost"] == {"price_per_gpu_hour": 2.5, "gpu_hours": None, "amount": None}
    assert "not known" in "\n".join(text.lines(told, NOW))


def test_a_job_that_nobody_looked_at_has_a_report_too(home: Path) -> None:
    """It says that, and nothing else."""
    told = Story(home).told(10)
    assert (told["attempts"], told["items"], told["gpus"], told["readings"]) == ([], None, None, [])
    assert text.lines(told, NOW + 10)[0].startswith("train (here/process:1): not polled yet")
    assert page.page(told, NOW + 10).startswith("<!doctype html>")


def test_a_job_taken_up_anew_is_told_from_then_on(home: Path) -> None:
    """What was said of its ref before belongs to another life of it."""
    story = Story(home).runs(0).ends(100, Outcome.FAILED)
    forget(story.store, REF, NOW + 200, 2.0)
    register(story.store, job(), NOW + 300, 3.0)
    told = story.runs(400).told(500)
    assert [one["began"] for one in told["attempts"]] == [stamp(NOW + 400)]


def test_too_few_items_are_not_called_success(home: Path) -> None:
    """The headline says so before anything else does."""
    progress = {"step": 97200, "total": 100000, "unit": "items", "fraction": 0.972, "rate": None, "rate_average": 3.0}
    verified = {"ok": False, "text": "only 97,200 of 100,000 items by its logs"}
    detail = {"verified": verified, "checks": [{"what": "items", "word": "failed", "text": verified["text"]}]}
    ended = Story(home).runs(0).ends(100, Outcome.INCOMPLETE, progress={**progress, "at": NOW}, detail=detail)
    told = ended.told(200)
    shown = text.lines(told, NOW)
    assert shown[0].endswith(": incomplete after 1m 40s")
    assert any("NOT VERIFIED failed: only 97,200 of 100,000" in line for line in shown)
    assert "incomplete after" in page.page(told, NOW)


class Page(HTMLParser):
    """What a browser would make of a page, as far as it could do harm."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile_story(home: Path) -> Story:
    diagnosis = {
        "cause": "code_error",
        "title": HOSTILE,
        "confidence": 0.9,
        "evidence": [{"file": HOSTILE, "line": 1, "text": HOSTILE}],
        "advice": [HOSTILE],
    }
    detail = {
        "spent": SPENT,
        "verified": {"ok": False, "text": HOSTILE},
        "checks": [{"what": "items", "word": "failed", "text": HOSTILE}],
        "checkpoints": {"count": 2, "newest": HOSTILE, "newest_at": NOW, "interval_seconds": 9.0, "next_at": NOW},
        "scores": [{"task": HOSTILE, "metric": HOSTILE, "value": 1.0, "stderr": None}],
        "workers": [{"index": 0, "gpu": HOSTILE}],
    }
    progress = {"step": 3, "total": 10, "unit": HOSTILE, "fraction": 0.3, "rate": 1.0, "rate_average": 1.0, "at": NOW}
    story = Story(home, name="x").runs(0)
    for seconds in range(0, 100, 10):
        body = {"step": seconds, "rate": 1.0, "rss": 5, "gpu_used": 0.5, "gpu_memory": 3, "watts": 9, "output_bytes": 1}
        story.at(seconds, readings=(tick.Reading(REF, body),))
    story.at(50, finding(50, text=HOSTILE))
    return story.ends(100, Outcome.FAILED, reason=HOSTILE, progress=progress, diagnosis=diagnosis, detail=detail)


def test_a_page_has_no_script_no_request_and_only_our_own_markup(home: Path) -> None:
    """Whatever a job calls itself, prints or writes."""
    told = hostile_story(home).told(200, price=1.0)
    told |= {"name": HOSTILE, "ref": HOSTILE, "bundle": HOSTILE}
    whole = page.page(told, NOW + 200)
    found = Page()
    found.feed(whole)
    assert found.tags <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "span", "dl", "div", "dt", "dd", "ul"),
        *("li", "pre", "figure", "figcaption", "table", "tr", "th", "td"),
        *("svg", "text", "line", "polyline", "polygon", "rect", "circle"),
    }
    assert not {name for name in found.attributes if name.startswith("on") or name in ("src", "href", "action")}
    assert "url(" not in whole
    assert "\x1b" not in whole
    assert "\u202e" not in whole
    assert whole.count("<svg") == 8
    assert "default-src 'none'" in whole


def test_the_text_fits_eighty_columns(home: Path) -> None:
    """Every line of it but the path of a bundle, which is copied whole; hostile text becomes harmless."""
    told = hostile_story(home).told(200, price=1.0)
    told |= {"name": "n" * 300, "reason": "r" * 900}
    shown = text.lines(told, NOW + 200)
    assert max(map(len, shown)) <= 80
    assert all(line.isprintable() for line in shown)


def test_secrets_in_a_report_are_redacted(home: Path) -> None:
    """It is made to be passed on: also a name, which may be a command line, and a description."""
    secret = "hf_" + "a" * 30
    story = (
        Story(home, f"python t.py --token {secret}", description=f"with {secret}")
        .runs(0)
        .at(10, finding(10, text=f"token={secret}"))
        .ends(20, Outcome.FAILED, reason=f"bad {secret}")
    )
    assert secret not in str(story.told(30))


@pytest.mark.parametrize("given", [{}, {"watched_seconds": 5.0}])
def test_what_an_older_release_wrote_is_told_as_far_as_it_goes(home: Path, given: dict[str, Any]) -> None:
    """Keys that it did not know are not known."""
    told = Story(home).runs(0).ends(10, detail={"spent": given, "efficiency": {"memory_bytes": 3}}).told(20)
    assert (told["memory_peak_bytes"], told["gpus"], told["energy"]) == (3, None, None)


def test_a_store_of_thousands_of_events_is_reported_from_its_own_part(home: Path) -> None:
    """Events of other jobs are not told here."""
    story = Story(home).runs(0)
    register(story.store, job(2), NOW, 1.0)
    story.at(5, *(tick.Event("finding.opened", "of another", ref="here/process:2") for _ in range(2000)))
    assert story.ends(10).told(20)["incidents"] == []
