"""The parser of a verb: examples first in its help, and one sentence for what is wrong with a command line.

Help, completion, man page and docs/reference/cli.md are all made from what is declared here.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from dogwatch.cli.verbs import load, nearest
from dogwatch.errors import UsageError
from dogwatch.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# What argparse says → what we say. `{0}` is the option or the word.
_SENTENCES = (
    (r"argument (.+?): invalid int value: (.+)", "{0} takes a whole number, not {1}"),
    (r"argument (.+?): invalid float value: (.+)", "{0} takes a number, not {1}"),
    (r"argument (.+?): expected (?:one|at least one|1) argument", "{0} needs a value"),
    (r"argument (.+?): expected (\d+) arguments", "{0} needs {1} values"),
    (r"argument (.+?): not allowed with argument (.+)", "{0} and {1} cannot be used together"),
    (r"argument (.+?): ignored explicit argument (.+)", "{0} takes no value, but got {1}"),
    (r"the following arguments are required: (.+)", "{0} is missing"),
    (r"one of the arguments (.+) is required", "one of {0} is needed"),
    (r"argument (.+?): (.+)", "{0}: {1}"),
)
LONGEST = 400
WIDEST, NARROWEST = 80, 40
LEFT = 26  # columns for an option; a longer one has a line of its own
TITLES = {"positional arguments": "Arguments", "options": "Options"}
Rows = list[tuple[str, str]]
LARGEST = 1 << 62


class VerbParser(argparse.ArgumentParser):
    """argparse, with our help page and our errors; a verb's own verbs get parsers of this class too."""

    def __init__(
        self,
        *,
        examples: Sequence[str] = (),
        details: str = "",
        exit_codes: Mapping[int, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more, allow_abbrev=False)
        self.register("type", int, whole_number)
        self._actions[0].help = "show this help"
        self.examples, self.details, self.exit_codes = tuple(examples), details, dict(exit_codes or {})

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{sentence(message)}; see `{self.prog} --help`")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        near = nearest(str(value), known)
        if isinstance(action, argparse._SubParsersAction):
            shown = [name for name, _ in self.commands()]
            hint = f"did you mean `{self.prog} {near}`?" if near else f"choose {_either(shown)}"
            raise UsageError(f"unknown command `{self.prog} {plain(str(value), 60)}`; {hint}")
        hint = f"; did you mean {near}?" if near else ""
        name = "/".join(action.option_strings) or action.metavar
        raise UsageError(f"{name} takes {_either(known)}, not {plain(str(value), 60)!r}{hint}")

    def parts(self) -> dict[str, VerbParser]:
        """The parsers of a verb's own verbs, hidden ones too."""
        found = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        return {name: part for action in found for name, part in action.choices.items()}

    def commands(self) -> Rows:
        """A verb's own verbs that help shows, each with its line."""
        found = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        return [(one.dest, one.help or "") for action in found for one in action._choices_actions]

    def words(self) -> list[argparse.Action]:
        """What is given without a flag."""
        return [one for one in self._actions if _shown(one) and not one.option_strings]

    def flags(self) -> list[argparse.Action]:
        """The options, in the order of the help."""
        return [one for one in self._actions if _shown(one) and one.option_strings]

    def unknown(self, word: str, words: Sequence[str]) -> str:
        """What is wrong with a word that the verb does not take, and what may have been meant; `words` are all."""
        parts = self.parts()
        chosen = next((parts[one] for one in words if one in parts), self)
        if not word.startswith("-"):
            return f"unexpected argument {plain(word, 60)!r}; see `{chosen.prog} --help`"
        name = word.partition("=")[0]
        owners = [part.prog for part in parts.values() if name in part._option_string_actions]
        near = nearest(name, [*chosen._option_string_actions])
        hint = f"did you mean {near}?" if near else f"see `{chosen.prog} --help`"
        if owners:
            hint = f"it is an option of {_either([f'`{prog}`' for prog in owners])}"
        return f"unknown option {plain(name, 60)!r} for `{chosen.prog}`; {hint}"

    def format_usage(self) -> str:
        if self.usage:
            return self.usage
        positional = [_form(one) for one in self.words()]
        command = ["COMMAND"] if self.parts() else []
        return " ".join([self.prog, *command, *positional, "[OPTIONS]"])

    def sections(self) -> Iterator[tuple[str, Rows]]:
        """The lists of the help page: title, and rows of two columns."""
        if self.commands():
            yield "Commands", self.commands()
        for group in self._action_groups:
            rows = [(invocation(one), explained(one)) for one in group._group_actions if _shown(one)]
            if rows:
                yield TITLES.get(group.title or "", group.title or ""), rows
        if self.exit_codes:
            yield "Exit codes", [(str(code), text) for code, text in self.exit_codes.items()]

    def format_help(self) -> str:
        wide = columns()
        blocks = [fold(f"Usage: {self.format_usage()}", wide, 7), fold(self.description or "", wide)]
        if self.examples:
            blocks.append("\n".join(["Examples:", *(_folded_example(line, wide) for line in self.examples)]))
        blocks += [f"{title}:\n{two_columns(rows, wide)}" for title, rows in self.sections()]
        blocks += [fold(text, wide) for text in self.details.split("\n\n")]
        return "\n\n".join(filter(None, blocks)) + "\n"


def parser_of(verb: str) -> VerbParser:
    """The parser of a verb, with what its file says."""
    module = load(verb)
    parser = VerbParser(
        prog=f"dogwatch {verb}",
        description=module.ABOUT,
        examples=module.EXAMPLES,
        details=getattr(module, "DETAILS", ""),
        exit_codes=getattr(module, "EXIT_CODES", None),
    )
    module.arguments(parser)
    return parser


def _shown(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction)


def _form(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None and action.metavar is None:
        name = "|".join(map(str, action.choices))
    match action.nargs:
        case "?":
            return f"[{name}]"
        case "*":
            return f"[{name}...]"
        case "+" | argparse.REMAINDER:
            return f"{name}..."
    return name


def invocation(action: argparse.Action) -> str:
    """How an option or an argument is written: `-n, --lines N`."""
    names = ", ".join(action.option_strings)
    if not names:
        return _form(action).strip("[].")
    return names if action.nargs == 0 else f"{names} {_form(action)}"


def explained(action: argparse.Action) -> str:
    """The help of an option, with its default where it has one."""
    text, default = action.help or "", action.default
    if default in (None, False, "", ".", argparse.SUPPRESS) or isinstance(default, list) or "default" in text:
        return text
    return f"{text} (default: {default})"


def columns() -> int:
    """The width of a help page: the terminal's, and at most 80."""
    import shutil

    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def fold(text: str, wide: int, indent: int = 0) -> str:
    """Paragraphs in lines of that width, later ones indented."""
    lines = [line for part in text.split("\n") for line in _wrap(part, wide, " " * indent)]
    return "\n".join(lines)


def _wrap(text: str, wide: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, wide, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _folded_example(line: str, wide: int) -> str:
    """An example that can be pasted into a shell: a line ends before an option, with a backslash."""
    if len(line) + 2 <= wide:
        return f"  {line}"
    kept = re.sub(" (?![->|&])", "\N{NO-BREAK SPACE}", line)
    return " \\\n".join(_wrap(f"  {kept}", wide - 2, " " * 6)).replace("\N{NO-BREAK SPACE}", " ")


def two_columns(rows: Rows, wide: int) -> str:
    """Options on the left, what they mean on the right."""
    left = min(LEFT, max(len(name) for name, _ in rows))
    lines = []
    for name, text in rows:
        body = _wrap(text, wide - left - 4) or [""]
        if len(name) > left:
            lines.append(f"  {name}")
        first = "" if len(name) > left else name
        lines += [f"  {'' if at else first:<{left}}  {part}".rstrip() for at, part in enumerate(body)]
    return "\n".join(lines)


def _either(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def whole_number(word: str) -> int:
    """What `type=int` means here: a number that the store can hold."""
    number = int(word)
    if abs(number) > LARGEST:
        raise argparse.ArgumentTypeError(f"{word[:40]} is too large")
    return number


def sentence(message: str) -> str:
    """argparse's message as ours; one that is not in the table stays as it is."""
    for pattern, form in _SENTENCES:
        found = re.fullmatch(pattern, message, re.DOTALL)
        if found:
            return plain(form.format(*found.groups()), LONGEST)
    return plain(message, LONGEST)
