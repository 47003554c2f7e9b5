"""Where a job writes: the files that Slurm names, and those that its batch script redirects to.

Everything here is text from the job, so that what comes out is a list of globs to look for and nothing more: no
command is run, no variable is taken from anywhere but the script and Slurm, and what is not known becomes `*`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

from dogwatch.model import Facts

MOST = 16
_SCRIPT = 1_000_000
_PATTERN = re.compile(r"%(%|([0-9]{0,2})([AabjJnNstuxX]))")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::?[-+=?][^}]*)?\}|([A-Za-z_][A-Za-z0-9_]*))")
_COMMAND = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^}]*\}|\$[0-9@*#?!$-]")
_INNER = re.compile(r"\$\([^()]*\)|`[^`]*`")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")
_SRUN_FILES = ("--output", "--error", "-o", "-e")
_ENDS = frozenset({"|", "||", "&&", ";", "&", "|&"})
_REDIRECTS = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_USUAL_FOLDERS, _USUAL_ENDINGS = ("", "logs", "log", "slurm"), (".out", ".log", ".err")
_NO_DIGIT = "\1"  # stands for anything that does not end in a digit
_LONGEST_PATH = 4096  # of the kernel; a script may name anything, and the check of answers refuses what is too long
_ANY = "\0"  # stands for whatever is not known, until the path is written as a glob


def logs_of(facts: Facts, id: str, script: str | None = None) -> tuple[str, ...]:
    """The globs of a job's logs: Slurm's own first, then those of its batch script, each once."""
    names = _Names(facts, id)
    found: list[str] = []
    for path in filter(None, (facts.stdout, facts.stderr)):
        found.append(names.glob(names.resolve(names.default(path)), names.workdir))
    if script:
        found += names.in_script(script[:_SCRIPT])
    return tuple(dict.fromkeys(path for path in found if path))[:MOST]


def usual_logs(facts: Facts, id: str) -> tuple[str, ...]:
    """Where jobs write as a rule, below the work directory: for one that the accounting alone still knows, which does
    not say where its log is. An id in a name is one only where no digit stands beside it."""
    names = _Names(facts, id)
    folder = names.workdir
    if not folder.startswith("/") or folder == "/":
        return ()
    piece = f"{id}_{_ANY}" if names.array else id
    found = [os.path.join(folder, f"slurm-{piece}.out")]
    for below in _USUAL_FOLDERS:
        for ending in _USUAL_ENDINGS:
            found.append(os.path.join(folder, below, f"{_NO_DIGIT}{piece}{ending}"))
    globs = (names.glob(path, folder) for path in found)
    return tuple(path.replace(_NO_DIGIT, "*[!0-9]") for path in globs if path)[:MOST]


class _Names:
    """What the patterns and variables of one job stand for."""

    def __init__(self, facts: Facts, id: str) -> None:
        self.array = facts.tasks is not None and facts.tasks.is_array
        self.id = id
        self.workdir = facts.workdir
        node = re.split(r"[,.]", facts.nodes, maxsplit=1)[0]
        self.values = {
            "A": id,
            "j": _ANY if self.array else id,
            "J": _ANY if self.array else f"{id}{_ANY}",
            "a": _ANY if self.array else "4294967294",
            "x": facts.name or _ANY,
            "u": facts.user or _ANY,
            "N": node if node and "[" not in node else _ANY,
        }
        self.variables: dict[str, str | None] = {
            "SLURM_JOB_ID": self.values["j"],
            "SLURM_JOBID": self.values["j"],
            "SLURM_ARRAY_JOB_ID": id,
            "SLURM_ARRAY_TASK_ID": _ANY,
            "SLURM_JOB_NAME": self.values["x"],
            "SLURM_JOB_USER": self.values["u"],
            "USER": self.values["u"],
            "SLURM_SUBMIT_DIR": self.workdir or None,
            "PWD": self.workdir or None,
        }

    def default(self, path: str) -> str:
        """Slurm 22.05 names slurm-ID.out for every task of an array, which none of them writes to."""
        folder, name = os.path.split(path)
        if self.array and re.fullmatch(r"slurm-[0-9]+\.out", name):
            return os.path.join(folder, "slurm-%A_%a.out")
        return path

    def resolve(self, path: str) -> str:
        """Slurm's `%` patterns filled in; a backslash anywhere turns them off, as it does for Slurm."""
        if "\\" in path:
            return path.replace("\\", "")

        def fill(match: re.Match[str]) -> str:
            if match[1] == "%":
                return "%"
            value = self.values.get(match[3], _ANY)
            return value.zfill(min(10, int(match[2] or 0))) if value.isdecimal() else value

        return _PATTERN.sub(fill, path)

    def glob(self, path: str, folder: str) -> str:
        """An absolute glob, or nothing for what is no file or could be anywhere."""
        if not path or path.startswith(("&", "/dev/")) or path in ("-", "none", "/"):
            return ""
        if not path.startswith("/"):
            if not folder.startswith("/") or path.startswith(("~", _ANY + "/")):
                return ""
            path = os.path.join(folder, path)
        path = os.path.normpath(path)
        first = path.split("/")[1]
        if "\n" in path or _ANY in first or not os.path.basename(path).strip(_ANY):
            return ""
        found = re.sub(f"{_ANY}+", "*", re.sub(r"([*?[])", r"[\1]", path))
        return found if len(found.encode("utf-8", "surrogateescape")) <= _LONGEST_PATH else ""

    def in_script(self, script: str) -> list[str]:
        """The files that the script's own redirections, `tee` and `srun --output` name."""
        folder, found = self.workdir, []
        for line in _lines(script):
            for words in _commands(line):
                folder = self._changed(words, folder)
                for path, patterns in _files(words):
                    resolved = self._expand(path)
                    if resolved is not None:
                        found.append(self.glob(self.resolve(resolved) if patterns else resolved, folder))
        return found

    def _changed(self, words: list[str], folder: str) -> str:
        """The directory after a command, and any variable that it set."""
        at = 1 if words[:1] in (["export"], ["readonly"], ["local"], ["declare"]) else 0
        for word in words[at:]:
            set_ = _ASSIGNMENT.fullmatch(word)
            if set_ is None:
                break
            self.variables[set_[1]] = self._expand(set_[2])
        if words[:1] == ["cd"] and len(words) == 2:
            target = self._expand(words[1])
            inside = "" if target is None or _ANY in target else os.path.join(folder, target)
            return inside if len(inside) <= _LONGEST_PATH else ""
        return folder

    def _expand(self, text: str) -> str | None:
        """A word with its variables; None when what it begins with is not known, so that it could be anywhere, and when
        it is too long for a path: `A=$A$A` in sixty lines would fill any memory."""
        known, size = len(text) <= _LONGEST_PATH, 0

        def value(match: re.Match[str]) -> str:
            nonlocal known, size
            found = self.variables.get(match[1] or match[2])
            size += len(found or "")
            if size > _LONGEST_PATH:
                known = False
                return ""
            if found is None:
                known = known and match.start() > 0
                return _ANY
            return found

        expanded = _COMMAND.sub(_ANY, _VARIABLE.sub(value, text.replace(_ANY, "")))
        return expanded if known and not expanded.startswith(_ANY) else None


def _lines(script: str) -> Iterator[str]:
    """The lines of a script with continued ones joined, without comments and here-documents."""
    until = ""
    for line in re.sub(r"\\\r?\n", " ", script).split("\n"):
        if until:
            until = "" if line.strip() == until else until
            continue
        found = _HEREDOC.search(line)
        until = found[2] if found else ""
        if not line.lstrip().startswith("#"):
            yield line[:10_000]


def _commands(line: str) -> Iterator[list[str]]:
    """The simple commands of a line as words; a line that does not parse has none."""
    lexer = shlex.shlex(_INNER.sub(_protect, line), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    try:
        for word in lexer:
            if word in _ENDS:
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        return
    yield words


def _protect(_: re.Match[str]) -> str:
    """A command in a command may hold anything; here it is one unknown word."""
    return "$0"


def _files(words: list[str]) -> Iterator[tuple[str, bool]]:
    """The files that one command writes its output to, and whether Slurm fills in their patterns."""
    srun = bool(words) and os.path.basename(words[0]) == "srun"
    tee = bool(words) and os.path.basename(words[0]) == "tee"
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        if word in _REDIRECTS:
            if after and not after.isdecimal() and after != "-":
                yield after, False
        elif tee and at and not word.startswith("-") and words[at - 1] not in _REDIRECTS:
            yield word, False
        elif srun and word in _SRUN_FILES:
            yield after, True
        elif srun and word.startswith(("--output=", "--error=")):
            yield word.partition("=")[2], True
