"""What people may ask of a chain: what is meant, and one sentence for what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dogwatch.api.chain_request import ChainWanted, chain, slug
from dogwatch.api.push import push_of
from dogwatch.errors import UsageError
from dogwatch.wire.chain import After, Chain, Push


def wanted(*stages: str, **more: Any) -> Chain:
    return chain(ChainWanted(**{"stages": stages, "host": "gpu", **more}))


@pytest.mark.parametrize(
    ("text", "name", "command"),
    [
        ("train: python train.py", "train", "python train.py"),
        ("train:python train.py", "train", "python train.py"),
        ("python train.py", "stage-1", "python train.py"),
        ("a.b_c-1: x: y", "a.b_c-1", "x: y"),
        ("python -c 'print({1: 2})'", "stage-1", "python -c 'print({1: 2})'"),
        ("scp data:/x .", "stage-1", "scp data:/x ."),
        ("X=1 ./run.sh --url=http://h/", "stage-1", "X=1 ./run.sh --url=http://h/"),
        ("one: a\nb", "one", "a\nb"),
    ],
)
def test_a_stage_is_a_name_and_a_command(text: str, name: str, command: str):
    """What stands before the colon is a name where it can be one; a command that has none is numbered."""
    if text.startswith("scp"):  # a blank before the colon could be meant as a name
        with pytest.raises(UsageError, match="'scp data' is not a name for a stage"):
            wanted(text)
        return
    (stage,) = wanted(text).stages
    assert (stage.name, stage.command) == (name, command)


@pytest.mark.parametrize(
    ("stages", "more", "sentence"),
    [
        ((), {}, "there is nothing to run"),
        ((), {"command": [""]}, "there is nothing to run"),
        (("a: x",), {"command": ["y"]}, "give the work in one way"),
        (("a: x", "a: y"), {}, "two stages are named a"),
        (("a:",), {}, "--stage a has no command"),
        (("a b: x",), {}, "'a b' is not a name for a stage"),
        (("a: x\0y",), {}, "--stage a holds a NUL byte"),
        (("a: x\r\ny",), {}, "--stage a holds a carriage return"),
        (("a: \udcff",), {}, "--stage a holds a byte that is not UTF-8"),
        (("a: " + "x" * 70_000,), {}, "--stage a is longer than 65536 bytes"),
        (tuple(f"s{number}: x" for number in range(101)), {}, "at most 100 stages"),
        (("a: x",), {"workers": 2}, "--workers starts copies on this machine"),
        (("a: x",), {"after": ["b=file:/x"]}, "--after names the stage 'b'; there is a"),
        (("a: x",), {"after": ["a=disk:/x"]}, "is not STAGE=file:PATH"),
        (("a: x",), {"after": ["a=run:../../etc"]}, "give the id of a run"),
        (("a: x",), {"after": ["a=line:x\x1b"]}, "holds a control character"),
        (("a: x", "b: y"), {"resume_command": ["python resume.py"]}, "--resume-command does not name a stage"),
        (("a: x",), {"resume_command": ["a: x", "a: y"]}, "--resume-command is given twice"),
        (("a: x",), {"sbatch": "--time=5"}, "--sbatch-options belong to --detach-with sbatch"),
        (("a: x",), {"detach_with": "sbatch", "sbatch": "job.sh"}, "--sbatch-options takes options of sbatch"),
        (("a: x",), {"detach_with": "sbatch", "after": ["line:x"]}, "--after cannot be used with"),
        (("a: x",), {"detach_with": "sbatch", "on_reboot": "resume"}, "--on-reboot is not for"),
        (("a: x",), {"cwd": "~other/x"}, "--cwd takes a directory of gpu"),
        (("a: x",), {"env": ["1=2"]}, "--env takes NAME=VALUE"),
        (("a: x",), {"env": ["DOGWATCH_RUN=2"]}, "--env DOGWATCH_RUN is set by Dogwatch"),
        (("a: x",), {"gpu_ids": ["0;1"]}, "--gpu-ids has '0;1'"),
        (("a: x",), {"name": "a\x1b[31m"}, "escape code"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(stages: tuple[str, ...], more: dict[str, Any], sentence: str):
    """It names the flag and the value."""
    with pytest.raises(UsageError) as refused:
        wanted(*stages, **more)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_waits_and_resume_commands_belong_to_their_stage():
    """Without a stage the first one waits; a command that resumes may name its stage."""
    waits = ["line:a=b", "eval=file:/x=y", "eval=run:gpu/box:train-a1b2c3"]
    train, judge = wanted("train: x", "eval: y", after=waits, resume_command=["eval: again: now"]).stages
    assert train.after == (After("line", "a=b"),)
    assert judge.after == (After("file", "/x=y"), After("run", "train-a1b2c3"))
    assert (train.resume_command, judge.resume_command) == (None, "again: now")
    (only,) = wanted("train: x", resume_command=["python -c 'a: b'"]).stages
    assert only.resume_command == "python -c 'a: b'"


def test_a_command_behind_two_dashes_is_a_chain_of_one(tmp_path: Path):
    """Its words stay words; here it starts in the current directory, there in the home."""
    (stage,) = wanted(command=["python", "-c", "print('a b')"]).stages
    assert (stage.name, stage.command) == ("run", "python -c 'print('\"'\"'a b'\"'\"')'")
    assert wanted("a: x").cwd == ""
    assert wanted("a: x", cwd="~/proj/").cwd == "proj"
    assert wanted("a: x", host=None, cwd=str(tmp_path)).cwd == str(tmp_path)
    assert wanted("a: x", gpu_ids=["0,1", "3"]).env == (("CUDA_VISIBLE_DEVICES", "0,1,3"),)


def test_the_id_of_a_run_is_made_of_safe_letters():
    """It is a directory, a tmux session and the name of a Slurm job."""
    assert slug("Llama 3.1 (été)") == "llama-3-1-t"
    assert slug("日本") == "run"
    assert slug("-x-") == "x"


def test_a_push_is_a_way_and_what_it_needs(monkeypatch, tmp_path: Path):
    """Addresses come literally or by reference; their secret is read now."""
    monkeypatch.setenv("HOOK", "https://ntfy.sh/topic")
    secret = tmp_path / "hook"
    secret.write_text("https://me:pw@h/x\n")
    secret.chmod(0o600)
    assert push_of(None) is None
    assert push_of("https://h/x") == Push("webhook", url="https://h/x")
    assert push_of("env:HOOK") == Push("ntfy", url="https://ntfy.sh/topic")
    assert push_of(f"ntfy:file:{secret}") == Push("ntfy", url="https://me:pw@h/x")
    assert push_of("mail:me@example.org") == Push("mail", to="me@example.org")
    assert push_of("trackio:my project@me/space") == Push("trackio", project="my project", space="me/space")


@pytest.mark.parametrize(
    "text", ["", "slack", "ftp://h/x", "https://", "env:NOT_SET_ANYWHERE", "mail:nobody", "trackio:", 'https://h/"\n']
)
def test_a_push_that_leads_nowhere_is_refused_now(text: str):
    """Before anything runs, and without printing an address."""
    with pytest.raises(UsageError) as refused:
        push_of(text)
    assert "--push" in str(refused.value)
