"""Extra probes: what may hang or crash beside a poll costs the poll nothing but itself."""

from __future__ import annotations

import base64
import os
import zlib
from pathlib import Path
from typing import Any

from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.wire.json_value import JsonObject
from tests.support import wait_until


def packed(body: str) -> str:
    program = "import os, time\ndef extra_probe(call):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return base64.b64encode(zlib.compress(program.encode())).decode()


def asked(here: Here, body: str, *, seconds: int = 20, wait: int = 20, **call: Any) -> dict[str, Any]:
    """What an extra probe with this body says, beside a look at a process."""
    spec: JsonObject = {"program": packed(body), "call": call, "seconds": seconds, "wait": wait}
    answer = here.ask({"process": {"pids": {"job": [[os.getpid(), None, None]]}}, "extra_probes": {"it": spec}}, 40.0)
    assert isinstance(answer, Answer), answer
    assert answer.body["process"]["ok"] is True
    row: dict[str, Any] = answer.body["extra_probes"]["it"]
    return row


def test_an_errand_answers_with_what_its_program_returns(here):
    """The call goes in, the answer comes back, and what it prints goes nowhere."""
    assert asked(here, "print('noise'); os.write(1, b'noise'); return {'twice': 2 * call['n']}", n=21) == {"twice": 42}


def test_a_crash_is_told_and_the_probe_lives_on(here):
    """A library that runs into a wrong address takes its child down, and nobody else."""
    here.ask({}, 10.0)
    before = here.pid
    assert asked(here, "os.kill(os.getpid(), 11)") == {"why": "it ended with signal 11"}
    assert asked(here, "raise SystemExit(3)") == {"why": "it ended with code 1"}
    assert asked(here, "return call['lacking']")["why"] == "KeyError: 'lacking'"
    assert here.pid == before


def test_what_outlasts_a_look_answers_a_later_one(here, tmp_path):
    """The first poll does not wait for it, and asking again starts no second one."""
    gate, count = tmp_path / "gate", tmp_path / "count"
    body = (
        "os.write(os.open(call['count'], os.O_WRONLY | os.O_CREAT | os.O_APPEND), b'x')\n"
        "while not os.path.exists(call['gate']): time.sleep(0.01)\n"
        "return {'done': 1}"
    )
    call: dict[str, Any] = {"gate": str(gate), "count": str(count)}
    assert asked(here, body, wait=0, **call) == {"pending": True}
    assert asked(here, body, wait=0, **call) == {"pending": True}
    gate.touch()
    assert asked(here, body, wait=20, **call) == {"done": 1}
    assert count.read_bytes() == b"x"


def test_what_hangs_is_ended_by_its_own_alarm(here, tmp_path):
    """Also when nobody asks for it again: nothing of it stays."""
    note = tmp_path / "pid"  # of the second: the first one's would be read while it is written over
    body = "open(call['note'], 'w').write(str(os.getpid()))\nwhile True: time.sleep(1)"
    assert asked(here, body, seconds=1, wait=20, note=str(tmp_path / "first")) == {"why": "no answer in 1 s"}
    assert asked(here, body, seconds=1, wait=0, note=str(note)) == {"pending": True}
    wait_until(lambda: note.exists() and note.read_text())
    pid = int(note.read_text())
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text())
    assert asked(here, body, seconds=1, wait=20, note=str(note)) == {"why": "no answer in 1 s"}


def test_an_answer_has_a_cap(here):
    """A program that went mad does not fill the watcher's memory."""
    assert asked(here, "return {'text': 'x' * (17 << 20)}") == {"why": "it printed too much"}


def test_a_wrong_request_is_refused_in_words(here):
    """The shape of an extra probe is checked like everything else."""
    answer = here.ask({"extra_probes": {"it": {"program": "x", "wait": 1, "seconds": "soon"}}}, 10.0)
    assert not isinstance(answer, Answer)
    assert "seconds must be a whole number" in answer.why
    answer = here.ask({"extra_probes": {"it": {"program": "eHl6"}}}, 10.0)
    assert not isinstance(answer, Answer)
    assert "program: " in answer.why


def test_what_is_waited_for_to_the_end_comes_last_and_answers_this_look_or_none(here, tmp_path):
    """It finds the rest of the poll done; when it is late it is ended, and asking again is asking anew."""
    note = tmp_path / "note"
    slow = packed("os.write(os.open(call['note'], os.O_WRONLY | os.O_CREAT | os.O_APPEND), b'x')\ntime.sleep(60)")
    request = {"extra_probes": {"slow": {"program": slow, "call": {"note": str(note)}}}}
    for count in (1, 2):
        answer = here.ask(request, 2.0)
        assert isinstance(answer, Answer)
        assert answer.body["extra_probes"]["slow"] == {"why": "no answer before the poll was over"}
        assert len(note.read_bytes()) == count
    quick = {"extra_probes": {"slow": {"program": packed("return {'n': 1}"), "call": {}}}}
    answer = here.ask(quick, 10.0)
    assert isinstance(answer, Answer)
    assert answer.body["extra_probes"] == {"ok": True, "slow": {"n": 1}}


def test_one_look_may_send_several_and_each_answers_for_itself(here):
    """A crash of one is no other's, whether it runs beside the poll or after it."""
    specs = {
        "beside": {"program": packed("return {'at': 'beside'}"), "wait": 20},
        "after": {"program": packed("return {'at': 'after'}")},
        "broken": {"program": packed("return 1 // 0")},
        "absent": {"program": packed("return os.stat('/no/such/file')"), "wait": 20},
    }
    answer = here.ask({"extra_probes": specs}, 20.0)
    assert isinstance(answer, Answer)
    said = answer.body["extra_probes"]
    assert (said["beside"], said["after"]) == ({"at": "beside"}, {"at": "after"})
    assert "code 1" in said["broken"]["why"]
    assert "No such file" in said["absent"]["why"]


def test_an_errand_finds_what_the_probe_defines(here):
    """So that nothing has to travel twice; what it calls by the same name is its own."""
    own = "global slurp\nslurp = 5\nreturn {'boot': callable(kernel_records), 'own': slurp}"
    assert asked(here, own) == {"boot": True, "own": 5}
    answer = here.ask({"process": {"pids": {"job": [[os.getpid(), None, None]]}}}, 10.0)
    assert isinstance(answer, Answer)
    assert answer.body["process"]["ok"] is True
