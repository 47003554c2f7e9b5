"""The records that a supervisor writes into a run's directory, and pid files."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from dogwatch.model import Known
from dogwatch.remote.probe.files import sort_records, usable_record
from dogwatch.remote.probe.find import pids_in, record_identity, worker_records
from dogwatch.remote.probe.wire import WRONG_SHAPE, Fields, Refused
from dogwatch.sources.process import source
from dogwatch.wire.answer import read
from tests.fuzz.dice import Dice, documents
from tests.fuzz.targets.answer import PROCESS, RECORD, WATCHED

TRUTH = {
    "spec.json": {"run": "r", "workers": 2, "argv": ["python"]},
    "supervisor.json": {**RECORD, "run": "r"},
    "worker-0.start.json": {**RECORD, "run": "r"},
    "worker-0.end.json": {**RECORD, "run": "r", "code": None, "signal": 9, "error": "x"},
    "worker-1.start.json": RECORD,
}


def target(data: bytes) -> None:
    """Records are sorted or said to be none; what the probe tells of them passes the check of every answer, and is read
    without an error."""
    dice = Dice(data)
    text = dice.document(TRUTH)
    with suppress(Refused):
        pids_in(text)
    try:
        told = Fields(json.loads(text), "records").words
        found: dict[bytes, Any] = {
            name.encode(): usable_record(record) for name, record in told.items() if name in TRUTH
        }
    except (*WRONG_SHAPE, Refused):
        return
    records = sort_records(found, None)
    workers = [
        {"index": index, "start": start, "end": end, "process": PROCESS if who else None}
        for index, start, end, who in worker_records(records)
    ]
    run: dict[str, Any] = {
        "supervisor": records["supervisor"],
        "supervisor_alive": record_identity(records["supervisor"]) is not None,
    }
    run |= {"spec_workers": records["workers"], "workers": workers, "abandoned": False}
    run |= {"problem": records["problem"]}
    answer = read(json.dumps({"process": {"ok": True, "runs": {"r": run}, "pids": {}, "find": {}}}).encode())
    assert answer.process is not None
    source.read(answer.process, WATCHED[:1], {"r": Known()}, 1.0)


def seeds() -> list[bytes]:
    return [*documents(TRUTH, *({name: record} for name, record in TRUTH.items())), b"\x0012 13\n14\n", b"\x00pid: 7"]
