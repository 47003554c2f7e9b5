"""The extra probe itself: what a request asks about files, and what each question may cost."""

import os
from collections.abc import Iterator

from dogwatch.remote.integrity.body import BROKEN, Budget
from dogwatch.remote.integrity.checkpoints import check_checkpoint
from dogwatch.remote.integrity.lines import count_lines
from dogwatch.remote.integrity.open_files import may_see_writers, open_for_writing
from dogwatch.remote.integrity.search import guess_checkpoints, lacking_parts, left_behind
from dogwatch.remote.integrity.tree import MOST_FILES, REAL, check_file, check_path
from dogwatch.remote.shapes import CheckpointVerdict, FileChecks, FileVerdict, Integrity, IntegrityCall, JobFilesCall


def extra_probe(call: "IntegrityCall") -> "Integrity":
    """The verdicts on paths, or on the files of several running `jobs`. With paths, `left` are globs beside which no
    unfinished file may lie, each with the time from which on that counts; `checkpoints` are lists, newest first, each
    of which is checked down to the first intact one."""
    budget = Budget(float(call["seconds"]), int(call["bytes"]))
    REAL.keep(call.get("real"))
    if "jobs" in call:
        return {"jobs": {ref: check_job_files(spec, budget) for ref, spec in call["jobs"].items()}}
    rows: "list[FileVerdict]" = []
    paths = call.get("paths") or []
    for path in paths:
        rows.extend(check_path(path, budget))
    named = {row["file"] for row in rows}
    rows.extend(row for row in lacking_parts(paths) if row["file"] not in named)
    if call.get("left"):
        rows.extend(left_behind(call["left"], set(paths)))
    answer: "Integrity" = {"files": rows[: MOST_FILES + 1000]}
    if call.get("checkpoints"):
        answer["checkpoints"] = dict(down_to_intact(call["checkpoints"], budget))
    return answer


def down_to_intact(groups: "list[list[str]]", budget: Budget) -> "Iterator[tuple[str, CheckpointVerdict]]":
    """The verdicts on the newest of each group, and on earlier ones as long as none is intact and there is time."""
    for group in groups:
        for place, path in enumerate(group):
            if place and not budget.left():
                break
            row = check_checkpoint(path, budget)
            yield path, row
            if row["verdict"] != BROKEN:
                break


def check_job_files(spec: "JobFilesCall", budget: Budget) -> "FileChecks":
    """Of one job: lines gained, files and checkpoints that stand still, and where its checkpoints may be. What there
    was no time for is not in the answer, and is asked for again."""
    answer: "FileChecks" = {"lines": {}, "files": {}, "checkpoints": {}}
    REAL.keep(spec.get("real"))
    for path, known in (spec.get("lines") or {}).items():
        counted = count_lines(path, known, budget)
        if counted is not None:
            answer["lines"][path] = counted
    guess = spec.get("guess")
    if guess and budget.left():
        folders = guess["folders"] + working_directories(guess.get("pids") or [])
        answer["weak"] = guess.get("weak")
        answer["guessed"] = guess_checkpoints(folders, guess["since"], 0.5)
    for path in spec.get("checkpoints") or ():
        if budget.left():
            answer["checkpoints"][path] = check_checkpoint(path, budget)
    rows = {path: check_file(path, budget) for path in spec.get("files") or () if budget.left()}
    still_written = open_for_writing([path for path, row in rows.items() if row["verdict"] == BROKEN])
    for path, row in rows.items():
        if path not in still_written:
            answer["files"][path] = {**row, "sure": not spec.get("far") and may_see_writers(path)}
    return answer


def working_directories(pids: "list[int]") -> "list[str]":
    """Where processes work; the root of everything says nothing."""
    found = []
    for pid in pids:
        try:
            found.append(os.readlink("/proc/%d/cwd" % int(pid)))
        except (OSError, ValueError):
            continue
    return [path for path in dict.fromkeys(found) if path.count("/") > 1 or len(path) > 1]
