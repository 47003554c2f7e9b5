"""What travels runs on the oldest Python that a host may have, and says there what it says here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dogwatch import remote
from dogwatch.actions.launch import prepare
from tests.support import wait_until, with_the_probe

ANY = {"seconds", "clock", "python"}


@pytest.fixture(scope="module")
def old() -> str:
    """A Python 3.6, which few machines still have."""
    found = shutil.which("python3.6")
    # A shim of pyenv is there and may not work.
    if found and subprocess.run([found, "-I", "-S", "-c", ""], capture_output=True, timeout=60).returncode == 0:
        return found
    pytest.skip("needs a python3.6 on the PATH")


def ask(python: str, program: bytes) -> dict[str, Any]:
    """As over ssh, in the poorest of locales."""
    poor = {"LC_ALL": "C", "PATH": os.environ["PATH"], "USER": "somebody"}
    argv = [python, "-I", "-S", "-c", "import sys; exec(sys.stdin.buffer.read())", remote.MARK]
    done = subprocess.run(argv, input=program, capture_output=True, env=poor, timeout=60, start_new_session=True)
    assert done.stderr == b""
    answer, end, rest = done.stdout.rpartition(b"\nDOGWATCH-END a1 ")
    assert end
    assert int(rest) == len(answer)
    told: dict[str, Any] = json.loads(answer)
    return told


def lasting(value: Any) -> Any:
    """An answer without what differs from one moment to the next."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in ANY}
    return value


@pytest.fixture
def request_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """One with every section, and a name that the C locale cannot spell."""
    (tmp_path / "squeue").write_text("#!/bin/sh\nprintf '7\\037R\\037\\303\\251\\n8\\037CD\\037x\\n'\n")
    (tmp_path / "sacct").write_text("#!/bin/sh\necho '8|COMPLETED'\n")
    (tmp_path / "scontrol").write_text("#!/bin/sh\necho '#!/bin/sh'; echo 'ClusterName = lab'\n")
    rocm = '{"card0": {"GPU use (%)": "7", "Card series": "é"}, "system": {"PID1": "init, 1, 4096, 0, 0"}}'
    (tmp_path / "rocm-smi").write_text(f"#!/bin/sh\necho '{rocm}'\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("squeue", "sacct", "scontrol", "rocm-smi"):
        (tmp_path / name).chmod(0o755)
    log = tmp_path / "Übung-é.log"
    log.write_text("step 1/2 é\n")
    (tmp_path / "gpu_metrics.csv").write_text("utilization.gpu [%]\n50 %\n")
    rows = {"ids": ["7", "8"], "separator": "\x1f", "id": 0, "state": 1}
    rest, running = {"of": "list", "states": ["R"]}, {"of": "list", "states": ["R"], "listed": True, "each": True}
    commands = {
        "list": {"argv": ["squeue", "-h"], "path": [str(tmp_path)], "rows": rows, "users_after": "by "},
        "rest": {"argv": ["sacct", "-P", "--jobs={ids}"], "path": [str(tmp_path)], "follow_up": rest, "after": "list"},
        "script": {"argv": ["scontrol", "{id}"], "path": [str(tmp_path)], "follow_up": running, "unset": ["SQUEUE_*"]},
    }
    request = {
        "nonce": "a1",
        "deadline": 30.0,
        "commands": commands,
        "logs": {"job": {"globs": [str(tmp_path / "*.log")], "known": {}}},
        "texts": {"job": {"globs": [str(log)], "lines": 5}},
        "files": {"job": {"outputs": [str(log)], "checkpoints": []}},
        "disks": ["/proc"],
        "gpu_metrics": {"job": {"path": str(tmp_path / "gpu_metrics.csv")}},
        "process": {"find": {"job": {"name": "no such process is here", "pids": []}}},
        "extra_probes": {
            "gpus": {"program": remote.extra_probe("gpus"), "call": {"seconds": 5.0}, "seconds": 20, "wait": 20}
        },
    }
    return json.dumps(request).encode("ascii")


def test_an_old_python_answers_as_ours_does(old: str, request_line: bytes) -> None:
    """Every section, to the byte."""
    program = remote.probe_once(request_line, 40.0)
    told, ours = ask(old, program), ask(sys.executable, program)
    assert told["python"].startswith("3.6.")
    assert "error" not in told
    assert lasting(told) == lasting(ours)
    assert (told["extra_probes"]["gpus"]["by"], told["extra_probes"]["gpus"]["gpus"][0]["name"]) == ("rocm-smi", "é")
    assert told["commands"]["ran"]["list"]["out"] == "7\x1fR\x1fé\n8\x1fCD\x1fx\n"
    assert set(told["commands"]["ran"]) == {"list", "rest", "script.7"}
    assert [section for section in ("commands", "logs", "files", "disks") if not told[section]["ok"]] == []


@pytest.mark.parametrize("name", ["integrity", "quota", "memory"])
def test_an_old_python_runs_the_errands_as_ours_does(old: str, tmp_path: Path, name: str) -> None:
    """Verdicts, counts, guesses and quotas alike."""
    (tmp_path / "checkpoint-3").mkdir()
    (tmp_path / "checkpoint-3" / "state.json").write_text('{"step": 4}')
    (tmp_path / "é.jsonl").write_text('{"a": 1}\n{"a"')
    out, saved = str(tmp_path / "é.jsonl"), str(tmp_path / "checkpoint-3")
    job = {
        "lines": {out: []},
        "files": [out],
        "checkpoints": [saved],
        "guess": {"folders": [str(tmp_path)], "since": 0},
    }
    calls: dict[str, Any] = {
        "integrity": {"jobs": {"job": job}, "seconds": 20.0, "bytes": 1 << 20},
        "quota": {"paths": [str(tmp_path)], "seconds": 5.0},
        "memory": {"slurm": {"ids": ["14"], "groups": [str(tmp_path) + "/job_%s"]}, "seconds": 5.0},
    }
    (tmp_path / "job_14").mkdir()
    for leaf, text in (("current", "9"), ("max", "20"), ("stat", "anon 3\nactive_file 2\n")):
        (tmp_path / "job_14" / f"memory.{leaf}").write_text(text)
    request = {
        "nonce": "a1",
        "deadline": 30.0,
        "extra_probes": {"it": {"program": remote.extra_probe(name), "call": calls[name]}},
    }
    program = remote.probe_once(json.dumps(request).encode("ascii"), 40.0)
    told, ours = ask(old, program), ask(sys.executable, program)
    for one in (told, ours):
        (one["extra_probes"].get("it") or {}).pop("cpu", None)
    assert told["extra_probes"].get("it") == ours["extra_probes"].get("it"), told["extra_probes"]
    assert name != "memory" or told["extra_probes"]["it"]["slurm"]["jobs"]["14"]["used"] == 7
    assert name != "integrity" or told["extra_probes"]["it"]["jobs"]["job"]["checkpoints"][saved]["iteration"] == 4


def test_an_old_python_serves_one_request_after_another(old: str, probe_file: str) -> None:
    """As the long-lived child does on this machine."""
    lines = b"".join(json.dumps({"nonce": f"n{n}", "disks": ["/"]}).encode() + b"\n" for n in range(3))
    done = subprocess.run([old, "-I", "-S", probe_file, "--serve"], input=lines, capture_output=True, timeout=60)
    assert done.stderr == b""
    assert [line.split()[1] for line in done.stdout.splitlines() if line.startswith(b"DOGWATCH-END")] == [
        b"n0",
        b"n1",
        b"n2",
    ]


@pytest.mark.parametrize(("script", "code", "signalled"), [("exit 3", 3, None), ("kill -9 $$", None, 9)])
def test_an_old_python_keeps_a_job(old: str, home: Path, script: str, code: int | None, signalled: int | None) -> None:
    """Two workers, each with its start and its end on record."""
    asked: dict[str, Any] = {"gpus": None, "env": [], "cwd": None, "now": 1000.0}
    run = prepare(str(home), "kept", ["sh", "-c", script], workers=2, **asked)
    done = subprocess.run([old, "-I", "-S", remote.SUPERVISOR, run.directory], capture_output=True, timeout=30)
    assert done.stderr == b""
    for worker in range(2):
        path = Path(run.directory, f"worker-{worker}.end.json")
        wait_until(path.exists)
        end = json.loads(path.read_text())
        assert (end["code"], end["signal"]) == (code, signalled)


def test_an_old_python_tells_where_a_process_is(old: str) -> None:
    """Without py-spy in reach, by the kernel's words and with the reason."""
    program = "__name__ = 'extra_probe'\n" + with_the_probe("stacks").decode()
    with subprocess.Popen(["sleep", "600"]) as child:
        call = f"\nimport json; print(json.dumps(extra_probe({{'pids': [{child.pid}], 'seconds': 5}})))\n"
        done = subprocess.run([old, "-I", "-S", "-"], input=(program + call).encode(), capture_output=True, timeout=60)
        child.kill()
    assert done.stderr == b""
    (process,) = json.loads(done.stdout)["processes"]
    assert (process["pid"], process["threads"]) == (child.pid, [])
    assert process["why"]
