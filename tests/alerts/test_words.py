"""What a person types: `dogwatch alerts` by hand, what it does and what it says about what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dogwatch.api import alerts as desk
from dogwatch.assemble import channel
from dogwatch.clock import Clock
from dogwatch.settings import Settings
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.sqlite.location import open_store
from tests.alerts.conftest import message
from tests.alerts.receiver import Receiver


@pytest.fixture(autouse=True)
def no_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration file of anybody's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def channels(dogwatch) -> dict[str, dict]:
    return {row["name"]: row for row in json.loads(dogwatch("alerts", "ls", "--json").stdout)["channels"]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("add", "webhook", "ftp://x"), "begins with https://"),
        (("add", "webhook"), "takes one URL"),
        (("add", "webhook", "http://x/", "http://y/"), "takes one URL"),
        (("add", "desktop", "now"), "takes nothing more"),
        (("add", "carrier-pigeon"), "choose apprise"),
        (("add", "pigeon-post://coop"), "Apprise knows no pigeon-post: URLs"),
        (("add", "slack://hunter2"), "knows slack: URLs, but cannot use this one"),
        (("add", "--slack", "https://hooks.example/x y"), "no spaces"),
        (("add", "--email", "nobody"), "one e-mail address"),
        (("add", "--email", "a@b.example", "--slack", "env:X"), "one channel at a time"),
        (("add", "--command"), "choose apprise"),
        (("add", "webhook", "http://x/", "--secret", "hunter2"), "by reference only"),
        (("add", "slack", "http://x/", "--secret", "env:X"), "does not take a secret"),
        (("add", "webhook", "http://x/", "--levels", "loud"), "there are critical"),
        (("add", "webhook", "http://x/", "--name", "a\nb"), "the channel name 'a\\x0ab' has a newline"),
        (
            ("add", "webhook", "http://x/", "--for", "2h"),
            "unknown option '--for' for `dogwatch alerts add`; it is an option of `dogwatch alerts silence`",
        ),
        (("ls", "--rule", "stalled"), "it is an option of `dogwatch alerts silence` or `dogwatch alerts ack`"),
        (("rm", "nobody"), "no channel named"),
        (("silence", "x"), "--for is missing"),
        (("unsilence", "7"), "no silence #7"),
        (("unsilence", "seven"), "not the number of a silence"),
        (("explain", "-n", "0"), "above zero"),
        (("test",), "no alert channel configured"),
    ],
)
def test_bad_words_get_one_sentence(dogwatch, words, sentence):
    """And exit code 2; what was literal and secret is not repeated."""
    done = dogwatch("alerts", *words)
    assert done.returncode == 2, done.stdout
    assert sentence in done.stderr
    assert "hunter2" not in done.stderr


def test_a_command_keeps_its_own_flags(dogwatch, tmp_path):
    """Whatever stands behind --command is the program's, also what looks like a flag of ours."""
    took = tmp_path / "took"
    done = dogwatch("alerts", "add", "--name", "mine", "--command", "sh", "-c", f'cat > "{took}"', "--json", "-n")
    assert done.returncode == 0, done.stderr
    assert channels(dogwatch)["mine"]["settings"] == {"argv": ["sh", "-c", f'cat > "{took}"', "--json", "-n"]}
    assert dogwatch("alerts", "test", "mine").returncode == 0
    assert json.loads(took.read_text())["jobs"][0]["name"] == "test"


def test_what_is_added_is_what_was_meant(dogwatch, tmp_path):
    """A path counts from where it was said, blanks in a list are nothing, and what may be a slip is noted."""
    done = dogwatch("alerts", "add", "file", "alerts.jsonl", "--levels", "critical, warning", cwd=tmp_path)
    assert channels(dogwatch)["file"]["settings"] == {"path": str(tmp_path / "alerts.jsonl")}
    assert channels(dogwatch)["file"]["route"] == {"levels": ["critical", "warning"]}
    done = dogwatch("alerts", "add", "webhook", "env:NOT_SET_ANYWHERE", "--rules", "stalld", "--jobs", "llama-*")
    assert done.returncode == 0
    assert "env:NOT_SET_ANYWHERE is not set or empty; the watcher needs it" in done.stderr
    assert "no rule named 'stalld'; there are all_ended, " in done.stderr
    done = dogwatch("alerts", "add", "webhook", "http://10.0.0.9/hook", "--rules", "stall*,ended")
    assert (done.stderr.count("\n"), "private network" in done.stderr) == (1, True)


def test_several_channels_are_removed_or_none(dogwatch):
    """A name that is wrong leaves the others as they are; the secrets of those that go are gone."""
    dogwatch("alerts", "add", "webhook", "http://127.0.0.1:9/a")
    dogwatch("alerts", "add", "webhook", "http://127.0.0.1:9/b")
    assert dogwatch("alerts", "rm", "webhook", "webhok-2").returncode == 2
    assert set(channels(dogwatch)) == {"webhook", "webhook-2"}
    files = [Path(row["settings"]["url"].removeprefix("file:")) for row in channels(dogwatch).values()]
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert dogwatch("alerts", "rm", "webhook", "webhook-2", "webhook").returncode == 0
    assert channels(dogwatch) == {}
    assert not any(file.exists() for file in files)


def test_a_silence_is_listed_and_ended_by_its_number(dogwatch):
    """With why and until when."""
    dogwatch("alerts", "silence", "llama-*", "--for", "2h", "--rule", "slow", "--why", "new nodes")
    assert "#1        llama-* (slow) until " in dogwatch("alerts").stdout
    assert "new nodes" in dogwatch("alerts").stdout
    assert dogwatch("alerts", "unsilence", "#1").stdout == "silence #1: ended\n"
    assert "no silences" in dogwatch("alerts").stdout


def test_a_test_reaches_channels_that_take_other_things(dogwatch, receiver: Receiver):
    """`doctor --send` asks whether a channel works, whatever is routed to it or silenced."""
    dogwatch("alerts", "add", "webhook", receiver.url, "--name", "jobs", "--jobs", "llama-*")
    dogwatch("alerts", "add", "webhook", receiver.url, "--name", "progress", "--levels", "progress", "--rules", "none")
    dogwatch("alerts", "silence", "*", "--for", "1h")
    checks = {one["what"]: one for one in json.loads(dogwatch("doctor", "--send", "--json").stdout)["checks"]}
    assert [checks[f"channel {name}"]["verdict"] for name in ("jobs", "progress")] == ["ok", "ok"]
    assert len(receiver.got) == 2


def test_doctor_says_that_nobody_would_hear(dogwatch, receiver: Receiver):
    """Bad when every channel that was tried has failed, and what to do about it."""
    dogwatch("alerts", "add", "webhook", "http://127.0.0.1:9/closed", "--name", "closed")
    before = dogwatch("doctor").stdout
    assert "ok    alerts: go to closed; nothing undelivered" in before
    sent = dogwatch("doctor", "--send")
    assert sent.returncode == 3
    assert "bad   channel closed: 127.0.0.1 could not be reached: Connection refused" in sent.stdout
    assert "bad   alerts: the last alerts were not delivered on any channel (closed)" in dogwatch("doctor").stdout
    dogwatch("alerts", "add", "webhook", receiver.url, "--name", "open")
    assert "ok    channel open: 127.0.0.1 answered 200" in dogwatch("doctor", "--send").stdout
    assert "warn  alerts: 0 given up, 1 undelivered" in dogwatch("doctor").stdout.replace(", 2 un", ", 1 un")


def test_a_slack_url_in_a_job_file_may_not_lead_inside(dogwatch, tmp_path, receiver: Receiver):
    """A job file may be somebody else's; what the owner says on the command line is theirs."""
    file = tmp_path / "job.yaml"
    file.write_text(f"job: {{name: far}}\nalerts: {{slack: {{enabled: true, webhook: '{receiver.url}'}}}}\n")
    done = dogwatch("watch", "--config", str(file), "--pid", "1")
    assert done.returncode == 2, done.stderr
    assert "private network" in done.stderr
    assert "secret-token" not in done.stderr
    assert channels(dogwatch) == {}


def test_a_name_in_a_job_file_that_leads_inside_is_found_out_when_it_is_used(home: Path, receiver: Receiver):
    """Nothing is sent there, for good; the same URL as the owner's own word is used."""
    with open_store(str(home)) as store:
        for outside in (True, False):
            url = "https://hooks.example/x"
            said, in_file = ({}, {"slack": {"url": url}}) if outside else ({"slack": url}, {})
            desk.for_job(store, Clock(), f"far-{outside}", said, in_file)
        for row in channel_rows.channels(store):  # the name's address is another one now
            Path(row.settings["url"].removeprefix("file:")).write_text(receiver.url)
        receipts = {
            row.name: channel(row, Settings(), Clock()).deliver(message()) for row in channel_rows.channels(store)
        }
    assert (receipts["far-True-slack"].ok, receipts["far-True-slack"].permanent) == (False, True)
    assert "private network" in receipts["far-True-slack"].detail
    assert receipts["far-False-slack"].ok
    assert len(receiver.got) == 1
