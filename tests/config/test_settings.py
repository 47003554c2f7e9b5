"""The configuration file: every key is checked, and what is wrong is said with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogwatch import settings
from dogwatch.channels.email import Smtp
from dogwatch.errors import UsageError

WHOLE = """
[smtp]
host = "mail.example.org"
port = 587
user = "me"
password = "env:MAIL_PASSWORD"
from = "me@example.org"

[alerts]
quiet_hours = "22:00-07:00"
repeat = "2h"
digest = "08:30"
heartbeat = "file:/etc/dogwatch/beat"
heartbeat_every = "10m"

[[alerts.channel]]
name = "ops"
kind = "webhook"
url = "env:HOOK"
secret = "env:HOOK_SECRET"
levels = ["critical"]
jobs = ["llama*"]

[[alerts.channel]]
kind = "command"
argv = ["/usr/bin/logger", "-t", "dogwatch"]
"""


def load(folder: Path, text: str) -> settings.Settings:
    path = folder / "config.toml"
    path.write_text(text)
    return settings.load(str(path))


def test_a_whole_file_is_read(tmp_path):
    """And a file that is not there leaves every default."""
    found = load(tmp_path, WHOLE)
    assert (found.quiet, found.repeat, found.digest, found.heartbeat_every) == ((1320, 420), 7200.0, 510, 600.0)
    smtp = found.accounts["smtp"]
    assert isinstance(smtp, Smtp)
    assert smtp.password == "env:MAIL_PASSWORD"
    ops, command = found.channels
    assert (ops.name, ops.kind, ops.route) == ("ops", "webhook", {"levels": ["critical"], "jobs": ["llama*"]})
    assert (command.name, command.settings) == ("command", {"argv": ["/usr/bin/logger", "-t", "dogwatch"]})
    assert settings.load(str(tmp_path / "none.toml")) == settings.Settings()


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("x = ", "is not TOML"),
        ("[alert]\n", "alert is not known"),
        ("[alerts]\nquiet = 1\n", "alerts.quiet is not known"),
        ('[alerts]\nquiet_hours = "late"\n', "two times of day"),
        ('[alerts]\ndigest = "25:00"\n', "a time of day"),
        ('[alerts]\nheartbeat = "https://x"\n', "by reference only"),
        ('[smtp]\npassword = "hunter2"\n', "by reference only"),
        ("[smtp]\nport = 0\n", "1 to 65535"),
        ('[smtp]\nhost = "far.example.org"\ntls = "none"\n', "only where the server is this machine"),
        ('[[alerts.channel]]\nkind = "pigeon"\n', "is one of apprise"),
        ('[[alerts.channel]]\nkind = "slack"\n', "url is needed"),
        ('[[alerts.channel]]\nkind = "slack"\nurl = "https://hooks"\n', "by reference only"),
        ('[[alerts.channel]]\nkind = "email"\nto = "a@b@c"\n', "one e-mail address"),
        ('[[alerts.channel]]\nkind = "command"\nargv = "rm -rf"\n', "a list"),
        ('[[alerts.channel]]\nkind = "desktop"\nlevels = ["loud"]\n', "there are critical"),
        (
            '[[alerts.channel]]\nkind = "desktop"\n[[alerts.channel]]\nkind = "desktop"\n',
            "two channels called 'desktop'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, text, wants):
    """With the file; a secret that was written down literally is not repeated."""
    with pytest.raises(UsageError) as told:
        load(tmp_path, text)
    assert wants in str(told.value)
    assert "config.toml" in str(told.value)
    assert "hunter2" not in str(told.value)


def test_the_file_is_never_looked_for_in_the_working_directory():
    """Only an absolute XDG_CONFIG_HOME counts."""
    assert settings.path({"XDG_CONFIG_HOME": "/x"}) == "/x/dogwatch/config.toml"
    assert settings.path({"XDG_CONFIG_HOME": "here"}).startswith("/")
    assert settings.path({}).endswith("/.config/dogwatch/config.toml")
