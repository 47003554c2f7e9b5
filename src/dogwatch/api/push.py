"""`--push`: where a machine itself says that its chain is over. An address may be a secret: it is read when it is sent,
goes into a file of 0600 there, and is neither stored here nor printed."""

from __future__ import annotations

import re

from dogwatch import secret
from dogwatch.errors import UsageError
from dogwatch.plugin_config import address, web_url
from dogwatch.wire.chain import Push

WAYS = ("webhook", "ntfy", "mail", "trackio")
_NTFY = re.compile(r"https?://([^/@]*@)?ntfy\.sh/", re.IGNORECASE)
_PROJECT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._ -]{0,99})(?:@([A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}))?")
_HOW = "a URL, or ntfy:URL, mail:ADDRESS, trackio:PROJECT; a URL may be env:NAME or file:PATH"


def push_of(text: str | None) -> Push | None:
    """What a word of the command line means, its secret read."""
    if text is None:
        return None
    way, rest = _split(text)
    match way:
        case "mail":
            return Push(way, to=address(rest, "--push mail:"))
        case "trackio":
            match = _PROJECT.fullmatch(rest)
            if match is None:
                raise UsageError("--push trackio: takes PROJECT or PROJECT@USER/SPACE")
            return Push(way, project=match[1], space=match[2] or "")
    url = _url(rest)
    return Push("ntfy" if way == "ntfy" or _NTFY.match(url) else "webhook", url=url)


def _split(text: str) -> tuple[str, str]:
    way, colon, rest = text.partition(":")
    if colon and way in WAYS:
        return way, rest
    if text.startswith(("http://", "https://", *secret.KINDS)):
        return "webhook", text
    raise UsageError(f"--push takes {_HOW}")


def _url(text: str) -> str:
    url = text
    if text.startswith(secret.KINDS):
        try:
            url = secret.read(secret.checked(text, "--push"))
        except secret.NoSecret as error:
            raise UsageError(f"--push: {error}") from None
    web_url(url, "the URL of --push")
    if any(ord(char) < 33 or ord(char) > 126 for char in url):
        raise UsageError("the URL of --push has a character that no URL has; write it as %XX")
    return url
