"""The owner's configuration file (TOML)."""

from __future__ import annotations

from dogwatch.errors import UsageError
from dogwatch.settings import Settings, read
from tests.fuzz.dice import refused_well

LONGEST = 4096


def target(data: bytes) -> None:
    """It means settings, or it is refused with one clean sentence that names the file."""
    try:
        assert isinstance(read(data.decode("utf-8", "replace"), "/c/config.toml"), Settings)
    except UsageError as wrong:
        refused_well(wrong, "/c/config.toml")


def seeds() -> list[bytes]:
    return [
        b"price_per_gpu_hour = 2.5\nbundles = true\n",
        b'[alerts]\nquiet_hours = "22:00-07:00"\nrepeat = "4h"\ndigest = "08:00"\n',
        b'[smtp]\nhost = "mail"\nport = 587\nfrom = "a@b.c"\nuser = "a"\npassword = "env:X"\ntls = "starttls"\n',
        b'[[alerts.channel]]\nkind = "slack"\nurl = "env:HOOK"\nlevels = ["critical"]\nname = "team"\n',
        b'[[alerts.channel]]\nkind = "email"\nto = ["a@b.c"]\n[[alerts.channel]]\nkind = "command"\ncommand = ["x"]\n',
        b'[[alerts.channel]]\nkind = "file"\npath = "/x"\njobs = ["a*"]\n',
        b'[[alerts.channel]]\nkind = "webhook"\nurl = "x"\n',
    ]
