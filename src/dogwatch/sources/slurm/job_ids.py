"""Slurm job ids as people write them and as sbatch prints them: 12345_7, Submitted batch job 12345, 12345;cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dogwatch.errors import UsageError
from dogwatch.sources.interface import JobId
from dogwatch.text import plain

# 12345, 12345_7, 12345_[3-9%2], 12345+1, 12345.batch: all parts of the job 12345.
_ID = r"([1-9][0-9]{0,15})(?:_(?:[0-9]+|\[[0-9,%:-]+\])|\+[0-9]+)?(?:\.[a-z0-9]+)?"
_CLUSTER = r"[A-Za-z][A-Za-z0-9_.-]{0,39}"
_BARE = re.compile(_ID)
_PARSABLE = re.compile(rf"{_ID};({_CLUSTER})")
_SENTENCE = re.compile(
    rf"(?:sbatch: |salloc: )?(?:Submitted batch job|Granted job allocation) {_ID}(?: on cluster ({_CLUSTER}))?"
)
_REGISTERED = re.compile(r"([1-9][0-9]{0,9})(?:_(?:[0-9]{1,9}|\[[0-9,%-]{1,200}\])|\+[0-9]{1,4})?")
_REMARK = re.compile(r"(?:sbatch|salloc|srun): ")  # what else they say, as with 2>&1


def registered(text: str) -> str | None:
    """The job that a registry names, by the id under which it is watched; None if it is no id."""
    named = _REGISTERED.fullmatch(text)
    return None if named is None else named[1]


def job_id(text: str) -> JobId:
    """One job, as one line names it."""
    for form in (_BARE, _PARSABLE, _SENTENCE):
        found = form.fullmatch(text)
        if found is not None:
            return JobId(found[1], found[2] if form is not _BARE else None)
    raise UsageError(
        f"'{plain(text, 60)}' is not a Slurm job id; they look like 12345, 12345_7, 12345+1,"
        " 12345;cluster or 'Submitted batch job 12345'"
    )


def in_words(words: Sequence[str]) -> list[JobId]:
    """The jobs that arguments name, each once: a word is an id, or all that sbatch printed."""
    lines = [line for word in words for line in (word.splitlines() if _SENTENCE.match(word) else [word])]
    return list(dict.fromkeys(job_id(line) for line in lines))


def in_output(text: str) -> list[JobId]:
    """The jobs in what sbatch printed, each once; its remarks and empty lines are passed over."""
    lines = [line.strip() for line in text.splitlines()]
    named = [line for line in lines if line and (_SENTENCE.fullmatch(line) or not _REMARK.match(line))]
    if not named:
        last = next((line for line in reversed(lines) if line), "")
        said = f"; the last line was '{plain(last, 120)}'" if last else ""
        raise UsageError(f"there was no job id on stdin, so nothing was registered: did sbatch refuse the job?{said}")
    return list(dict.fromkeys(job_id(line) for line in named))
