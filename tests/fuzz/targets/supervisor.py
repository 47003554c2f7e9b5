"""The records that a supervisor writes into a run's directory, and pid files."""

from __future__ import annotations

import json
from contextlib import suppress

from dogwatch.model import Known
from dogwatch.remote.probe.files import file_papers
from dogwatch.remote.probe.find import document_identity, pids_in, roster
from dogwatch.remote.probe.wire import WRONG_SHAPE, Refused, mapping
from dogwatch.sources.process import source
from dogwatch.wire.answer import Malformed, read
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
    """Records are sorted or said to be none; what the probe tells of them is refused by the check of every answer, or
    read without an error."""
    dice = Dice(data)
    text = dice.document(TRUTH)
    with suppress(Refused):
        pids_in(text)
    try:
        told = mapping(json.loads(text), "records")
        papers = {name.encode(): mapping(paper, "a record") for name, paper in told.items() if name in TRUTH}
    except (*WRONG_SHAPE, Refused):
        return
    sorted_papers = file_papers(papers, None)
    workers = [
        {"index": index, "start": start, "end": end, "process": PROCESS if who else None}
        for index, start, end, who in roster(sorted_papers)
    ]
    run = {
        "supervisor": sorted_papers["supervisor"],
        "supervisor_alive": document_identity(sorted_papers["supervisor"]) is not None,
    }
    run |= {"spec_workers": sorted_papers["workers"], "workers": workers, "abandoned": False}
    run |= {"problem": sorted_papers["problem"]}
    try:
        body = read(json.dumps({"process": {"ok": True, "runs": {"r": run}, "pids": {}, "find": {}}}).encode())
    except Malformed:
        return
    source.read(body["process"], WATCHED[:1], {"r": Known()}, 1.0)


def seeds() -> list[bytes]:
    return [*documents(TRUTH, *({name: paper} for name, paper in TRUTH.items())), b"\x0012 13\n14\n", b"\x00pid: 7"]
