"""Whatever Apprise can reach: Teams, PagerDuty, ntfy, Telegram and a hundred more, known only as sent or not sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dogwatch import secret
from dogwatch.channels.http import reached
from dogwatch.channels.interface import Receipt
from dogwatch.channels.picture import NAME, picture
from dogwatch.channels.plugin import ChannelPlugin
from dogwatch.channels.wording import fitted, lines, subject
from dogwatch.model import Level, Message
from dogwatch.plugin_config import ServiceUrl, Setting

MOST = 3500
JOBS = 20


class Apprise:
    """One Apprise URL. It tells no status, so nothing is known to be permanent."""

    kind = "apprise"

    def __init__(self, url: str) -> None:
        self._url = url

    def deliver(self, message: Message) -> Receipt:
        missing = unusable(None)
        if missing:
            return Receipt(False, missing)
        import apprise

        apprise.logger.disabled = True  # it would print of its URLs what must not be printed
        kinds = {Level.CRITICAL: apprise.NotifyType.FAILURE, Level.WARNING: apprise.NotifyType.WARNING}
        service = apprise.Apprise(asset=asset())
        scheme = self._url.partition(":")[0]
        if not service.add(self._url):
            return Receipt(False, f"Apprise does not know how to use this {scheme}: URL", permanent=True)
        image = attachment(picture(message)) if all(one.attachment_support for one in service) else None
        send = partial(
            service.notify,
            title=subject(message),
            body=fitted("\n".join(lines(message, JOBS)), MOST),
            notify_type=kinds.get(message.level, apprise.NotifyType.INFO),
            body_format=apprise.NotifyFormat.TEXT,
        )
        # Apprise does not say why it could not send: it may be the picture.
        sent = (image is not None and send(attach=image)) or send()
        return Receipt(bool(sent), f"Apprise {'sent' if sent else 'could not send'} it ({scheme}:)")


def asset() -> Any:
    """Apprise's settings, with redirects off in the versions that can turn them off."""
    import apprise

    made = apprise.AppriseAsset()
    if hasattr(made, "http_redirects"):
        made.http_redirects = False
    return made


def attachment(image: bytes | None) -> Any:
    """The picture as Apprise takes it."""
    if image is None:
        return None
    from apprise.attachment import memory

    make: Any = memory.AttachMemory
    return make(content=image, name=NAME, mimetype="image/png")


def unusable(url: str | None) -> str:
    """Why Apprise cannot be used, or not with this URL; empty when it can. Never with the URL, which is a secret."""
    try:
        import apprise
    except ImportError:
        return "Apprise is not installed; `pip install 'dogwatch[apprise]'` brings it"
    apprise.logger.disabled = True
    if url is None or apprise.Apprise.instantiate(url, suppress_exceptions=True) is not None:
        return ""
    scheme = url.partition(":")[0]
    known = any(scheme in schemas for schemas in map(_schemes, apprise.Apprise().details()["schemas"]))
    return f"Apprise knows {scheme}: URLs, but cannot use this one" if known else f"Apprise knows no {scheme}: URLs"


def _schemes(service: Any) -> set[str]:
    return {str(scheme) for key in ("protocols", "secure_protocols") for scheme in service.get(key) or ()}


def _unusable(settings: Mapping[str, Setting]) -> str:
    """What is behind a reference is seen when it is used."""
    url = str(settings.get("url", ""))
    return unusable(None if url.startswith(secret.KINDS) else url)


@dataclass(frozen=True, slots=True)
class Config:
    url: ServiceUrl


PLUGIN = ChannelPlugin(
    name="apprise",
    help="URL: a service that Apprise knows (Teams, PagerDuty, ntfy, Telegram, ...)",
    config=Config,
    build=lambda config, site: Apprise(config.url),
    preflight=lambda config, site: reached(config.url, site.network),
    argument="url",
    takes="one URL",
    unusable=_unusable,
    takes_pictures=True,
)
