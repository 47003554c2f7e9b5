"""The places it writes to and reads from: directories, room, inputs, checkpoints, the network, and Slurm's own word."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from dogwatch.api.checklist import Line
from dogwatch.api.preflight.facts import FAIL, PASS, WARN, Facts, count, several
from dogwatch.api.preflight.plan import Plan
from dogwatch.text import plain
from dogwatch.wire.preflight import Checkpoints, Directory, Inputs, Network, Room, Slurm

LEAST_SHARE = 0.2
PLENTY = 10**12  # a tenth of a very large disk is room enough
_TEST_ONLY = re.compile(r"Job (\d{1,12}) to start at (\S{1,40})(?: using (.{1,200}))?")


def judge(plan: Plan, facts: Facts) -> Iterator[Line]:
    yield from _directories(plan, facts)
    yield from _room(plan, facts)
    yield from _inputs(plan, facts)
    yield from _resume(plan, facts)
    yield from _network(plan, facts)
    if plan.slurm is not None:
        yield from _slurm(plan, facts)


def _directories(plan: Plan, facts: Facts) -> Iterator[Line]:
    for what, path in plan.directories().items():
        name = f"{what} directory"
        directory = facts.of(f"directory:{path}", Directory)
        if isinstance(directory, str):
            yield Line(FAIL, name, f"{path} cannot be read: {directory}", "check that its file system answers (df)")
        else:
            yield _directory(plan, what, name, directory)


def _directory(plan: Plan, what: str, name: str, found: Directory) -> Line:
    path = found.path
    if found.kind == "file":
        return Line(FAIL, name, f"{path} is a file", "remove it or name another directory")
    if found.why:
        return Line(FAIL, name, f"{path} cannot be used: {found.why}", "correct its permissions or choose another")
    if found.refused:
        verb = "be written to" if found.kind == "directory" else f"be made in {found.nearest}"
        return Line(FAIL, name, f"{path} cannot {verb}: {found.refused}", "correct that, or choose another directory")
    if found.kind == "missing":
        return Line(PASS, name, f"{path} does not exist yet and can be created")
    left = [entry for entry in found.entries if not _ours(plan, path, entry)]
    if what == "output" and left and not plan.resume:
        text = f"{path} is not empty: {several(left)}" + (" …" if found.more > len(found.entries) else "")
        return Line(FAIL, name, text, "empty it, name another, or give --resume if the job resumes from it")
    return Line(PASS, name, f"{path} can be written to" + (", empty" if what == "output" and not left else ""))


def _ours(plan: Plan, path: str, entry: str) -> bool:
    """Whether it is the log or checkpoint directory, or leads there: those may wait in an empty output directory."""
    whole = os.path.join(path, entry)
    others = [other for what, other in plan.directories().items() if what != "output"]
    inner = [os.path.normpath(os.path.join(plan.cwd or "/", other)) for other in others]
    return any(one == whole or one.startswith(whole + "/") for one in inner)


def _room(plan: Plan, facts: Facts) -> Iterator[Line]:
    """Each file system once, however many directories lie on it."""
    seen: dict[int, tuple[str, Room]] = {}
    for path in plan.directories().values():
        directory = facts.of(f"directory:{path}", Directory)
        if not isinstance(directory, str):
            seen.setdefault(directory.room.device, (directory.path, directory.room))
    for path, room in seen.values():
        share = room.free / room.total if room.total else 1.0
        text = f"{100 * share:.0f} % free under {path} ({room.free / 1e9:,.1f} GB)"
        if share >= LEAST_SHARE:
            yield Line(PASS, "disk", text)
        else:
            verdict = WARN if room.free >= PLENTY else FAIL
            yield Line(verdict, "disk", f"only {text}", "make room until a fifth is free, or write to another disk")
        if room.inodes and room.inodes_free < LEAST_SHARE * room.inodes:
            left = 100 * room.inodes_free / room.inodes
            text = f"only {left:.0f} % of the inodes are free under {path} ({room.inodes_free:,})"
            yield Line(FAIL if left < 5 else WARN, "inodes", text, "remove small files, or write to another disk")
        elif room.inodes:
            yield Line(PASS, "inodes", f"{room.inodes_free:,} free under {path}")


def _inputs(plan: Plan, facts: Facts) -> Iterator[Line]:
    for pattern in plan.inputs:
        found = facts.of(f"inputs:{pattern}", Inputs)
        if isinstance(found, str):
            yield Line(FAIL, "inputs", f"{pattern} cannot be read: {found}", "check that its file system answers")
            continue
        yield _input(pattern, found)
        if plan.workers is not None and plan.workers > 1 and (found.files or found.odd):
            yield from _split(plan.workers, pattern, found, alone=len(plan.inputs) == 1)


def _input(pattern: str, found: Inputs) -> Line:
    if found.unreadable:
        path, why = found.unreadable[0]
        more = f" (and {len(found.unreadable) - 1} more)" if len(found.unreadable) > 1 else ""
        return Line(FAIL, "inputs", f"{path} cannot be read: {why}{more}", "correct its permissions, or the link to it")
    if found.broken:
        path, why = found.broken[0]
        more = f" (and {len(found.broken) - 1} more)" if len(found.broken) > 1 else ""
        return Line(FAIL, "inputs", f"{path} {why}{more}", "`dogwatch check` says more; fetch or make it again")
    if found.odd:
        path, kind = found.odd[0]
        return Line(
            WARN,
            "inputs",
            f"{path} is {kind}, and what it writes cannot be checked",
            "check the program that writes it",
        )
    if not found.files:
        return Line(FAIL, "inputs", f"no file is there for {pattern}", "correct the path, or fetch the files first")
    text = f"{pattern}: {count(found.files, 'file')}, {_size(found.bytes)}, all readable"
    text += f", {found.intact} intact" if found.intact else ""
    text += f", {found.unclear} of unknown format or not read to the end" if found.unclear else ""
    if found.many:
        return Line(WARN, "inputs", f"{text}; there are more, which were not checked", "check them one by one")
    return Line(PASS, "inputs", text)


def _split(workers: int, pattern: str, found: Inputs, alone: bool) -> Iterator[Line]:
    files = found.files + len(found.odd)
    said = f"{count(files, 'file')} of {pattern} for {workers} workers"
    if not found.split:
        if alone:
            yield Line(WARN, "split", said, "make sure that each worker takes its own part")
    elif files % workers == 0:
        yield Line(PASS, "split", f"{said}: {files // workers} each")
    elif files < workers:
        yield Line(FAIL, "split", f"{said}: not every worker has one", f"split them into {workers}, or take {files}")
    else:
        yield Line(WARN, "split", f"{said}: they cannot be divided evenly", f"split them into a multiple of {workers}")


def _resume(plan: Plan, facts: Facts) -> Iterator[Line]:
    if not plan.resume:
        return
    if not (plan.checkpoint_dir or plan.output_dir):
        yield Line(WARN, "resume", "no checkpoint directory given", "give --checkpoint-dir")
        return
    found = facts.of("checkpoints", Checkpoints)
    if isinstance(found, str):
        yield Line(FAIL, "resume", f"the checkpoints cannot be read: {found}", "check that its file system answers")
    elif not found.count:
        text = f"nothing to resume from: no {found.pattern}"
        yield Line(FAIL, "resume", text, "correct --checkpoint-dir, or start without --resume")
    elif found.broken:
        path, wrong = found.broken[0]
        text = f"the newest checkpoint, {found.newest}, is damaged: {path} {wrong}"
        yield Line(FAIL, "resume", text, "move it away, so that the checkpoint before it is used")
    else:
        known = "intact" if found.judged else "of unknown format"
        yield Line(PASS, "resume", f"{count(found.count, 'checkpoint')}, the newest {found.newest}, {known}")


def _network(plan: Plan, facts: Facts) -> Iterator[Line]:
    for target in plan.network:
        found = facts.of(f"network:{target}", Network)
        if why := found if isinstance(found, str) else found.why:
            remedy = "check firewall, proxy and name service on the machine that runs the job"
            yield Line(FAIL, f"network {target}", f"cannot be reached: {plain(why, 120)}", remedy)
        elif not isinstance(found, str):
            yield Line(PASS, f"network {target}", f"answers in {1000 * found.took:.0f} ms")


def _slurm(plan: Plan, facts: Facts) -> Iterator[Line]:
    found = facts.of("slurm", Slurm)
    if isinstance(found, str):
        yield Line(FAIL, "slurm", f"cannot be asked: {found}", "check that the controller answers (sinfo)")
        return
    if not found.there:
        yield Line(FAIL, "slurm", f"{plan.slurm} is not there", "correct --slurm; it is a path on that host")
        return
    sbatch = found.said
    if sbatch is None:
        yield Line(FAIL, "slurm", "sbatch is not installed there", "name a host of the cluster with --host")
    elif sbatch.why is not None:
        yield Line(FAIL, "slurm", f"sbatch --test-only {sbatch.why}", "check that the controller answers (sinfo)")
    elif sbatch.code == 0:
        start = _TEST_ONLY.search(sbatch.out + sbatch.err)
        text = f"would start at {start[2]}" if start else plain((sbatch.err or sbatch.out).strip(), 200)
        using = f", using {plain(start[3], 120)}" if start and start[3] else ""
        yield Line(PASS, "slurm", f"{text}{using} (sbatch --test-only; nothing was submitted)")
    else:
        refusal = re.sub(r"sbatch: (?:error: )?", "", (sbatch.err or sbatch.out).strip()).replace("\n", "; ")
        remedy = "correct its #SBATCH lines; `sinfo` lists the partitions, `sacctmgr show assoc` your accounts"
        yield Line(FAIL, "slurm", f"would be refused: {plain(refusal, 200)}", remedy)
    output = found.output
    if output is not None and (output.kind != "directory" or output.refused):
        wrong = "is not there, and Slurm makes none" if output.kind != "directory" else output.refused
        text = f"the directory of its output, {output.path}, {wrong}: the job would end at once"
        yield Line(FAIL, "slurm output", text, f"mkdir -p {output.path}, or correct it")
    if plan.signals:
        yield from _slurm_signal(plan, found.directives)


def _slurm_signal(plan: Plan, directives: Mapping[str, str]) -> Iterator[Line]:
    asked = directives.get("--signal", "")
    for name in plan.signals:
        named = re.search(r"(?:SIG)?([A-Z][A-Z0-9]{1,8})", asked)
        if named is None or named[1] != name:
            text = f"the script does not ask Slurm for {name} before the time limit" + (f" ({asked})" if asked else "")
            yield Line(WARN, "slurm signal", text, f"#SBATCH --signal=B:{name}@120")
        else:
            yield Line(PASS, "slurm signal", f"--signal={asked}")


def _size(amount: int) -> str:
    return f"{amount / 1e6:,.1f} MB" if amount >= 100_000 else f"{amount:,} bytes"
