"""The alert channels: would they be there? Each is reached and told nothing."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence

from dogwatch import secret
from dogwatch.api.checklist import Line
from dogwatch.api.preflight.facts import FAIL, PASS, WARN
from dogwatch.channels.http import PREFLIGHT
from dogwatch.channels.plugin import OUTSIDE, Account, ChannelPlugin, Unfit, site_of
from dogwatch.channels.registry import CHANNELS
from dogwatch.channels.timed import Private
from dogwatch.clock import Clock
from dogwatch.config import JobFile
from dogwatch.plugin_config import Setting, filled
from dogwatch.settings import Channel
from dogwatch.store.rows.channels import ChannelRow
from dogwatch.text import plain

NOT_SENT = "nothing was sent"
OWNERS = "give it yourself: --alert-slack, `dogwatch alerts add`, or [smtp] in the configuration file"
TEST = "`dogwatch alerts test` sends a test message"


def listed(
    stored: Mapping[str, ChannelRow], configured: Sequence[Channel], file: JobFile
) -> list[ChannelRow | Channel]:
    """The channels of the store, of the configuration file and of the job file, each name once."""
    rows: dict[str, ChannelRow | Channel] = {**stored, **{channel.name: channel for channel in configured}}
    for kind, settings in file.channels.items():
        name = f"{file.name}-{kind}"
        rows[name] = Channel(name, kind, {**settings, OUTSIDE: True}, {})
    return list(rows.values())


def judge(rows: Sequence[ChannelRow | Channel], accounts: Mapping[str, Account]) -> Iterator[Line]:
    """A line for each channel; one line when there is none."""
    if not rows:
        yield Line(
            WARN,
            "alerts",
            "no alert channel configured: alerts are shown only on a terminal",
            "add one: dogwatch alerts add",
        )
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(8, len(rows))) as threads:
        yield from threads.map(lambda row: _line(row, accounts), rows)


def _line(row: ChannelRow | Channel, accounts: Mapping[str, Account]) -> Line:
    what, kind = f"channel {plain(row.name, 40)}", row.kind
    plugin = CHANNELS.find(kind)
    if plugin is None:
        why = f"the channel {plain(kind, 60)} {CHANNELS.why_missing(kind)}"
        return Line(FAIL, what, why, "`dogwatch doctor` lists the plug-ins that cannot be used")
    try:
        text = _reach(plugin, row.settings, accounts)
    except secret.NoSecret as error:
        return Line(FAIL, what, str(error), "set that variable, file or keyring entry where the watcher runs")
    except ssl.SSLError as error:
        return Line(FAIL, what, f"its encryption is not trusted: {plain(str(error.reason), 80)}", TEST)
    except Private:
        return Line(FAIL, what, "is on a private network, which a job file may not use", OWNERS)
    except TimeoutError:
        return Line(FAIL, what, f"did not answer in {PREFLIGHT:g} s", TEST)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or (str(error) if isinstance(error, Unfit) else type(error).__name__)
        return Line(FAIL, what, f"cannot be reached: {plain(str(why), 120)}", TEST)
    except Exception as error:
        if not CHANNELS.package(kind):
            raise
        return Line(FAIL, what, f"its plug-in failed: {type(error).__name__}", TEST)
    return Line(PASS, what, f"{text}; {NOT_SENT}")


def _reach(plugin: ChannelPlugin, settings: Mapping[str, Setting], accounts: Mapping[str, Account]) -> str:
    config = filled(plugin.config, settings)
    return plugin.preflight(config, site_of(plugin, config, bool(settings.get(OUTSIDE)), accounts, Clock()))
