"""`dogwatch help`: what `dogwatch` alone prints, or the help of one command."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.parser import columns, fold, parser_of, two_columns
from dogwatch.cli.verbs import GROUPS, VERBS, nearest, unknown
from dogwatch.errors import FINE, UsageError

ABOUT = "Show the list of commands, or the help of one command."
EXAMPLES = (
    "dogwatch help run",
    "dogwatch help alerts add",
)
WHAT_IT_IS = "Watch long GPU jobs: progress, ETA, why they failed, and alerts."
FIRST_STEPS = [
    ("dogwatch run -- python train.py", "start a job here, and watch it"),
    ("dogwatch add slurm 123456 --host hpc", "watch a Slurm job over ssh"),
    ("dogwatch why train", "find out why a job failed"),
]
MORE = """\
`dogwatch COMMAND --help` shows options and examples; --json prints JSON.
`man dogwatch` is the manual. `dogwatch demo` shows it at work in 40 seconds."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="the command to explain")


def run(args: Namespace) -> int:
    print(page_of(args.words) if args.words else overview(), end="")
    return FINE


def page_of(words: list[str]) -> str:
    """The help page of a command, or of a command's own command."""
    verb, *rest = words
    if verb not in VERBS:
        raise UsageError(unknown(verb))
    parser = parser_of(verb)
    for word in rest:
        if word not in parser.parts():
            near = nearest(word, list(parser.parts()))
            hint = f"did you mean `{near}`?" if near else f"see `{parser.prog} --help`"
            raise UsageError(f"unknown command `{parser.prog} {word}`; {hint}")
        parser = parser.parts()[word]
    return parser.format_help()


def overview() -> str:
    """The short form: what it is, first steps, the commands in groups, where to read more."""
    wide = columns()
    width = max(map(len, VERBS))
    blocks = [fold(WHAT_IT_IS, wide), "Usage: dogwatch COMMAND [OPTIONS]", f"Examples:\n{_examples(wide)}"]
    for title, verbs in GROUPS.items():
        rows = [(f"{verb:<{width}}", line) for verb, line in verbs.items()]
        blocks.append(f"{title}:\n{two_columns(rows, wide)}")
    return "\n\n".join([*blocks, fold(MORE, wide)]) + "\n"


def _examples(wide: int) -> str:
    room = max(len(line) for line, _ in FIRST_STEPS)
    if room + 2 + max(len(text) for _, text in FIRST_STEPS) + 4 > wide:
        return "\n".join(f"  {line}" for line, _ in FIRST_STEPS)
    return "\n".join(f"  {line:<{room}}  # {text}" for line, text in FIRST_STEPS)
