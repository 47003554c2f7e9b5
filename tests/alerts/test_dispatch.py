"""The dispatcher with a real store and a real receiver, while a test moves the clock."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogwatch.api import alerts as desk
from dogwatch.api import commands
from dogwatch.channels.interface import Receipt
from dogwatch.model import Finding, Level, Notification
from dogwatch.settings import Channel, Settings
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import deliveries, notifications
from dogwatch.store.rows.channels import MessageRow
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from dogwatch.watcher.alerts.policy import Quiet
from dogwatch.watcher.alerts.senders import Senders
from tests.alerts.conftest import message
from tests.alerts.receiver import Receiver, answer
from tests.alerts.stage import NOON, Stage, decisions, gone
from tests.conftest import needs_root
from tests.store.sample import fill_up, mounted
from tests.support import wait_until

DAY = 86400.0


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with open_store(str(home)) as opened:
        yield opened
        assert opened.check() == []


@pytest.fixture
def stage(store: Store, receiver: Receiver, tmp_path: Path) -> Stage:
    made = Stage(store, tmp_path)
    made.hook("hook", receiver.url)
    return made


def once(receiver: Receiver, names: set[str]) -> None:
    """Every name arrived, none in two messages, and none of the messages twice."""
    assert Counter(receiver.names()) == Counter(names)


def test_a_thousand_jobs_that_fail_within_a_minute_are_one_message(stage: Stage, receiver: Receiver) -> None:
    """With all their names."""
    refs = [stage.job(f"job{n}") for n in range(1000)]
    for n in range(0, 1000, 100):
        stage.find(*(gone(ref) for ref in refs[n : n + 100]))
        stage.beat()
        stage.clock.pass_(4.0)
    stage.go(120)
    assert len(receiver.got) == 1
    once(receiver, {f"job{n}" for n in range(1000)})


def test_a_receiver_that_is_down_for_a_day_gets_everything_afterwards_in_order(
    stage: Stage, receiver: Receiver
) -> None:
    """Its port closed, or 503: it is not asked all the time meanwhile, no restart forgets anything, what is said of
    one job comes in its order, and another channel is not held back."""
    other = Receiver()
    stage.hook("other", other.url)
    receiver.close()
    for n in range(24):
        stage.say([f"hour{n}"])
        stage.clock.pass_(1)
        notifications.queue_all(stage.store, [_step(n, stage.clock.now())], stage.clock.now())
        stage.go(3600, 60)
        if n == 11:
            receiver = Receiver(port=receiver.port)
            receiver.always = answer(503, b"down")
        if n % 5 == 0:
            stage.restart()
    wanted = Counter({f"hour{n}": 1 for n in range(24)}) + Counter({"job": 24})
    assert Counter(other.names()) == wanted
    assert 5 < len(receiver.got) < 12 * 60
    receiver.always = answer(200, b"ok")
    receiver.got.clear()
    stage.go(2 * 3600, 60)
    assert Counter(receiver.names()) == wanted
    texts = [one["text"] for got in receiver.got for one in got.json["jobs"] if one["name"] == "job"]
    assert texts == [f"step {n}" for n in range(24)]
    for one in (other, receiver):
        one.close()


def _step(n: int, at: float) -> Notification:
    return Notification(f"{n:032d}", "job", Level.CRITICAL, f"step {n}", "worker_gone", str(n), at)


def test_what_a_receiver_asks_for_is_kept_however_long(stage: Stage, receiver: Receiver) -> None:
    """Retry-After of five hours means no try for five hours."""
    receiver.script = [answer(429, b"", Retry_After=str(5 * 3600))]
    stage.say(["a"])
    stage.go(4 * 3600, 300)
    assert len(receiver.got) == 1
    stage.go(2 * 3600, 300)
    assert len(receiver.got) == 2


@pytest.mark.parametrize("shift", [DAY, -DAY, 9 * 365 * DAY, -9 * 365 * DAY])
@pytest.mark.parametrize("restart", [False, True])
def test_a_clock_that_is_set_loses_nothing_and_repeats_nothing(
    stage: Stage, receiver: Receiver, shift: float, restart: bool
) -> None:
    """At every stage of an alert's way: written, waiting, tried; and then set right again."""
    stage.say(["tried"])
    receiver.script = [answer(503, b"busy")]
    stage.go(20)
    stage.say(["waiting"])
    stage.beat()
    stage.say(["written"])
    for turn in (shift, -shift):
        stage.clock.wall += turn
        if restart:
            stage.restart()
        stage.say([f"at{turn > 0}"])
        stage.go(200)
    assert receiver.got.pop(0).key in {got.key for got in receiver.got}
    once(receiver, {"tried", "waiting", "written", "atTrue", "atFalse"})
    assert deliveries.channel_messages(stage.store, channel_rows.DEAD) == []


def test_a_clock_that_leaps_a_year_gives_nothing_up(stage: Stage, receiver: Receiver) -> None:
    """A week is a week of trying."""
    receiver.always = answer(503, b"busy")
    stage.say(["a"])
    stage.go(20)
    stage.clock.wall += 365 * DAY
    stage.go(60)
    receiver.always = answer(200, b"ok")
    stage.go(300)
    assert not any(deliveries.pending(stage.store))


def test_what_nobody_takes_for_a_week_is_given_up_and_can_be_asked_for(stage: Stage, receiver: Receiver) -> None:
    """It is shown, and `retry` sends it after all."""
    receiver.always = answer(503, b"busy")
    stage.say(["a"])
    stage.go(8 * DAY, 1800)
    (dead,) = deliveries.channel_messages(stage.store, channel_rows.DEAD)
    assert "gave up after a week" in dead.detail
    receiver.always = answer(200, b"ok")
    assert desk.retry(stage.store, stage.clock) == 1
    stage.go(30)
    assert deliveries.channel_messages(stage.store, channel_rows.SENT)[0].key == dead.key


def test_flapping_is_one_notice_and_a_final_word(stage: Stage, receiver: Receiver) -> None:
    """Five times it is said, then that it flaps, then nothing until it has rested; also a second time that day."""
    ref = stage.job("flappy")
    for _ in range(2):
        receiver.got.clear()
        for _ in range(12):
            stage.find(gone(ref))
            stage.go(120, 20)
            stage.resolve(gone(ref))
            stage.go(120, 20)
        stage.go(3 * 3600, 60)
        texts = [job["text"] for got in receiver.got for job in got.json["jobs"]]
        assert texts.count("the worker is gone") == 5
        assert [text for text in texts if "is flapping" in text] == [
            "worker_gone is flapping: 6 times within an hour; muted until it is stable"
        ]
        assert texts[-1] == "worker_gone is stable again: it is resolved"


def test_what_stands_after_flapping_is_said_and_its_end_too(stage: Stage, receiver: Receiver) -> None:
    """Also on a channel that takes only what is critical, and when many openings are routed at once."""
    ref = stage.job("flappy")
    pager = Receiver()
    stage.hook("pager", pager.url, levels=["critical"])
    for _ in range(8):
        stage.find(gone(ref))
        stage.clock.pass_(1)
        stage.resolve(gone(ref))
        stage.clock.pass_(1)
    stage.find(gone(ref))
    stage.go(3000, 60)
    for got in (receiver, pager):
        texts = [job["text"] for one in got.got for job in one.json["jobs"]]
        assert sum("is flapping" in text for text in texts) == 1
        assert texts[-1] == "worker_gone is stable again: still open: the worker is gone"
    stage.resolve(gone(ref))
    stage.go(120)
    assert receiver.got[-1].json["jobs"][-1]["text"] == "resolved: the worker is gone"
    assert pager.got[-1].json["jobs"][-1]["resolved"] is True
    pager.close()


def test_a_dark_place_is_one_message_and_its_jobs_wait(stage: Stage, receiver: Receiver) -> None:
    """After its return only what is still true is said."""
    refs = [stage.job(f"far{n}", "lab") for n in range(3)]
    unreachable = Finding("place:lab", "host_unreachable", Level.WARNING, "lab does not answer")
    stage.find(unreachable)
    stage.find(*(gone(ref) for ref in refs))
    stage.go(600)
    (only,) = receiver.got
    assert [job["rule"] for job in only.json["jobs"]] == ["host_unreachable"]
    stage.resolve(gone(refs[0]))
    stage.resolve(unreachable)
    stage.go(120)
    assert Counter(receiver.names()) == Counter({"place:lab": 2, "far1": 1, "far2": 1})
    assert ("dropped", "it was over before it could be sent") in decisions(stage.store, refs[0])


def test_a_channel_of_some_jobs_hears_that_their_place_is_dark(stage: Stage, receiver: Receiver) -> None:
    """And that it answers again; one whose jobs are elsewhere hears of neither."""
    stage.job("llama-7b", "lab")
    bert = stage.job("bert", "lab")
    stage.job("llama-13b", "elsewhere")
    mine, theirs = Receiver(), Receiver()
    stage.hook("mine", mine.url, jobs=["bert*"])
    stage.hook("theirs", theirs.url, jobs=["gpt-*"])
    unreachable = Finding("place:lab", "host_unreachable", Level.WARNING, "lab does not answer")
    stage.find(unreachable)
    stage.go(120)
    commands.forget(stage.store, stage.clock, bert)  # what was said to have begun is said to have ended, come what may
    stage.resolve(unreachable)
    stage.go(120)
    for heard in (receiver, mine):
        assert [(job["rule"], job["resolved"]) for got in heard.got for job in got.json["jobs"]] == [
            ("host_unreachable", False),
            ("host_unreachable", True),
        ]
    assert theirs.got == []
    assert ("muted", "this channel only takes jobs like gpt-*") in decisions(stage.store, "place:lab")
    for one in (mine, theirs):
        one.close()


def test_quiet_hours_end_with_one_message_of_what_is_still_true(
    store: Store, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is critical goes out at once; what happened, such as an ending, is not dropped."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    stage = Stage(store, tmp_path, Quiet(7 * 60, 10 * 60))
    stage.hook("hook", receiver.url)
    refs = [stage.job(f"job{n}") for n in range(4)]
    stage.find(gone(refs[0]), *(gone(ref, Level.WARNING) for ref in refs[1:]))
    stage.go(3600, 60)
    assert receiver.names() == ["job0"]
    stage.resolve(gone(refs[1], Level.WARNING))
    stage.restart()
    stage.go(2 * 3600, 60)
    once(receiver, {"job0", "job2", "job3"})
    assert len(receiver.got) == 2


def test_a_reminder_comes_when_it_is_due_and_not_by_a_restart(stage: Stage, receiver: Receiver) -> None:
    """Every four hours while it stands; an acknowledgement ends that, until it begins anew."""
    ref = stage.job("stuck")
    stage.find(gone(ref))
    for _ in range(18):
        stage.go(1800, 60)
        stage.restart()
    texts = [job["text"] for got in receiver.got for job in got.json["jobs"]]
    assert texts == ["the worker is gone", "still: the worker is gone", "still: the worker is gone"]
    first = desk.ack(stage.store, stage.clock, ref, None, "")
    assert desk.ack(stage.store, stage.clock, ref, None, "again") == first
    assert [one["acknowledged"] for one in desk.overview(stage.store, stage.clock.now())["open"]] == [True]
    stage.go(DAY, 600)
    assert len(receiver.got) == 3
    stage.resolve(gone(ref))
    stage.go(120)
    assert receiver.got[-1].json["jobs"][0]["resolved"]
    stage.find(gone(ref))
    stage.go(120)
    assert receiver.got[-1].json["jobs"][0]["text"] == "the worker is gone"


def test_frequent_reminders_are_no_flapping(store: Store, receiver: Receiver, tmp_path: Path) -> None:
    """Every five minutes if somebody wants it so."""
    stage = Stage(store, tmp_path, repeat=300.0)
    stage.hook("hook", receiver.url)
    stage.find(gone(stage.job("stuck")))
    stage.go(3600, 30)
    assert len(receiver.got) >= 11
    assert not any("flapping" in reason for _, reason in decisions(store))


def test_a_resolution_is_said_only_where_the_opening_was(stage: Stage, receiver: Receiver) -> None:
    """A channel that came later does not hear of the end of what it never heard of."""
    ref = stage.job("a")
    stage.find(gone(ref))
    stage.go(60)
    late = Receiver()
    stage.hook("late", late.url)
    stage.resolve(gone(ref))
    stage.go(120)
    assert [job["resolved"] for got in receiver.got for job in got.json["jobs"]] == [False, True]
    assert late.got == []
    late.close()


def test_messages_of_one_channel_keep_their_distance_also_after_restarts(stage: Stage, receiver: Receiver) -> None:
    """Of criticals three a minute at the most, whoever composes them."""
    for n in range(60):
        stage.say([f"n{n}"])
        stage.restart()
        stage.go(5)
    stage.go(120)
    once(receiver, {f"n{n}" for n in range(60)})
    assert len(receiver.got) <= 3 * 7


def test_a_changed_channel_of_the_config_file_loses_nothing(stage: Stage, receiver: Receiver) -> None:
    """What waited for it goes the new way; a channel that is taken out says that it was."""
    new = Receiver()
    for name, url in (("old", receiver.url), ("new", new.url)):
        (stage.folder / f"{name}.ref").touch(mode=0o600)
        (stage.folder / f"{name}.ref").write_text(url)
    config = [Settings(channels=(_hook(stage.folder / f"{name}.ref"),)) for name in ("old", "new")]
    channel_rows.remove_channel(stage.store, "hook", NOON)
    desk.adopt(stage.store, config[0], stage.clock.now())
    receiver.always = answer(503)
    stage.say(["tried"])
    stage.go(20)
    stage.say(["waiting"])
    stage.beat()
    stage.say(["written"])
    desk.adopt(stage.store, config[1], stage.clock.now())
    stage.go(200)
    once(new, {"tried", "waiting", "written"})
    stage.say(["late"])
    stage.beat()
    desk.adopt(stage.store, Settings(), stage.clock.now())
    stage.go(60)
    assert decisions(stage.store)[-1] == ("dropped", "the channel was removed")
    assert not any(deliveries.pending(stage.store))
    new.close()


def _hook(path: Path) -> Channel:
    return Channel("ops", "webhook", {"url": f"file:{path}"}, {})


def test_a_channel_removed_while_it_sends_leaves_nothing_open(stage: Stage, receiver: Receiver) -> None:
    """Neither a message nor a delivery, and a new channel of that name starts afresh."""
    receiver.always = answer(503)
    stage.say(["a"])
    stage.go(10)
    stage.dispatch.step()
    channel_rows.remove_channel(stage.store, "hook", stage.clock.now())
    stage.say(["nobody"])
    stage.go(20)
    receiver.always = answer(200, b"ok")
    receiver.got.clear()
    stage.hook("hook", receiver.url)
    stage.say(["b"])
    stage.go(120)
    once(receiver, {"b"})


def test_ten_thousand_dead_letters_cost_an_idle_step_nothing(stage: Stage, receiver: Receiver) -> None:
    """It reads three numbers, however much lies there."""
    receiver.always = answer(404)
    stage.say(["a"])
    stage.go(20)
    with stage.store.writing() as tx:
        (row,) = tx.rows(MessageRow, "WHERE channel = 'hook'")
        for n in range(10_000):
            tx.add(row.replaced({"token": f"t{n}"}))
    stage.go(100)
    asked: list[str] = []
    stage.store.db.set_trace_callback(asked.append)
    stage.dispatch.step()
    stage.store.db.set_trace_callback(None)
    assert [sql.split()[0] for sql in asked] == ["BEGIN", "SELECT", "ROLLBACK"]
    (plan,) = stage.store.db.execute("EXPLAIN QUERY PLAN SELECT key FROM messages WHERE state = 'open'").fetchall()
    assert "messages_open" in plan[3]


@needs_root
def test_a_full_disk_stops_no_alert_at_any_stage_of_its_way(receiver: Receiver, tmp_path: Path) -> None:
    """Written, waiting or composed: all leave, once, with one alert about the store (`watch`), and it is written down
    when there is room."""
    with mounted(tmp_path / "small", "size=6m") as home, open_store(str(home)) as store:
        stage = Stage(store, tmp_path)
        stage.hook("hook", receiver.url)
        receiver.always = answer(503)
        stage.say(["composed"])
        stage.go(20)
        stage.say(["waiting"])
        stage.beat()
        stage.say(["written", "written too"])
        receiver.always = answer(200, b"ok")
        receiver.got.clear()
        fill_up(home)
        stage.go(300)
        once(receiver, {"composed", "waiting", "written", "written too", "watch"})
        assert stage.trouble is not None
        (home / "ballast").unlink()
        stage.trouble = None
        stage.go(60)
        assert stage.trouble is None
        assert not any(deliveries.pending(store))
        assert {one.state for one in deliveries.channel_messages(store, channel_rows.SENT)} == {"sent"}
        stage.restart()
        stage.go(60)
        once(receiver, {"composed", "waiting", "written", "written too", "watch"})
        assert store.check() == []


def test_each_time_that_the_store_takes_no_writes_is_said_once(stage: Stage, receiver: Receiver) -> None:
    """By the alert from memory or by the finding that is written later, not by both; also while another channel is
    down and keeps the outbox from ever being empty."""
    stage.hook("down", "http://127.0.0.1:9/")
    full = Finding("watch", "store_full", Level.CRITICAL, "There is no room")
    for episode in (1, 2):
        stage.dispatch.refusal = "There is no room"
        stage.go(20)
        stage.dispatch.refusal = ""
        stage.find(full)
        stage.go(70)
        stage.resolve(full)
        stage.go(70)
        assert [got.json["level"] for got in receiver.got] == ["critical", "info"] * episode
    stage.find(full)
    stage.go(70)
    assert [got.json["level"] for got in receiver.got] == [*["critical", "info"] * 2, "critical"]


class Sleeper:
    """A channel that hangs, or ends its thread."""

    kind = "sleeper"

    def deliver(self, told: object) -> Receipt:
        raise SystemExit(3)


def test_a_channel_that_ends_its_thread_is_only_a_failed_try() -> None:
    """Somebody else's code may do anything."""
    senders = Senders()
    senders.send("x", Sleeper, 1, message())
    senders.wait(5)
    (sent,) = senders.back()
    assert (sent.receipt.ok, sent.receipt.detail) == (False, "the channel failed: SystemExit")
    assert not senders.busy("x")


def test_a_secret_that_a_job_printed_or_is_called_by_goes_nowhere(stage: Stage, receiver: Receiver) -> None:
    """Neither into the store's notifications nor into a message."""
    token = "ghp_" + "a1B2" * 9
    ref = stage.job(f"train-{token}")
    stage.find(Finding(ref, "worker_gone", Level.CRITICAL, f"login with {token} failed", "0"))
    stage.go(20)
    assert token not in receiver.got[0].body.decode()
    with stage.store.reading() as tx:
        assert token not in str(tx.query("SELECT text FROM notifications"))


def test_what_a_server_repeats_of_our_url_is_not_kept(stage: Stage, receiver: Receiver) -> None:
    """Many an error page quotes the address that was asked for."""
    receiver.always = answer(404, b"The requested URL /hook/secret-token was not found on this server.")
    stage.say(["a"])
    stage.go(20)
    (dead,) = deliveries.channel_messages(stage.store, channel_rows.DEAD)
    assert "not found on this server" in dead.detail
    assert "secret-token" not in dead.detail


def test_adding_a_channel_whose_name_is_taken_leaves_the_other_its_secret(stage: Stage, receiver: Receiver) -> None:
    """And removing one removes its secret."""
    other = Receiver()
    desk.add(stage.store, stage.clock, "webhook", {"url": other.url}, {}, "mine")
    with pytest.raises(Exception, match="already"):
        desk.add(stage.store, stage.clock, "webhook", {"url": "http://127.0.0.1:9/x"}, {}, "mine")
    stage.say(["a"])
    stage.go(20)
    once(other, {"a"})
    desk.remove(stage.store, stage.clock, "mine")
    assert list(Path(stage.store.location.path("secrets")).iterdir()) == []
    other.close()


def test_what_was_sent_from_memory_is_not_sent_again_though_its_channel_is_busy(
    stage: Stage, receiver: Receiver
) -> None:
    """The alert about the store is recorded as sent in the step that writes it, whoever else is being told."""

    def slowly(handler: Any) -> None:
        receiver.release.wait(20)
        answer(200, b"ok")(handler)

    full = Finding("watch", "store_full", Level.CRITICAL, "There is no room")
    stage.dispatch.refusal = "There is no room"
    stage.go(20)
    receiver.script = [slowly]
    stage.find(gone(stage.job("bad")))
    stage.clock.pass_(70)
    stage.dispatch.step()
    wait_until(lambda: len(receiver.got) == 2)
    stage.dispatch.refusal = ""
    stage.find(full)
    stage.dispatch.step()
    receiver.release.set()
    stage.go(120)
    once(receiver, {"watch", "bad"})
