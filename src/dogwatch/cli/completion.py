"""`dogwatch completion`: a script for the shell, made from the parsers. Only names of jobs, hosts and channels are
asked for while somebody types; the rest is in the script."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path

from dogwatch.cli.parser import VerbParser, parser_of
from dogwatch.cli.verbs import SUMMARIES, VERBS
from dogwatch.errors import FINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ABOUT = "Print the completion script for your shell. It completes commands, options, and names of jobs and hosts."
EXAMPLES = (
    "dogwatch completion bash > ~/.local/share/bash-completion/completions/dogwatch",
    "dogwatch completion zsh > ~/.zfunc/_dogwatch",
    "dogwatch completion fish > ~/.config/fish/completions/dogwatch.fish",
)
DETAILS = """\
bash needs the package bash-completion for that directory; `source <(dogwatch completion bash)` in ~/.bashrc does \
without. For zsh, put `fpath+=~/.zfunc; autoload -Uz compinit; compinit` into ~/.zshrc. Open a new shell afterwards."""
# What the name of a value tells about what can be typed there.
BY_METAVAR = {
    "JOB": "jobs",
    "HOST": "hosts",
    "FILE": "files",
    "PATH": "files",
    "GLOB": "files",
    "CONFIG": "files",
    "SCRIPT": "files",
    "DIR": "dirs",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    print(script(args.shell), end="")
    return FINE


@dataclass(frozen=True, slots=True)
class Flag:
    """An option: its spellings, its help, and what its value may be ("" where it takes none)."""

    names: tuple[str, ...]
    help: str
    value: str


@dataclass(frozen=True, slots=True)
class Command:
    """What can follow a command such as `alerts add`: its own commands, options and words."""

    path: str
    commands: tuple[tuple[str, str], ...]
    flags: tuple[Flag, ...]
    words: str


def commands() -> Iterator[Command]:
    """Every command and command of a command."""
    for verb in VERBS:
        parser = parser_of(verb)
        yield _command(verb, parser)
        for name, _ in parser.commands():
            yield _command(f"{verb} {name}", parser.parts()[name])


def _command(path: str, parser: VerbParser) -> Command:
    flags = tuple(Flag(tuple(one.option_strings), one.help or "", _value(one)) for one in parser.flags())
    words = next((_value(one) for one in parser.words()), "")
    if path.startswith(("alerts rm", "alerts test")):
        words = "channels"
    elif path == "help":
        words = " ".join(VERBS)
    return Command(path, tuple(parser.commands()), flags, words)


def _value(action: argparse.Action) -> str:
    """`jobs`, `hosts`, `files`, `dirs`, the choices, `any` where nothing can be offered, or nothing for a switch."""
    if action.nargs == 0:
        return ""
    if action.choices is not None:
        return " ".join(map(str, action.choices))
    if offered := getattr(action, "offered", ()):
        return " ".join(offered)
    return BY_METAVAR.get(str(action.metavar), "any")


def script(shell: str) -> str:
    """The script of a shell: its template, with the tables of every command in it."""
    text = Path(__file__).with_name(f"completion.{shell}").read_text(encoding="utf-8")
    known = list(commands())
    tables = {
        "@VERBS@": " ".join(VERBS),
        "@NESTED@": " ".join(one.path for one in known if one.commands),
        "@DESCRIBED@": _described(SUMMARIES.items()),
        "@COMMANDS@": "\n".join(_case(shell, one) for one in known),
        "@VALUES@": "\n".join(case for one in known for case in _values(one)),
        "@FISH@": "\n".join(_fish_lines(known)) if shell == "fish" else "",
    }
    for mark, table in tables.items():
        text = text.replace(mark, table)
    return text


def _case(shell: str, one: Command) -> str:
    """What can be typed after a command, as a branch of `case`."""
    rows = [*one.commands, *((name, flag.help) for flag in one.flags for name in flag.names)]
    offered = f"({_described(rows)})" if shell == "zsh" else shlex.quote(" ".join(name for name, _ in rows))
    return f"        {shlex.quote(one.path)}) offered={offered} kind={shlex.quote(one.words)} ;;"


def _values(one: Command) -> Iterator[str]:
    """What the value of an option can be, as branches of `case`."""
    for flag in one.flags:
        if flag.value:
            typed = "|".join(shlex.quote(f"{one.path} {name}") for name in flag.names)
            yield f"        {typed}) kind={shlex.quote(flag.value)} value=1 ;;"


def _described(rows: Iterable[tuple[str, str]]) -> str:
    """Words with what they mean, as `_describe` of zsh takes them."""
    return " ".join(shlex.quote(f"{name}:{text}") for name, text in rows)


def _fish_lines(known: list[Command]) -> Iterator[str]:
    """One line for each word and option, with the command that it is for."""
    for verb, text in SUMMARIES.items():
        yield f"complete -c dogwatch -n __fish_use_subcommand -a {verb} -d {_fish(text)}"
    for one in known:
        at = f"complete -c dogwatch -n '__dogwatch_at {one.path}'"
        yield from (f"{at} -a {name} -d {_fish(text)}" for name, text in one.commands)
        if one.words:
            yield f"{at} {_fish_values(one.words)}".rstrip()
        for flag in one.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            only = "-r" if flag.value == "files" else "-x"
            value = f" {only} {_fish_values(flag.value)}".rstrip() if flag.value else ""
            yield f"{at} {names}{value} -d {_fish(flag.help)}"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_values(kind: str) -> str:
    match kind:
        case "jobs" | "hosts" | "channels":
            return f"-a '(__dogwatch_names {kind})'"
        case "files":
            return "-F"
        case "dirs":
            return "-a '(__fish_complete_directories)'"
        case "any":
            return ""
    return f"-a {_fish(kind)}"
