"""Repeats: a probe that lives on remembers what it was asked about logs; the same question is not sent again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from dogwatch.wire.answer import CheckedAnswer
from dogwatch.wire.json_value import JsonObject, JsonValue


class Repeats:
    """What one probe was asked last about the logs of each job. It is forgotten with the probe."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[int, JsonObject]] = {}
        self._marks = count(1)

    def shorten(self, request: JsonObject) -> JsonObject:
        """The request, with a mark in place of every question about logs that was put before."""
        logs = _logs(request)
        return {**request, "logs": {job: self._named(job, spec) for job, spec in logs.items()}} if logs else request

    def again(self, request: JsonObject, answer: CheckedAnswer) -> JsonObject | None:
        """What has to be asked in full after all: the questions that the probe's file reader does not remember, since
        it is not the one that was asked. One that was late is replaced, and remembers nothing."""
        if answer.logs.late:
            self._asked.clear()
        forgotten = [job for job, row in answer.logs.rows.items() if row.again]
        for job in forgotten:
            self._asked.pop(job, None)
        return self.shorten({"logs": {job: _logs(request)[job] for job in forgotten}}) if forgotten else None

    def add(self, answer: CheckedAnswer, more: CheckedAnswer) -> None:
        """Take the answers to what was asked again into the first answer; what is late in one is late."""
        known = {job: row for job, row in answer.logs.rows.items() if not row.again}
        answer.logs.rows = {**known, **more.logs.rows}
        answer.logs.late = [*answer.logs.late, *more.logs.late]
        answer.body["logs"] = {**answer.body["logs"], **more.body["logs"]}

    def _named(self, job: str, spec: JsonValue) -> JsonValue:
        mark, before = self._asked.get(job, (0, None))
        if before == spec:
            return {"job": job, "mark": mark}
        if not isinstance(spec, Mapping):
            return spec  # the probe says what is wrong with it
        mark = next(self._marks)
        self._asked[job] = (mark, {key: dict(part) if isinstance(part, dict) else part for key, part in spec.items()})
        return {**spec, "job": job, "mark": mark}


def _logs(request: JsonObject) -> JsonObject:
    logs = request.get("logs")
    return logs if isinstance(logs, dict) else {}
