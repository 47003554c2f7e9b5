"""The example packages keep what is asked of each kind, and the checks catch what does not."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from dogwatch.channels.interface import Receipt
from dogwatch.channels.plugin import ChannelPlugin
from dogwatch.channels.registry import CHANNELS
from dogwatch.model import Finding, Job, Known, Level, Message, Running
from dogwatch.plugin_config import AbsolutePath, Argv, Secret, ServiceUrl, WebUrl, keys
from dogwatch.rules import RULES
from dogwatch.rules.interface import Case, Rule
from dogwatch.sources import SOURCES
from dogwatch.testing import check_channel_plugin, check_log_format, check_rule, check_source_plugin
from tests.alerts.receiver import Receiver

HERE = Path(__file__).parent
DOCUMENT = Path(__file__).parents[2] / "docs" / "plugins.md"
Load: TypeAlias = Callable[[str], Any]
PROCESS = {"pid": 7, "doing": "sleeping", "started": 900.0}


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Load:
    """The PLUGIN of an example package."""

    def load(package: str) -> Any:
        monkeypatch.syspath_prepend(HERE / package)
        return importlib.import_module(package.replace("-", "_")).PLUGIN

    return load


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


def case(description: str = "") -> Case:
    job = Job("here/process:1", "here", "process", "1", "one", description=description)
    return Case(job, Known(state=Running()))


def test_the_example_source_conforms(plugin: Load) -> None:
    """With an answer, with a process that is gone and with a pid file that is not there."""
    rows: list[dict[str, Any]] = [{"process": [PROCESS]}, {"process": [{**PROCESS, "doing": "gone"}]}, {"process": []}]
    answers = [{"ok": True, "find": {"here/example:1": row}} for row in rows]
    check_source_plugin(plugin("dogwatch-pidfile"), {"path": "/run/web.pid"}, answers)


def test_the_example_channel_conforms(plugin: Load, receiver: Receiver) -> None:
    """Also where a job's file would lead it into a private network."""
    check_channel_plugin(plugin("dogwatch-pager"), {"url": receiver.url})
    assert receiver.got


def test_the_example_log_format_and_rule_conform(plugin: Load) -> None:
    """The format reads its line, the rule is pure."""
    check_log_format(plugin("dogwatch-bakery"), ["[bakery] 37 of 100 loaves are out of the oven"])
    check_rule(plugin("dogwatch-untold"), [case(), case("for the paper")])


def test_a_rule_that_speaks_for_another_is_caught() -> None:
    """A finding of another rule's name would never resolve."""
    wrong = Rule("mine", judge=lambda case, now: [Finding(case.job.ref, "stalled", Level.WARNING, "text")])
    with pytest.raises(AssertionError, match="for the rule stalled"):
        check_rule(wrong, [case()])


@pytest.mark.parametrize("kind", [Secret, ServiceUrl, Argv, AbsolutePath])
def test_no_plug_in_lets_a_job_file_name_a_program_a_path_or_a_credential(plugin: Load, kind: Any) -> None:
    """The keys themselves say what only the owner may fill, so a channel that offers one is refused."""
    config: type = dataclass(type("Config", (), {"__annotations__": {"key": kind}}))
    offered = replace(plugin("dogwatch-pager"), config=config, argument="key", job_file={"key": "key"})
    with pytest.raises(ValueError, match="may not fill its key 'key'"):
        check_channel_plugin(offered, {"key": "x"})


@dataclass(frozen=True)
class OwnWay:
    """The configuration of a channel that does not use the network it is given."""

    url: WebUrl


def test_a_channel_that_brings_its_own_network_is_confined_too(receiver: Receiver) -> None:
    """A job's file leads it to no private address, whatever it would connect with."""

    class Bold:
        kind = "bold"

        def __init__(self, url: str) -> None:
            self._url = url

        def deliver(self, message: Message) -> Receipt:
            from urllib.request import urlopen

            with urlopen(self._url, b"{}", timeout=5) as answer:
                return Receipt(answer.status == 200, "said so")

    bold = ChannelPlugin(
        name="bold",
        help="URL",
        config=OwnWay,
        build=lambda config, site: Bold(config.url),
        preflight=lambda config, site: "",
        argument="url",
        job_file={"webhook": "url"},
    )
    check_channel_plugin(bold, {"url": receiver.url})


def test_what_ships_describes_itself() -> None:
    """Every file of ours is found under its own name, and a channel of ours keeps the rules about job files."""
    for plugins in (CHANNELS, RULES, SOURCES):
        assert plugins.shipped()
        assert [name for name, shipped in plugins.shipped().items() if shipped.name != name] == []
    from_file = {name for name, shipped in CHANNELS.shipped().items() if shipped.job_file}
    assert from_file == {"email", "slack"}
    for name in from_file:
        shipped = CHANNELS.shipped()[name]
        assert not any(keys(shipped.config)[key][1].owner_only for key in shipped.job_file.values())


def test_the_document_shows_the_examples_as_they_are() -> None:
    """Each block of Python in docs/plugins.md stands in one of the example packages."""
    sources = "\n".join(path.read_text() for path in sorted(HERE.glob("*/*.py")))
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert len(blocks) >= 4
    assert [block for block in blocks if block.strip() not in sources] == []
