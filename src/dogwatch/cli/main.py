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
from dogwatch.cli.verbs import VERBS, load, unknown
from dogwatch.errors import COULD_NOT_POLL, FINE, INTERRUPTED, NO_READER, USAGE, DogwatchError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence
    from types import ModuleType

NAMES = "__names"  # what completion asks for; no verb of the help
TELLS_HOW_IT_ENDED = frozenset({"run", "watch", "wait"})  # verbs, by their exit code
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EBADF)


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
    """Run one verb; never a traceback for what the user can fix."""
    if sys.platform == "win32":
        print("dogwatch: Windows is not supported; install and run Dogwatch in WSL", file=sys.stderr)
        return USAGE
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
        # The reader of our output has closed it, which is no error. But 0 would say that a job ended well, although
        # this verb left before it knew.
        _let_go_of_stdout()
        return NO_READER if argv[:1] and argv[0] in TELLS_HOW_IT_ENDED else FINE
    except OSError as error:
        if error.errno not in _DISK:
            raise
        _let_go_of_stdout()
        say(f"cannot write {error.filename or 'the output'}: {error.strerror}")
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
    if not argv or argv[0] in ("-h", "--help"):
        argv = ["help"]
    if argv[0] in ("-V", "--version"):
        print(f"dogwatch {__version__}")
        return FINE
    if argv[0] == NAMES:
        return load("names").run(argv[1:])  # type: ignore[no-any-return]
    if argv[0] not in VERBS:
        say(_unknown(argv))
        return USAGE
    return _run(argv)


def _unknown(argv: list[str]) -> str:
    """What is wrong with a first word that is no verb, and what may have been meant."""
    word = argv[0]
    if word.startswith("-"):
        verb = next((later for later in argv if later in VERBS), "ls")
        return f"options come after the command, as in `dogwatch {verb} {word}`; see `dogwatch help`"
    return unknown(word)


def _run(argv: list[str]) -> int:
    verb = argv[0]
    module = load(verb)
    words, command = argv[1:], []
    flags = getattr(module, "FLAGS", None)
    if flags is not None and all(word in flags for word in words):
        return _finish(module, Given(flags, words))
    from dogwatch.cli.parser import parser_of

    parser, takes_command = parser_of(verb), bool(getattr(module, "TAKES_COMMAND", False))
    if takes_command and "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    try:
        args, strange = parser.parse_known_args(words)
        if strange and takes_command and not strange[0].startswith("-"):
            raise UsageError(f"put the program after --, as in `dogwatch {verb} -- {strange[0]}`")
        if strange:
            raise UsageError(parser.unknown(strange[0], words))
        args.command = command
        return _finish(module, args)
    except SystemExit as done:  # argparse has printed the help
        return done.code if isinstance(done.code, int) else USAGE


def _finish(module: ModuleType, args: Namespace | Given) -> int:
    code: int = module.run(args)
    sys.stdout.flush()
    return code


class Given:
    """What argparse makes of words that are all flags of a verb's FLAGS, without argparse, whose import
    takes as long as the rest of a listing."""

    def __init__(self, flags: Iterable[str], words: Sequence[str]) -> None:
        self.__dict__.update((flag.lstrip("-").replace("-", "_"), flag in words) for flag in flags)
