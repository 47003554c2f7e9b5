"""The way in: find the verb, parse its words, run it, turn errors into one sentence and an exit code."""

from __future__ import annotations

import _thread
import errno
import io
import os
import sys
import time

from dogwatch import __version__
from dogwatch.cli.out import say
from dogwatch.errors import COULD_NOT_POLL, FINE, INTERRUPTED, NO_READER, USAGE, DogwatchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence
    from types import ModuleType

TELLS_HOW_IT_ENDED = frozenset({"run", "watch", "wait"})  # verbs, by their exit code
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EBADF)
VERBS = (
    "run",
    "watch",
    "add",
    "forget",
    "ls",
    "status",
    "logs",
    "read",
    "why",
    "events",
    "wait",
    "patrol",
    "eta",
    "backtest",
    "daemon",
    "doctor",
    "demo",
    "host",
    "sync",
    "service",
    "check",
    "preflight",
    "alerts",
    "report",
    "uninstall",
)

ABOUT = """\
Dogwatch keeps watch over long jobs so that you can walk away. It says what changed,
when it will finish, how it ended, and whether the monitoring itself works.
It never reads silence as an answer."""

EPILOG = """\
exit codes: 0 fine, 1 a watched job ended badly, 2 usage or configuration, 3 could not look,
            4 no such job, 124 wait timed out, 130 interrupted, 141 nobody read on
every verb has --json and --help; state is kept in $DOGWATCH_HOME (default ~/.local/state/dogwatch)"""


def _interrupt_again(ignored: sys.UnraisableHookArgs) -> None:
    """A Ctrl-C that hit a moment in which Python drops exceptions, as in the weak references of an import, is meant
    all the same."""
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return

    import signal

    def soon(thread: int) -> None:
        time.sleep(0.05)
        signal.pthread_kill(thread, signal.SIGINT)

    _thread.start_new_thread(soon, (_thread.get_ident(),))


def main(words: Sequence[str] | None = None) -> int:
    """Run one verb; never a traceback for what a person can mend."""
    argv = list(sys.argv[1:] if words is None else words)
    _open_streams()
    hook, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    try:
        return _dispatch(argv)
    except DogwatchError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough of it; that is their right, not an error. But 0 would say that a job
        # ended well, of a verb that left before it knew.
        _let_go_of_stdout()
        return NO_READER if argv[0] in TELLS_HOW_IT_ENDED else FINE
    except OSError as error:
        if error.errno not in _DISK:
            raise
        _let_go_of_stdout()
        say(f"{error.filename or 'the output'} could not be written: {error.strerror}")
        return COULD_NOT_POLL
    finally:
        sys.unraisablehook = hook


def _open_streams() -> None:
    """Cron and `>&-` start programs without streams; the numbers 0 to 2 must not go to files of ours. A letter that
    the locale has no byte for is spelt, on stdout as Python does it on stderr."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null > 2:
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", errors="replace"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _let_go_of_stdout() -> None:
    """What is still buffered goes nowhere, instead of failing once more at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), 1)


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
        near = _nearest(verb, VERBS)
        hint = f"did you mean `{near}`?" if near else "`dogwatch --help` lists the verbs"
        say(f"there is no verb {verb!r}; {hint}")
        return USAGE
    module = load(verb)
    words, command = argv[1:], []
    flags = getattr(module, "FLAGS", None)
    if flags is not None and all(word in flags for word in words):
        return _finish(module, Given(flags, words))
    parser = parser_of(verb, module)
    if _takes_command(module) and "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    try:
        args, strange = parser.parse_known_args(words)
        if strange:
            wrong = "is not an option" if strange[0].startswith("-") else "is not expected"
            parser.error(f"{strange[0]!r} {wrong} here{_hint(verb, module, parser, strange[0])}")
        args.command = command
        return _finish(module, args)
    except SystemExit as done:  # argparse has said what was wrong, or printed its help
        return done.code if isinstance(done.code, int) else USAGE


def _nearest(word: str, known: Iterable[str]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(word, list(known), n=1)), "")


def _hint(verb: str, module: ModuleType, parser: ArgumentParser, word: str) -> str:
    """What somebody may have meant who gave a word that the verb does not take."""
    import argparse

    if not word.startswith("-"):
        return f"; put the command after --, as in `dogwatch {verb} -- {word}`" if _takes_command(module) else ""
    known = [parser]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            known += action.choices.values()
    near = _nearest(word.partition("=")[0], (flag for one in known for flag in one._option_string_actions))
    return f"; did you mean {near}?" if near else ""


def _takes_command(module: ModuleType) -> bool:
    return bool(getattr(module, "TAKES_COMMAND", False))


def _finish(module: ModuleType, args: Namespace | Given) -> int:
    code: int = module.run(args)
    sys.stdout.flush()
    return code


class Given:
    """What argparse makes of words that are all flags of a verb's FLAGS, without argparse, whose import
    takes as long as the rest of a listing."""

    def __init__(self, flags: Iterable[str], words: Sequence[str]) -> None:
        self.__dict__.update((flag.lstrip("-").replace("-", "_"), flag in words) for flag in flags)


def load(verb: str) -> ModuleType:
    """The file of a verb."""
    name = f"dogwatch.cli.{verb}"
    __import__(name)
    return sys.modules[name]


def parser_of(verb: str, module: ModuleType):  # type: ignore[no-untyped-def]
    """The parser of a verb, as `dogwatch VERB --help` prints it."""
    import argparse

    from dogwatch.cli.parser import OneSentence

    parser = OneSentence(
        prog=f"dogwatch {verb}",
        description=module.HELP + ".",
        epilog="\n\n".join([_examples(module), *filter(None, [getattr(module, "EPILOG", None)])]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.arguments(parser)
    return parser


def _examples(module: ModuleType) -> str:
    """How people call it, one line each."""
    return "\n".join(["examples:", *(f"  {line}" for line in module.EXAMPLES)])


def overview() -> str:
    """What `dogwatch --help` prints."""
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {load(verb).HELP}" for verb in VERBS)
    return f"usage: dogwatch VERB [OPTIONS]\n\n{ABOUT}\n\nverbs:\n{verbs}\n\n{EPILOG}"
