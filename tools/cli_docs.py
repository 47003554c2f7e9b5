"""Writes docs/reference/cli.md and docs/man/dogwatch.1 from the parsers of the commands; with --check it only
says whether they are out of date. Run it with the Python of .venv (`make docs`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from dogwatch.cli.help import FIRST_STEPS, WHAT_IT_IS
from dogwatch.cli.parser import VerbParser, parser_of
from dogwatch.cli.verbs import GROUPS

DOCS = Path(__file__).parent.parent / "docs"
EXIT_CODES = {
    0: "done; for run, watch and wait: the jobs completed",
    1: "a watched job failed, or a check found a problem",
    2: "wrong usage or configuration",
    3: "a host could not be reached, or a file could not be read or written",
    4: "no such job",
    124: "the timeout of `wait` came first",
    130: "interrupted with Ctrl-C; jobs keep running",
    141: "the reader of the output closed it, as in `dogwatch watch | head`",
}
VARIABLES = {
    "DOGWATCH_HOME": "state directory (default: ~/.local/state/dogwatch)",
    "XDG_CONFIG_HOME": "where dogwatch/config.toml is (default: ~/.config)",
}
OPENING = """# Commands

<!-- Made by tools/cli_docs.py (`make docs`) from src/dogwatch/cli: change it there. -->

`dogwatch COMMAND --help` prints the same in a terminal, and `man dogwatch` is this page as a manual.
"""


def parsers() -> Iterator[tuple[str, VerbParser]]:
    """Each command and each command of a command, with its group."""
    for group, verbs in GROUPS.items():
        for verb in verbs:
            parser = parser_of(verb)
            yield group, parser
            yield from ((group, parser.parts()[name]) for name, _ in parser.commands())


def markdown() -> str:
    """docs/reference/cli.md."""
    lines, last = [OPENING], ""
    for group, parser in parsers():
        if group != last:
            lines += [f"## {group}", ""]
        last = group
        nested = parser.prog.count(" ") > 1
        lines += [f"{'####' if nested else '###'} {parser.prog}", "", _prose(parser.description or ""), ""]
        lines += ["```sh", parser.format_usage(), "```", ""]
        if parser.examples:
            lines += ["Examples:", "", "```sh", *parser.examples, "```", ""]
        for title, rows in parser.sections():
            lines += [f"{title}:", "", "| | |", "|---|---|"]
            lines += [f"| {_code(name)} | {_cell(text)} |" for name, text in rows if not name.startswith("-h,")]
            lines += [""]
        lines += [_prose(parser.details), ""] if parser.details else []
    lines += ["## Exit codes", "", "| | |", "|---|---|", *(f"| {c} | {_cell(t)} |" for c, t in EXIT_CODES.items()), ""]
    lines += ["## Environment", "", "| | |", "|---|---|", *(f"| `{n}` | {_cell(t)} |" for n, t in VARIABLES.items())]
    return "\n".join(lines) + "\n"


def _prose(text: str) -> str:
    return text.replace("*", "\\*")


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def man() -> str:
    """docs/man/dogwatch.1."""
    lines = ['.\\" Made by tools/cli_docs.py (`make docs`) from src/dogwatch/cli: change it there.']
    lines += ['.TH DOGWATCH 1 "" "Dogwatch" "User Commands"', ".SH NAME", r"dogwatch \- watch long GPU jobs"]
    lines += [".SH SYNOPSIS", ".B dogwatch", r"\fICOMMAND\fR [\fIOPTIONS\fR]", ".SH DESCRIPTION", _roff(WHAT_IT_IS)]
    lines += [".SH EXAMPLES", *(part for line, text in FIRST_STEPS for part in (".TP", f"\\fB{_roff(line)}\\fR", text))]
    last = ""
    for group, parser in parsers():
        if group != last:
            lines += [f".SH {_roff(group.upper())}"]
        last = group
        lines += [f".SS {_roff(parser.prog)}", f"\\fB{_roff(parser.format_usage())}\\fR", ".PP"]
        lines += [_roff(parser.description or "")]
        if parser.examples:
            lines += [".PP", "Examples:", ".PP", ".nf", *(f"    {_roff(line)}" for line in parser.examples), ".fi"]
        for title, rows in parser.sections():
            lines += [".PP", f"{_roff(title)}:"]
            for name, text in rows:
                lines += [] if name.startswith("-h,") else [".TP", f"\\fB{_roff(name)}\\fR", _roff(text)]
        for text in filter(None, parser.details.split("\n\n")):
            lines += [".PP", _roff(text)]
    lines += [
        ".SH EXIT STATUS",
        *(part for c, text in EXIT_CODES.items() for part in (".TP", f"\\fB{c}\\fR", _roff(text))),
    ]
    lines += [
        ".SH ENVIRONMENT",
        *(part for n, text in VARIABLES.items() for part in (".TP", f"\\fB{n}\\fR", _roff(text))),
    ]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Text as roff prints it unchanged: a dash that can be pasted, and no line that begins with a command."""
    safe = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    )
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in safe.splitlines())


def main() -> int:
    made = {DOCS / "reference" / "cli.md": markdown(), DOCS / "man" / "dogwatch.1": man()}
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        for path in stale:
            sys.stderr.write(f"{path.name} is out of date; `make docs` writes it again\n")
        return int(bool(stale))
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
