"""The way in: find the verb, parse its words, run it, turn errors into one sentence and an exit code."""

from __future__ import annotations

import os
import sys

from dogwatch import __version__
from dogwatch.errors import FINE, INTERRUPTED, USAGE, DogwatchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

VERBS = (
    "run",
    "watch",
    "add",
    "forget",
    "ls",
    "status",
    "logs",
    "events",
    "wait",
    "patrol",
    "daemon",
    "doctor",
    "demo",
)

ABOUT = """\
Dogwatch keeps watch over long jobs so that you can walk away. It says what changed,
when it will finish, how it ended, and whether its own eyes are open.
It never reads silence as an answer."""

EPILOG = """\
exit codes: 0 fine, 1 a watched job ended badly, 2 usage or configuration, 3 could not look,
            4 no such job, 124 wait timed out, 130 interrupted
every verb has --json and --help; state is kept in $DOGWATCH_HOME (default ~/.local/state/dogwatch)"""


def main(words: Sequence[str] | None = None) -> int:
    """Run one verb; never a traceback for what a person can mend."""
    argv = list(sys.argv[1:] if words is None else words)
    try:
        return _dispatch(argv)
    except DogwatchError as error:
        print(f"dogwatch: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough of it; that is their right, not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FINE


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        if len(argv) > 1 and argv[0] == "help" and argv[1] in VERBS:
            return _run([argv[1], "--help"])
        print(overview())
        return FINE
    if argv[0] in ("-V", "--version"):
        print(f"dogwatch {__version__}")
        return FINE
    return _run(argv)


def _run(argv: list[str]) -> int:
    verb = argv[0]
    if verb not in VERBS:
        import difflib

        near = difflib.get_close_matches(verb, VERBS, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`dogwatch --help` lists the verbs"
        print(f"dogwatch: there is no verb {verb!r}; {hint}", file=sys.stderr)
        return USAGE
    module = load(verb)
    parser = parser_of(verb, module)
    words, command = argv[1:], []
    if getattr(module, "TAKES_COMMAND", False) and "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    try:
        args = parser.parse_args(words)
        args.command = command
        code: int = module.run(args)
        sys.stdout.flush()
    except SystemExit as done:  # argparse has said what was wrong, or printed its help
        return done.code if isinstance(done.code, int) else USAGE
    return code


def load(verb: str) -> ModuleType:
    """The file of a verb."""
    import importlib

    return importlib.import_module(f"dogwatch.cli.{verb}")


def parser_of(verb: str, module: ModuleType):  # type: ignore[no-untyped-def]
    """The parser of a verb, as `dogwatch VERB --help` prints it."""
    import argparse

    parser = argparse.ArgumentParser(
        prog=f"dogwatch {verb}",
        description=module.HELP + ".",
        epilog=getattr(module, "EPILOG", None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.arguments(parser)
    return parser


def overview() -> str:
    """What `dogwatch --help` prints."""
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {load(verb).HELP}" for verb in VERBS)
    return f"usage: dogwatch VERB [OPTIONS]\n\n{ABOUT}\n\nverbs:\n{verbs}\n\n{EPILOG}"
