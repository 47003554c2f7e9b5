"""What changed since the last run of the same name that succeeded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.api.differences import better_attempt, compare, compare_attempts
from dogwatch.api.head_lines import MOST_SETTINGS, settings
from dogwatch.transport.local import Here

HEAD = """\
2026-03-01 10:00:00 INFO starting on gpu12, pid 4411
PyTorch version: 2.4.1+cu121
torch 2.4.1
transformers==4.44.0
commit 8f3a2b1
Namespace(lr=0.001, batch_size=32, output_dir='/out/1', wandb_token=abcdefgh)
  micro-batch-size ......... 4
step: 10 loss: 2.31
optimizer: adam
"""


def test_versions_commit_and_settings_are_read_up_to_the_first_step():
    """Not what differs by nature: times, hosts, pids, directories."""
    found = {name: value for name, (value, _) in settings(HEAD).items()}
    assert found["torch version"] == "2.4.1"
    assert found["commit"] == "8f3a2b1"
    assert (found["lr"], found["batch_size"], found["micro-batch-size"]) == ("0.001", "32", "4")
    assert not {"pid", "output_dir", "optimizer", "loss"} & found.keys()
    assert settings(HEAD)["commit"][1] == 5


@given(st.text(max_size=3000))
def test_any_text_is_read(text):
    """Whatever a log begins with."""
    assert len(settings(text)) <= MOST_SETTINGS + 50


def run(name: str, **known):
    return {
        "ref": f"here/process:{name}",
        "place": "here",
        "nodes": None,
        "since": "2026-03-01T10:00:00.000Z",
        "expect": {"logs": [f"/runs/{name}/worker-0.log"]},
        "logs": [],
        "stdout": None,
        **known,
    }


def papers(name: str, head: str, **spec) -> dict[str, str]:
    import json

    return {f"/runs/{name}/worker-0.log": head, f"/runs/{name}/spec.json": json.dumps(spec)}


def test_what_differs_is_told_and_what_does_not_is_not():
    """The words of the command that differ, the environment without secrets, where it ran, and what its log says."""
    same = {"cwd": "/w", "workers": 1}
    before = papers(
        "a", HEAD, argv=["python", "t.py", "--lr", "1e-3"], env={"A": "1", "K_TOKEN": "x1"}, gpus="0", **same
    )
    now = papers(
        "b",
        HEAD.replace("8f3a2b1", "99c0ffe").replace("4411", "17").replace("abcdefgh", "zzzzzzzz"),
        argv=["python", "t.py", "--lr", "1e-2"],
        env={"A": "1", "K_TOKEN": "y2", "NEW": "5"},
        gpus="3",
        **same,
    )
    found = compare(run("b", nodes="n2"), run("a", nodes="n1"), before | now)
    told = [(one["what"], one["name"], one["before"], one["now"]) for one in found["changes"]]
    assert told == [
        ("command", "", "--lr 1e-3", "--lr 1e-2"),
        ("gpus", "", "0", "3"),
        ("environment", "K_TOKEN", "…", "…"),
        ("environment", "NEW", None, "5"),
        ("node", "", "n1", "n2"),
        ("log", "commit", "8f3a2b1", "99c0ffe"),
        ("log", "wandb_token", "…", "…"),
    ]
    assert found["changes"][5]["line"] == 5
    assert found["since"] == "here/process:a"


def test_without_papers_only_what_is_known_is_compared():
    """A place that does not answer leaves the rest."""
    assert compare(run("b"), run("a"), {})["changes"] == []
    assert compare(run("b"), run("a"), {"/runs/a/spec.json": "{", "/runs/b/spec.json": "[]"})["changes"] == []


def attempt(number: int, how: str | None, reached: float | None = None, **known):
    row: dict = {"attempt": number, "how": how, "reached": reached, "began": None, "ended": None, "logs": {}}
    return row | {"nodes": "n1", "partition": "gpu", "limit_seconds": 3600.0} | known


def tried(*rows, step: float | None = None):
    return run("x", attempts=len(rows), history=list(rows), progress=None if step is None else {"step": step})


def test_an_attempt_is_held_against_the_newest_that_went_better():
    """One that others ended, or that came further; not one that failed as early."""
    bad, put_back, far = attempt(2, "failed", 3), attempt(1, "preempted", 900), attempt(1, "failed", 900)
    last = attempt(3, None)
    found = better_attempt(tried(put_back, bad, last, step=4))
    assert found is not None
    assert found["attempt"] == 1
    found = better_attempt(tried(far, bad, last, step=4))
    assert found is not None
    assert found["attempt"] == 1
    assert better_attempt(tried(attempt(1, "failed", 3), attempt(2, None), step=900)) is None
    assert better_attempt(tried(attempt(1, None))) is None
    assert better_attempt(run("x", attempts=1)) is None


def test_what_slurm_gave_an_attempt_is_compared(tmp_path):
    """Node, partition and limit; and what both said of themselves in a log that holds both."""
    log = tmp_path / "shared.log"
    first, second = "torch 2.4.1\nlr: 0.001\nstep: 1\n", "torch 2.5.0\nlr: 0.001\nstep: 1\n"
    log.write_text(first + second)
    before = attempt(1, "preempted", 900, logs={str(log): 0})
    job = tried(before, attempt(2, None, nodes="n7", logs={str(log): len(first)}))
    transport = Here()
    found = compare_attempts(transport, job, before, 20.0)
    transport.close()
    assert (found["since"], found["how"], found["reached"]) == ("attempt 1", "preempted", 900)
    told = [(one["what"], one["name"], one["before"], one["now"]) for one in found["changes"]]
    assert told == [("node", "", "n1", "n7"), ("log", "torch version", "2.4.1", "2.5.0")]
