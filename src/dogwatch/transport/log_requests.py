"""Repeats: a probe that lives on remembers what it was asked about logs; the same question is not sent again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any


class Repeats:
    """What one probe was asked last about the logs of each job. It is forgotten with the probe."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[int, dict[str, Any]]] = {}
        self._marks = count(1)

    def shorten(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The request, with a mark in place of every question about logs that was put before."""
        logs = request.get("logs")
        if not isinstance(logs, dict):
            return request
        return {**request, "logs": {job: self._named(job, spec) for job, spec in logs.items()}}

    def again(self, request: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any] | None:
        """What has to be asked in full after all: the questions that the probe's file reader does not remember, since
        it is not the one that was asked. One that was late is replaced, and remembers nothing."""
        rows = _rows(body)
        if "late" in rows:
            self._asked.clear()
        forgotten = [job for job, row in rows.items() if isinstance(row, dict) and row.get("again")]
        for job in forgotten:
            self._asked.pop(job, None)
        return dict(self.shorten({"logs": {job: request["logs"][job] for job in forgotten}})) if forgotten else None

    def add(self, body: dict[str, Any], more: Mapping[str, Any]) -> None:
        """Take the answers to what was asked again into the first answer; what is late in one is late."""
        rows, late = _rows(body), [*_rows(body).get("late", ()), *_rows(more).get("late", ())]
        rows = {job: row for job, row in rows.items() if not (isinstance(row, dict) and row.get("again"))}
        body["logs"] = {**rows, **_rows(more), **({"late": late} if late else {})}

    def _named(self, job: str, spec: Any) -> Any:
        mark, before = self._asked.get(job, (0, None))
        if before == spec:
            return {"job": job, "mark": mark}
        if not isinstance(spec, dict):
            return spec  # the probe says what is wrong with it
        mark = next(self._marks)
        self._asked[job] = (mark, {key: dict(part) if isinstance(part, dict) else part for key, part in spec.items()})
        return {**spec, "job": job, "mark": mark}


def _rows(body: Mapping[str, Any]) -> Mapping[str, Any]:
    rows = body.get("logs")
    return rows if isinstance(rows, dict) else {}
