"""Checkpoints: whether one is complete, and the iteration that it says it holds. Nothing in it is unpickled."""

import os
import re
import stat
from collections.abc import Iterator

from dogwatch.remote.integrity.body import BROKEN, INTACT, UNCLEAR, Budget
from dogwatch.remote.integrity.tree import MOST_FILES, REAL, check_path, names_in, raw, short_list, shown, verdict
from dogwatch.remote.shapes import CheckpointVerdict

NOTE_MOST = 64 << 10
# Files beside or in a checkpoint that say which iteration it holds, and the words by which they do.
STATES = ("trainer_state.json", "train_state.json", "training_state.json", "metadata.json", "meta.json", "state.json")
SAYS = re.compile(
    rb'"(?:global_step|global_steps|iteration|step|num_updates|step_count)"\s{0,4}:\s{0,4}"?(\d{1,15})[",}\s.]'
)
LATEST = ("latest_checkpointed_iteration.txt", "latest", "latest_checkpoint.txt", "last_checkpoint")
RANKED = (
    re.compile(r"\A((?:bf16_|fp16_)?zero_pp_rank_)(\d{1,5})(_mp_rank_\d{1,5}_.{1,40})\Z"),
    re.compile(r"\A(mp_rank_)(\d{1,5})(_model_states\.pt)\Z"),
)


def first_bytes(path: str, most: int = NOTE_MOST) -> bytes:
    """The beginning of a regular file; nothing of anything else."""
    try:
        fd = REAL.open(raw(path))
    except OSError:
        return b""
    try:
        return os.read(fd, most) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)


def said_iteration(path: str) -> "int | None":
    """What the files in a checkpoint say of it, or its header where it is one file."""
    if path.endswith(".safetensors"):
        head = first_bytes(path)[8:]
        at = head.find(b'"__metadata__"')
        found = SAYS.search(head[at : at + 4096]) if at >= 0 else None
        return int(found.group(1)) if found else None
    for name in STATES:
        found = SAYS.search(first_bytes(os.path.join(path, name)))
        if found:
            return int(found.group(1))
    return None


def named_latest(path: str) -> str:
    """What the file beside checkpoints that names the latest one says; writers put it there last."""
    for name in LATEST:
        text = first_bytes(os.path.join(os.path.dirname(path), name), 256).decode("utf-8", "replace").strip()
        if text and "\n" not in text:
            return text
    return ""


def missing_ranks(names: "list[str]") -> "Iterator[str]":
    """Parts that each rank writes, of which some lack between others; and parts without the list of all of them."""
    groups: "dict[tuple[str, str], set[int]]" = {}
    for name in names:
        for pattern in RANKED:
            found = pattern.match(name)
            if found:
                groups.setdefault((found.group(1), found.group(3)), set()).add(int(found.group(2)))
    for (before, after), there in sorted(groups.items()):
        # On disks that nodes do not share, each has only the ranks of its own.
        lacking = [rank for rank in range(min(there), max(there)) if rank not in there]
        if lacking:
            yield "lacks %s*%s of rank %s" % (before, after, short_list(lacking))
    if any(name.endswith(".distcp") for name in names) and ".metadata" not in names:
        yield "lacks .metadata, which is written when all parts are"


def check_checkpoint(path: str, budget: Budget) -> "CheckpointVerdict":
    """The verdict on one checkpoint, a file or a directory, and what it and its neighbours say of its iteration."""
    word, why = judge_checkpoint(path, budget)
    return {**verdict(path, word, why), "iteration": said_iteration(path), "latest": named_latest(path)}


def judge_checkpoint(path: str, budget: Budget) -> "tuple[str, str]":
    """It is as intact as its largest file, if nothing in it is broken and no part lacks."""
    rows = list(check_path(path, budget))
    broken = [row for row in rows if row["verdict"] == BROKEN]
    if broken:
        inside = os.path.relpath(raw(broken[0]["file"]), raw(path))
        return BROKEN, ("" if inside == b"." else shown(inside) + " ") + broken[0]["why"]
    names = names_in(path)
    if names == []:
        return BROKEN, "is an empty directory"
    for lack in missing_ranks((names or [])[:MOST_FILES]):
        return BROKEN, lack
    largest = max(rows, key=lambda row: row["size"] or 0)
    if largest["verdict"] != INTACT:
        name = "" if largest["file"] == path else os.path.basename(largest["file"]) + " "
        return UNCLEAR, name + largest["why"]
    unclear = sum(row["verdict"] == UNCLEAR for row in rows)
    note = "%d smaller files cannot be checked" % unclear if unclear else ""
    return INTACT, largest["why"] or note
