"""The parser of a verb: what is wrong with a command line is one sentence, as every other error is."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from dogwatch.errors import UsageError
from dogwatch.text import plain

# What argparse says → what a person is told. `{0}` is the flag or the word that it is about.
_SENTENCES = (
    (r"argument (.+?): invalid int value: (.+)", "{0} takes a whole number, not {1}"),
    (r"argument (.+?): invalid float value: (.+)", "{0} takes a number, not {1}"),
    (r"argument (.+?): invalid choice: (.+?) \(choose from (.+)\)", "{0} takes {2}, not {1}"),
    (r"argument (.+?): expected (?:one|at least one|1) argument", "{0} needs a value"),
    (r"argument (.+?): expected (\d+) arguments", "{0} needs {1} values"),
    (r"argument (.+?): not allowed with argument (.+)", "{0} and {1} exclude each other"),
    (r"argument (.+?): ignored explicit argument (.+)", "{0} takes no value, and {1} was given"),
    (r"the following arguments are required: (.+)", "{0} is missing"),
    (r"one of the arguments (.+) is required", "one of {0} is needed"),
)
LONGEST = 400


class OneSentence(argparse.ArgumentParser):
    """argparse, but for the usage of up to a dozen lines that it prints before each error."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{sentence(message)}; `{self.prog} --help` shows how it is used")


def sentence(message: str) -> str:
    """argparse's words as ours; what nobody foresaw stays as it is."""
    for pattern, form in _SENTENCES:
        found = re.fullmatch(pattern, message, re.DOTALL)
        if found:
            return plain(form.format(*found.groups()), LONGEST)
    return plain(message, LONGEST)
