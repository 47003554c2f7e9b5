"""Where the folders of a job's files are when it is added (see remote/probe/allowed_paths.py).

The watcher keeps the real names of folders from its first poll on. Between `dogwatch add` and that poll a job could put
a link in the place of a folder, so they are asked for at once, with the question that is put to the place anyway.
"""

from __future__ import annotations

from collections.abc import Mapping

from dogwatch.model import Expectation, Unreachable
from dogwatch.transport.interface import Transport
from dogwatch.wire.answer import CheckedAnswer
from dogwatch.wire.questions import Questions
from dogwatch.wire.requests import FileRequest

JOB = "job"
DEADLINE = 5.0


def question(expect: Expectation) -> dict[str, FileRequest]:
    """What is asked of the files section."""
    globs = [*expect.logs, *expect.outputs, *expect.checkpoints]
    return {JOB: FileRequest(folders=globs)} if globs else {}


def read(answer: CheckedAnswer) -> Mapping[str, str]:
    """The real names, by the names that were given; none of what did not answer in time."""
    row = answer.files.rows.get(JOB)
    return {} if row is None else row.real


def ask(transport: Transport, expect: Expectation) -> Mapping[str, str]:
    """The same where nothing else is asked of the place."""
    files = question(expect)
    answer = transport.ask(Questions(files=files).to_request(), DEADLINE) if files else None
    return {} if answer is None or isinstance(answer, Unreachable) else read(answer.checked)
