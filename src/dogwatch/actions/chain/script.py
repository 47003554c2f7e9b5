"""The program of a chain: a generated head with every value quoted once, and the same body for every chain. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import msgspec

from dogwatch import remote
from dogwatch.errors import UsageError
from dogwatch.wire.chain import Chain, Push, Stage

SBATCH = "sbatch"


def chain_script(chain: Chain, run: str, created: float) -> bytes:
    """chain.sh as it lies in the run's directory. No secret of a push is in it."""
    text = "\n".join(_head(chain, run, created)).encode("utf-8", "surrogateescape")
    if b"\0" in text or b"\r" in text:
        raise UsageError("a chain takes no NUL byte and no carriage return")
    return text + b"\n" + remote.chain_body()


def delivery(script: bytes, push: bytes | None, run: str, runs: str, nonce: str) -> bytes:
    """What is sent: it writes chain.sh and push.conf into the run's directory below `runs` (empty: of the home there),
    and starts the chain."""
    end = f"DOGWATCH-FILE-{nonce}"
    parts = [
        b"{\n",
        _assignments(dw_nonce=nonce, dw_run=run, dw_runs=runs, dw_size=str(len(script))),
        b"write_files() {\n",
    ]
    for name, content in (("push", push), ("chain", script)):
        if content is not None:
            parts += [f"cat >{name}.$$ <<'{end}' || return 1\n".encode("ascii"), content, end.encode("ascii"), b"\n"]
    if push is not None:
        parts.append(b"mv -f push.$$ push.conf || return 1\n")
    return b"".join([*parts, b"}\n", remote.chain_delivery(), b"}\n"])


def push_file(push: Push) -> bytes:
    """push.conf: a configuration of curl, whose first line says the way."""
    lines = [f"# way {push.way}"]
    lines += [
        f"# {key} {value}"
        for key, value in (("to", push.to), ("project", push.project), ("space", push.space))
        if value
    ]
    if push.url:
        quoted = push.url.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'url = "{quoted}"')
    return ("\n".join(lines) + "\n").encode("utf-8")


def _head(chain: Chain, run: str, created: float) -> Iterator[str]:
    yield "#!/bin/sh"
    yield f"# Dogwatch: run {run}. Its stages run one after another, each only after the one before it succeeded."
    yield (
        _assignments(
            dw_run=run,
            dw_title=chain.name,
            dw_count=str(len(chain.stages)),
            dw_cwd=chain.cwd,
            dw_detach=chain.detach,
            dw_on_reboot=chain.on_reboot,
            dw_spec=_open_spec(chain, run, created),
        )
        .decode("utf-8", "surrogateescape")
        .rstrip("\n")
    )
    yield "dw_stage() { # K"
    yield "    case $1 in"
    for number, stage in enumerate(chain.stages):
        words = (f"dw_{key}={shlex.quote(value)}" for key, value in _variables(stage))
        yield f"    {number}) {' '.join(words)} ;;"
    yield "    esac\n}"
    yield "dw_after() { # K: what a stage waits for"
    yield "    case $1 in"
    for number, stage in enumerate(chain.stages):
        if stage.after:
            waits = " && ".join(f"wait_for {one.kind} {shlex.quote(one.what)}" for one in stage.after)
            yield f"    {number}) {waits} ;;"
    yield "    esac\n}"
    yield "dw_environment() {\n    :"
    yield from (f"    export {name}={shlex.quote(value)}" for name, value in chain.env)
    yield "}"
    if chain.detach == SBATCH:
        options = "".join(f" {shlex.quote(word)}" for word in chain.sbatch)
        yield f'dw_sbatch() {{ sbatch{options} "$@"; }}'
    yield ""


def _variables(stage: Stage) -> tuple[tuple[str, str], ...]:
    return ("name", stage.name), ("command", stage.command), ("resume", stage.resume_command or "")


def _open_spec(chain: Chain, run: str, created: float) -> str:
    """spec.json but for what only the machine can say, which it puts behind this."""
    resumes = (stage.resume_command for stage in chain.stages if stage.resume_command)
    document = {
        "run": run,
        "name": chain.name,
        "created": round(created, 3),
        "stages": [
            {
                "name": stage.name,
                "command": stage.command,
                "after": [{one.kind: one.what} for one in stage.after],
                "log": f"stage-{number}.log",
                "resume_command": stage.resume_command,
            }
            for number, stage in enumerate(chain.stages)
        ],
        "on_reboot": chain.on_reboot,
        "resume_command": next(resumes, None),
        "push": chain.push_way is not None,
    }
    return msgspec.json.encode(document).decode("utf-8").removesuffix("}")


def _assignments(**values: str) -> bytes:
    lines = (f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    return "".join(lines).encode("utf-8", "surrogateescape")
