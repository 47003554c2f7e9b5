"""Writes docs/reference/config.md: every key of the configuration file and of a job file, taken from the code that
reads them. A key without a sentence in MEANINGS is an error. With --check it only says whether the page is out of date.
Run it with the Python of .venv (`make docs`)."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from dogwatch import config, settings
from dogwatch.channels.registry import CHANNELS
from dogwatch.plugin_config import keys

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "config.md"
OPENING = """# Every key of the configuration

<!-- Made by tools/config_docs.py (`make docs`) from the code that reads the files: change it there. -->

[Configuration](../config.md) has examples of both files. A duration is a number of seconds, or a number with `s`, `m`,
`h` or `d` (`15m`). A secret is written as `env:NAME`, `file:/PATH` (mode 0600) or `keyring:SERVICE/USER`.
"""
MEANINGS = {
    "price_per_gpu_hour": "What one GPU costs per hour; `dogwatch report` multiplies it. Any currency.",
    "bundles": "Diagnostics bundles of failed jobs: `true` (default), `false`, or an absolute path.",
    "alerts": "A table; its keys follow.",
    "alerts.quiet_hours": 'Local time, as in `"22:00-07:00"`. Only critical alerts are sent, the others later.',
    "alerts.repeat": "How often a critical finding that is still open is sent again. Default: `4h`.",
    "alerts.digest": 'Time of a daily summary, as in `"08:00"`. It is sent also when nothing happened.',
    "alerts.heartbeat": "URL of a dead man's switch, by reference. Gets a POST after a successful poll.",
    "alerts.heartbeat_every": "The shortest time between two heartbeats. Default: `5m`.",
    "alerts.channel": "Written `[[alerts.channel]]`, once for each channel; its keys follow.",
    "channel.kind": "Which kind of channel, as `dogwatch alerts kinds` lists them. Needed.",
    "channel.name": "What to call the channel. Default: its kind.",
    "channel.levels": "Only these levels. Default: critical, warning and info, without checkpoints.",
    "channel.jobs": "Only jobs whose name matches one of these patterns.",
    "channel.rules": "Only findings of rules whose name matches one of these patterns.",
    "apprise.url": "A URL as Apprise takes it; it names the service and holds the credentials.",
    "command.argv": "The program and its arguments, as a list. It gets JSON on stdin; exit code 0 means taken.",
    "discord.url": "The webhook of a Discord channel.",
    "email.to": "The address to send to.",
    "email.port": "The port of that server.",
    "email.host": "Another mail server than the one in `[smtp]`.",
    "file.path": "The file; each message is appended as one line of JSON.",
    "slack.url": "An incoming webhook of Slack.",
    "webhook.url": "Where to POST the JSON.",
    "webhook.secret": "Signs each message (header `X-Dogwatch-Signature`).",
    "smtp.host": "The mail server. Default: `localhost`.",
    "smtp.port": "Its port. Default: 25.",
    "smtp.from": "The sender.",
    "smtp.user": "The user name at the mail server.",
    "smtp.password": "The password, by reference.",
    "smtp.tls": "`starttls` (default), `tls`, or `none`, which is allowed for this machine only.",
    "job.name": "What to call the job.",
    "job.description": "What it is for.",
    "job.num_workers": "How many workers it has.",
    "job.gpu_ids": "The GPUs of its workers, as in `[0, 1]`.",
    "job.total_items": "How many items there are to process, all workers together.",
    "paths.output_dir": "Where its outputs are.",
    "paths.log_dir": "Where its logs are.",
    "paths.checkpoint_dir": "Where its checkpoints are.",
    "patterns.output": "Which files in `output_dir` are its outputs.",
    "patterns.logs": "Which files in `log_dir` are its logs.",
    "patterns.checkpoints": "Which files in `checkpoint_dir` are its checkpoints.",
    "monitoring.check_interval": "How often to poll.",
    "monitoring.launch_timeout": "How long all workers may take to start.",
    "monitoring.stall_timeout": "Call it stalled after this long without progress.",
    "monitoring.min_growth": "The least that its outputs must grow, as in `10MB/h`.",
    "progress_patterns": "Names with a pattern each; a pattern reads progress or a metric from a log line.",
    "error_patterns": "A list of `pattern`, `severity` (`warning`, `critical`) and `case_sensitive` (default: false).",
    "alerts.terminal.enabled": "Whether alerts are printed on the terminal.",
    "alerts.terminal.refresh_rate": "How often the live screen is drawn.",
    "preflight.command": "The command that will be started, as text or as a list.",
    "preflight.inputs": "Files or patterns that it reads.",
    "preflight.packages": "Python packages that it needs.",
    "preflight.variables": "Environment variables that must be set.",
    "preflight.network": "Servers that it must reach, as in `huggingface.co:443`.",
    "preflight.signals": "Signals that its script must handle, as in `USR1`.",
    "preflight.host": "Where it will run, as `dogwatch host ls` names it.",
    "preflight.cwd": "The directory it will start in.",
    "preflight.environment": "The Python environment that the command must use.",
    "preflight.slurm": "The batch script to give to `sbatch --test-only`.",
    "preflight.gpu_memory": "How much GPU memory it needs.",
    "preflight.memory_per_item": "How much GPU memory one item of a batch needs.",
    "preflight.checkpoint_every": "How often it saves a checkpoint.",
    "preflight.try_import": "Whether the packages are really imported. Default: false.",
    "preflight.resume": "Whether it resumes: then a whole checkpoint must be there.",
    "preflight.core_dumps": "Whether core dumps must be on or off.",
    "preflight.batch_size": "How many items are in a batch.",
}


def _table(names: Iterable[str], prefix: str = "") -> Iterator[str]:
    yield from ("| key | meaning |", "|---|---|")
    yield from (f"| `{name}` | {MEANINGS[prefix + name]} |" for name in names)
    yield ""


def _configuration_file() -> Iterator[str]:
    yield from ("## config.toml", "")
    yield from _table(sorted(settings.CORE))
    yield from ("### [alerts]", "")
    yield from _table(settings.ALERTS, "alerts.")
    yield from ("### [[alerts.channel]]", "", "Every channel:", "")
    yield from _table(settings.ROUTED, "channel.")
    for kind, plugin in sorted(CHANNELS.all().items()):
        if keys(plugin.config):
            yield from (f'With `kind = "{kind}"`:', "", *_table(keys(plugin.config), f"{kind}."))
    for plugin in CHANNELS.all().values():
        if plugin.account is not None:
            yield from (f"### [{plugin.section}]", "", *_table(keys(plugin.account), f"{plugin.section}."))


def _job_file() -> Iterator[str]:
    yield from ("## Job file", "", "For `dogwatch watch --config job.yaml` and `dogwatch preflight job.yaml`.", "")
    for section, reader in config._SECTIONS.items():
        if section == "alerts":
            yield from ("### alerts", "", "Where alerts about this job go. Each kind also takes `enabled`.", "")
            yield from _table(("terminal.enabled", "terminal.refresh_rate"), "alerts.")
            yield from ("| kind | keys |", "|---|---|")
            offered = {kind: plugin.job_file for kind, plugin in sorted(CHANNELS.all().items()) if plugin.job_file}
            yield from (f"| `{kind}` | {', '.join(f'`{key}`' for key in known)} |" for kind, known in offered.items())
            yield ""
            continue
        of_preflight = config._PREFLIGHT_CHECKS if section == "preflight" else None
        names = of_preflight or inspect.getclosurevars(reader).nonlocals.get("keys")
        yield from (f"### {section}", "")
        yield from [MEANINGS[section], ""] if names is None else _table(names, f"{section}.")


def page() -> str:
    """docs/reference/config.md."""
    return "\n".join([OPENING, *_configuration_file(), *_job_file()]).rstrip() + "\n"


def main() -> int:
    text = page()
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in sys.argv:
        sys.stderr.write("docs/reference/config.md is out of date; `make docs` writes it anew\n")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
