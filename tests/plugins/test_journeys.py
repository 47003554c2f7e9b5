"""Plug-ins of other packages at work through the real program, and broken ones that cost nobody else anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.alerts.receiver import Receiver
from tests.plugins.conftest import Install
from tests.support import wait_until

ALL = ("dogwatch-pidfile", "dogwatch-pager", "dogwatch-bakery", "dogwatch-untold")
FAILS = ("sh", "-c", "echo loading; exit 3")


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration file of anybody's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def checks(dogwatch, env) -> dict[str, dict[str, str]]:
    return {line["what"]: line for line in json.loads(dogwatch("doctor", "--json", env=env).stdout)["checks"]}


def job(dogwatch, name: str, env) -> dict:
    rows = json.loads(dogwatch("ls", "--all", "--json", "--no-poll", env=env).stdout)["jobs"]
    return next(row for row in rows if row["name"] == name)


def test_a_job_of_the_example_source_is_watched_to_its_end(dogwatch, install: Install, tmp_path: Path) -> None:
    """It runs while its process lives; how it ended nobody knows, and nobody claims."""
    env = install("dogwatch-pidfile")
    service = subprocess.Popen(["sleep", "600"])
    try:
        (tmp_path / "web.pid").write_text(str(service.pid))
        added = dogwatch("add", "pidfile", "web", "--set", "path=web.pid", env=env, cwd=tmp_path)
        assert (added.returncode, added.stdout) == (0, "here/pidfile:web\n"), added.stderr
        assert dogwatch("run", "--detach", "--name", "beside", "--", "sleep", "600", env=env).returncode == 0
        assert dogwatch("patrol", env=env).returncode == 0
        assert [job(dogwatch, name, env)["state"] for name in ("web", "beside")] == ["running", "running"]
    finally:
        service.kill()
        service.wait()
    done = dogwatch("watch", "here/pidfile:web", env=env)
    ended = job(dogwatch, "web", env)
    assert (ended["state"], ended["outcome"]) == ("ended", "unknown"), done.stderr


def test_a_key_that_the_example_source_does_not_have_is_refused(dogwatch, install: Install) -> None:
    """By what its own file says, in one sentence, before anything is watched."""
    env = install("dogwatch-pidfile")
    wrong = dogwatch("add", "pidfile", "web", "--set", "pth=/run/web.pid", env=env)
    assert (wrong.returncode, "pidfile: pth is not known; there are path" in wrong.stderr) == (2, True)
    missing = dogwatch("add", "pidfile", "web", env=env)
    assert (missing.returncode, "pidfile: path is needed" in missing.stderr) == (2, True)


def test_an_alert_goes_out_on_the_example_channel(dogwatch, install: Install, receiver: Receiver) -> None:
    """Its URL is hidden as that of every channel, and its own key reaches the receiver."""
    env = install("dogwatch-pager")
    added = dogwatch("alerts", "add", "pager", receiver.url, "--set", "team=nights", env=env)
    assert added.returncode == 0, added.stderr
    (row,) = json.loads(dogwatch("alerts", "ls", "--json", env=env).stdout)["channels"]
    assert (row["kind"], row["settings"]["team"]) == ("pager", "nights")
    assert row["settings"]["url"].startswith("file:")
    assert dogwatch("run", "--name", "train", "--description", "x", "--", *FAILS, env=env).returncode == 1
    assert [(got.json["team"], "train" in got.json["title"]) for got in receiver.got] == [("nights", True)]
    assert "pager" in dogwatch("alerts", "kinds", env=env).stdout


def test_the_configuration_file_checks_the_keys_of_the_example_channel(
    dogwatch, install: Install, tmp_path: Path, receiver: Receiver
) -> None:
    """As those of every other; a right one is used by whoever watches."""
    env = install("dogwatch-pager") | {"PAGER": receiver.url}
    config = tmp_path / "config" / "dogwatch" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[[alerts.channel]]\nkind = "pager"\nurl = "env:PAGER"\ntaem = "x"\n')
    wrong = checks(dogwatch, env)["configuration"]
    assert (wrong["verdict"], "taem is not known; there are url, team" in wrong["text"]) == ("warn", True)
    config.write_text(config.read_text().replace("taem", "team"))
    assert dogwatch("run", "--name", "train", "--description", "x", "--", *FAILS, env=env).returncode == 1
    assert [got.json["team"] for got in receiver.got] == ["x"]


def test_a_job_file_leads_the_example_channel_nowhere_private(
    dogwatch, install: Install, tmp_path: Path, receiver: Receiver
) -> None:
    """The rule is the interface's, so that a channel need not know it."""
    env = install("dogwatch-pager") | {"PAGER": receiver.url}
    file = tmp_path / "job.yaml"
    file.write_text(f"job: {{name: far}}\nalerts: {{pager: {{webhook: '{receiver.url}'}}}}\n")
    refused = dogwatch("watch", "--config", file, "--pid", "1", env=env)
    assert (refused.returncode, "private network" in refused.stderr) == (2, True)
    file.write_text("job: {name: far}\nalerts: {pager: {webhook: 'env:PAGER'}}\n")
    with subprocess.Popen(["sleep", "1"]) as process:
        dogwatch("watch", "--config", file, "--pid", process.pid, env=env)
    tried = dogwatch("alerts", "test", "far-pager", env=env)
    assert "private network" in tried.stdout
    assert receiver.got == []


def test_a_line_of_the_example_format_is_read(dogwatch, install: Install, tmp_path: Path) -> None:
    """`dogwatch read` names the format and counts as it says; without the package it does not know the format."""
    log = tmp_path / "oven.log"
    log.write_text("warming up\n[bakery] 37 of 100 loaves are out of the oven\n")
    read = json.loads(dogwatch("read", "--json", log, env=install("dogwatch-bakery")).stdout)
    assert (read["format"], read["progress"]["step"], read["progress"]["total"]) == ("bakery", 37, 100)
    assert json.loads(dogwatch("read", "--json", log).stdout)["format"] != "bakery"


def test_the_example_rule_finds_something(dogwatch, install: Install) -> None:
    """A job without a description is warned of, one with a description is not."""
    env = install("dogwatch-untold")
    for name, description in (("bare", ""), ("told", "for the paper")):
        words = ("--description", description) if description else ()
        assert dogwatch("run", "--detach", "--name", name, *words, "--", "sleep", "600", env=env).returncode == 0
    assert dogwatch("patrol", env=env).returncode == 0
    found = json.loads(dogwatch("alerts", "--json", env=env).stdout)["open"]
    assert [(row["name"], row["rule"]) for row in found] == [("bare", "untold")]


def test_doctor_lists_the_plug_ins_of_other_packages(dogwatch, install: Install) -> None:
    """Each with its package; none where none is installed."""
    found = checks(dogwatch, install(*ALL))
    for name in ("pidfile", "pager", "bakery", "untold"):
        assert found[f"plug-in {name}"]["verdict"] == "ok"
    assert [what for what in checks(dogwatch, {}) if what.startswith("plug-in")] == []


@pytest.mark.parametrize("group", ["sources", "channels", "formats", "rules"])
def test_a_plug_in_that_cannot_be_loaded_is_one_sentence(dogwatch, install_text: Install, group: str) -> None:
    """In doctor and as a warning of whoever watches, which goes on."""
    env = install_text("dogwatch-broken", f"dogwatch.{group}", "broken", "import no_such_module\n")
    line = checks(dogwatch, env)["plug-in broken"]
    assert line["verdict"] == "warn"
    assert "dogwatch-broken 0.1" in line["text"]
    assert "could not be loaded: ModuleNotFoundError" in line["text"]
    assert line["remedy"]
    done = dogwatch("run", "--name", "train", "--", "true", env=env)
    assert done.returncode == 0, done.stderr
    idle = dogwatch("daemon", "--once-idle", "--interval", "1", env=env)
    assert (idle.returncode, idle.stderr.count("the plug-in broken (dogwatch.")) == (0, 1), idle.stderr


RAISES = {
    "rules": "from dogwatch.rules.interface import Rule\n\n\ndef judge(case, now):\n    raise KeyError('x')\n\n\n"
    "PLUGIN = Rule('raises', judge=judge)\n",
    "formats": "from dogwatch.logs.interface import Format, FormatPlugin\n\n\n"
    "def read(line):\n    raise KeyError('x')\n\n\n"
    "PLUGIN = FormatPlugin('raises', (Format('raises', (b'step ',), read),))\n",
}


@pytest.mark.parametrize("group", sorted(RAISES))
def test_a_plug_in_that_raises_while_it_is_used_costs_nobody_else(dogwatch, install_text: Install, group: str) -> None:
    """The job is watched to its end, its log is read, and its failure is found."""
    env = install_text("dogwatch-raises", f"dogwatch.{group}", "raises", RAISES[group])
    assert (
        dogwatch("run", "--detach", "--name", "train", "--", "sh", "-c", "echo step 3/9; exit 3", env=env).returncode
        == 0
    )
    idle = dogwatch("daemon", "--once-idle", "--interval", "1", env=env)
    assert idle.returncode == 0, idle.stderr
    ended = job(dogwatch, "train", env)
    assert (ended["outcome"], ended["progress"]["step"]) == ("failed", 3)


SOURCE = """
from dogwatch.sources.interface import SourcePlugin
from dogwatch_pidfile import Config, PidFileSource


class Raises(PidFileSource):
    kind = "raises"

    def read(self, *args):
        raise KeyError("x")


PLUGIN = SourcePlugin("raises", "raises", Raises, Config)
"""


def test_a_source_that_raises_is_blind_to_its_own_jobs_only(
    dogwatch, install: Install, install_text: Install, tmp_path: Path
) -> None:
    """The job beside it is polled as ever; its own is said not to be seen, and why."""
    env = install("dogwatch-pidfile") | install_text("dogwatch-raises", "dogwatch.sources", "raises", SOURCE)
    (tmp_path / "web.pid").write_text("1")
    assert dogwatch("add", "raises", "web", "--set", f"path={tmp_path}/web.pid", env=env).returncode == 0
    assert dogwatch("run", "--detach", "--name", "beside", "--", "sleep", "600", env=env).returncode == 0
    assert dogwatch("patrol", env=env).returncode == 0
    assert job(dogwatch, "beside", env)["state"] == "running"
    (found,) = json.loads(dogwatch("alerts", "--json", env=env).stdout)["open"]
    assert (found["subject"], found["rule"]) == ("here/raises:web", "cannot_see")
    assert "the source raises of dogwatch-raises 0.1 failed: KeyError" in found["text"]


def test_a_job_whose_source_was_uninstalled_is_not_called_ended(dogwatch, install: Install, tmp_path: Path) -> None:
    """It cannot be seen any more, and that is what is said."""
    env = install("dogwatch-pidfile")
    (tmp_path / "web.pid").write_text("1")
    assert dogwatch("add", "pidfile", "web", "--set", f"path={tmp_path}/web.pid", env=env).returncode == 0
    assert dogwatch("patrol", env=env).returncode == 0
    # A place is not polled again within its floor, so a patrol may have to wait for that.
    (found,) = wait_until(lambda: dogwatch("patrol") and json.loads(dogwatch("alerts", "--json").stdout)["open"])
    assert job(dogwatch, "web", {})["state"] == "running"
    assert found["rule"] == "cannot_see"
    assert "the source pidfile of this job is not installed" in found["text"]


def test_a_channel_that_was_uninstalled_keeps_its_alerts(dogwatch, install: Install, receiver: Receiver) -> None:
    """What it was to say waits, with the reason, and goes out when the package is back."""
    env = install("dogwatch-pager")
    assert dogwatch("alerts", "add", "pager", receiver.url, env=env).returncode == 0
    assert dogwatch("run", "--name", "train", "--", *FAILS).returncode == 1
    waiting = json.loads(dogwatch("alerts", "--json").stdout)["undelivered"]
    assert ["the channel pager is not installed" in row["detail"] for row in waiting] == [True]
    assert dogwatch("alerts", "retry", env=env).returncode == 0
    dogwatch("patrol", env=env)
    assert len(receiver.got) == 1


def test_ls_does_not_look_for_plug_ins(environment, dogwatch, install: Install) -> None:
    """Its cold start pays for none of them."""
    env = install(*ALL)
    assert dogwatch("run", "--detach", "--name", "listed", "--", "sleep", "600", env=env).returncode == 0
    listing = [sys.executable, "-X", "importtime", "-m", "dogwatch", "ls", "--no-poll"]
    ran = subprocess.run(listing, env={**environment, **env}, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}
    assert loaded & {"importlib.metadata", "dogwatch.plugins", "dogwatch_pager", "dogwatch_untold"} == set()
