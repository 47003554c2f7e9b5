"""The verbs in groups, with the line that `dogwatch` alone shows for each; also for completion, man page and docs."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

GROUPS = {
    "Watch jobs": {
        "run": "Start a command as one or more workers, and watch it",
        "add": "Watch a process or a Slurm job that is already running",
        "watch": "Show jobs live until they end (Ctrl-C never stops a job)",
        "wait": "Wait until jobs end or get so far; the exit code says how",
        "waiters": "List who waits for what, and end waiters",
        "daemon": "Watch all jobs and send alerts, in the foreground",
        "service": "Poll in the background with systemd or cron",
        "cancel": "End a job; no other command does",
        "fetch": "Fetch a job's results and newest intact checkpoint, verified",
        "forget": "Stop watching a job (the job keeps running)",
    },
    "Ask about jobs": {
        "ls": "List jobs with state, progress, ETA and alerts",
        "status": "Show everything known about one job",
        "why": "Explain why a job failed, or what a running job is doing",
        "handbook": "Write down what somebody who takes over needs",
        "takeover": "Compare what is stored with what is there, on every host",
        "events": "Print what happened, in order",
        "note": "Write a note into a job's history",
        "patrol": "Poll once and print only what changed since the last time",
        "report": "Summarize a job: time, GPUs, memory, energy, cost, incidents",
    },
    "Files and logs": {
        "logs": "Print the last lines of a job's logs",
        "read": "Read any log file: progress, speed, time left, errors",
        "check": "Check that checkpoints, datasets and archives are intact",
        "eta": "Estimate the time left from a CSV file of steps",
        "backtest": "Measure how accurate the ETA is on finished runs",
    },
    "Alerts": {
        "alerts": "Set up channels (Slack, e-mail, ...), silence, see what was sent",
    },
    "Set-up": {
        "demo": "Run two real training jobs here, one of which fails (about 40 s)",
        "host": "Add, list and test machines that ssh reaches",
        "preflight": "Check a machine before a job starts",
        "sync": "Exchange jobs with agents' registry files",
        "doctor": "Check that Dogwatch itself works, and repair its database",
        "completion": "Print the completion script for bash, zsh or fish",
        "uninstall": "Show the commands that remove Dogwatch",
        "help": "Show this page, or the help of one command",
    },
}
SUMMARIES = {verb: line for group in GROUPS.values() for verb, line in group.items()}
VERBS = tuple(SUMMARIES)
# What people type who come from other programs.
MEANT = {
    "list": "ls",
    "ps": "ls",
    "jobs": "ls",
    "top": "watch",
    "show": "status",
    "info": "status",
    "describe": "status",
    "log": "logs",
    "tail": "logs",
    "start": "run",
    "submit": "run",
    "exec": "run",
    "attach": "add",
    "rm": "forget",
    "remove": "forget",
    "delete": "forget",
    "diagnose": "why",
    "explain": "why",
    "history": "events",
    "hosts": "host",
    "alert": "alerts",
    "notify": "alerts",
    "verify": "check",
    "install-completion": "completion",
    "stop": "cancel",
    "kill": "cancel",
    "scancel": "cancel",
    "download": "fetch",
    "pull": "fetch",
    "get": "fetch",
}


def load(verb: str) -> ModuleType:
    """The file of a verb."""
    name = f"dogwatch.cli.{verb}"
    __import__(name)
    return sys.modules[name]


def nearest(word: str, known: list[str]) -> str:
    """What is spelt most like a word, or nothing."""
    import difflib

    return next(iter(difflib.get_close_matches(word, known, n=1)), "")


def unknown(word: str) -> str:
    """What to say of a first word that is no verb."""
    near = MEANT.get(word) or nearest(word, [*VERBS])
    return f"unknown command {word!r}; " + (f"did you mean `dogwatch {near}`?" if near else "see `dogwatch help`")
