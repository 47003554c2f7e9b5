"""Pickles: which names one would import when it is loaded, told by its instructions, none of which is executed."""

import itertools
import pickletools
from collections.abc import Iterator
from typing import Any

from dogwatch.remote.integrity.body import Body, Report, Unclear

MOST_PICKLE = 32 << 20
MOST_CODES = 1000000  # instructions: about a second's work
THE_REST = "whatever stands too far behind to be looked at"
PICKLED = "is a pickle, which is never opened because loading it could run code"
# Modules with which a pickle runs programs, opens files or connects, and functions of others that execute text.
RISKY = frozenset(
    (
        *("os", "posix", "nt", "subprocess", "sys", "shutil", "pty", "socket", "ctypes", "importlib", "runpy", "code"),
        *("codeop", "commands", "webbrowser", "platform", "pip", "urllib", "http", "requests", "ftplib", "smtplib"),
        *("asyncio", "multiprocessing", "threading", "signal", "tempfile", "glob", "pickle", "marshal", "shelve"),
        *("timeit", "trace", "pdb", "bdb", "cProfile", "profile", "venv", "zipimport", "pkgutil", "inspect", "types"),
        *("operator", "_operator", "linecache"),
    )
)
RISKY_BUILTINS = frozenset(
    (
        *("eval", "exec", "compile", "open", "__import__", "getattr", "setattr", "delattr", "input", "breakpoint"),
        *("globals", "locals", "vars", "memoryview"),
    )
)
RISKY_NAMES = (
    "torch.hub",
    "torch.load",
    "torch.jit.load",
    "torch.serialization.load",
    "numpy.load",
    "functools.partial",
)
WRONG = (ValueError, IndexError, UnicodeError, OverflowError, EOFError)
BUILTINS = ("builtins", "__builtin__", "__builtins__")
TEXTS = frozenset(
    ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "STRING", "BINSTRING", "SHORT_BINSTRING")
)


def risky_imports(text: bytes, size: int) -> "list[str]":
    """The names that nobody needs to save a model, in the order in which they stand, by the beginning of a pickle of
    this size; what was not looked at may hold more of them, and is told last."""
    codes = pickletools.genops(text)
    found = [name for name in dict.fromkeys(imports(itertools.islice(codes, MOST_CODES))) if is_risky(name)]
    return found + ([THE_REST] if len(text) < size or goes_on(codes) else [])


def goes_on(codes: "Iterator[Any]") -> bool:
    try:
        return next(codes, None) is not None
    except WRONG:
        return False


def is_risky(name: str) -> bool:
    module, _, last = name.rpartition(".")
    if module in BUILTINS:
        return last in RISKY_BUILTINS
    return module.split(".")[0] in RISKY or any(name == one or name.startswith(one + ".") for one in RISKY_NAMES)


def imports(codes: "Iterator[Any]") -> "list[str]":
    """Every module.name of GLOBAL, INST and STACK_GLOBAL; names that come by the memo are followed there."""
    found: "list[str]" = []
    texts: "list[Any]" = []  # the strings that were pushed last, with those the memo gave back
    memo: "dict[Any, Any]" = {}
    pushed: "Any" = None
    try:
        for code, argument, _ in codes:
            if code.name in ("GLOBAL", "INST"):
                found.append(".".join(str(argument).split(" ", 1)))
            elif code.name == "STACK_GLOBAL":
                found.append(".".join(str(one) for one in texts[-2:]))
            elif code.name in TEXTS:
                pushed = argument
                texts.append(argument)
            elif code.name == "MEMOIZE":
                memo[len(memo)] = pushed
            elif code.name in ("PUT", "BINPUT", "LONG_BINPUT"):
                memo[argument] = pushed
            elif code.name in ("GET", "BINGET", "LONG_BINGET"):
                texts.append(memo.get(argument))
            else:
                pushed = None
            del texts[:-4]
    except WRONG:
        pass  # a damaged pickle: what stood before the damage counts
    return found


def check_pickle(body: Body) -> Report:
    """Never loaded, so never intact; what loading it would run is told."""
    warning = would_run(risky_imports(body.at(0, min(body.size, MOST_PICKLE)), body.size))
    raise Unclear(PICKLED + ("; " + warning if warning else ""))


def would_run(names: "list[str]") -> str:
    named = ", ".join(dict.fromkeys(name[:60] for name in names[:4] + names[4:][-1:]))
    return "loading it would run %s: do not load it unless you trust who made it" % named if named else ""
