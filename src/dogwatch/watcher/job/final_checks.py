"""Final checks: at the end of a job, is everything that its owner expected there, complete and intact?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from dogwatch.estimate.series import NOT_ITEMS, SHARED
from dogwatch.logs.interface import INNER
from dogwatch.model import Ended, Finished, Job, Known, Observation, Outcome, Progress, Worker
from dogwatch.model.progress import TOO_MUCH
from dogwatch.results.integrity import INTACT
from dogwatch.rules.interface import Check, Verified
from dogwatch.watcher.job.artifacts import Judgement
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import OTHER_CLOCKS, OTHERS
from dogwatch.watcher.job.state.ending import FinalIntegrity, IntegrityCount
from dogwatch.wire.sections import Files

ENOUGH = 0.99
# Looks after which a check that got no answer is given up; unreachable ones do not count.
MOST_TRIES = 5
MOST_NAMED = 3
# A run that nobody said the size of: how much of its own total may lack, how many of its longest strides from report
# to report, and what part of the time that the rest would have taken it may have gone on without counting.
SHORT, STRIDES, GOES_ON = 0.05, 3.0, 0.5
PASSED, FAILED, UNKNOWN, PENDING = "passed", "failed", "unknown", "pending"


@dataclass(frozen=True, slots=True)
class Final:
    """What the final verification found, and the ending as it is known after it."""

    checks: tuple[Check, ...] = ()
    verified: Verified | None = None
    known: Known = field(default_factory=Known)
    late: bool = False  # it came after the poll that found the ending


NOT_ENDED = Final()


def final(
    job: Job,
    memory: Memory,
    progress: Progress | None,
    listed: Files | None,
    after: Known,
    observation: Observation | None,
    workers: Sequence[Worker] = (),
    began: float | None = None,
) -> Final:
    """The verification of a job that has ended, as far as this poll allows it. What was written last before it `began`
    is not its work."""
    found, late = (
        (*checks(job, memory, progress, listed, began), *_workers(job, memory, workers)),
        memory.ending.tries > 0,
    )
    if any(check.what == "items" and check.word == PASSED for check in found):
        found = tuple(check for check in found if check.what != "workers")
    return Final(found, verdict(found), held(after, memory, found, observation), late)


def checks(
    job: Job,
    memory: Memory,
    progress: Progress | None,
    listed: Files | None,
    began: float | None = None,
) -> tuple[Check, ...]:
    """Every check that its expectations ask for; `listed` is what this poll found of its files, None when they did
    not answer."""
    found: list[Check] = []
    intact = memory.learnt.integrity
    if job.expect.outputs:
        found += _outputs(job, memory, listed, intact, began)
    if job.expect.total_items:
        own_total = any(step.total for step in memory.progress.steps.values())
        found.append(_items(job.expect.total_items, progress, own_total=own_total))
    if job.expect.checkpoints:
        found += _checkpoints(memory, listed, intact)
    if memory.ending.tries >= MOST_TRIES:
        found = [replace(check, word=UNKNOWN) if check.word == PENDING else check for check in found]
    return tuple(found)


def verdict(found: Sequence[Check]) -> Verified | None:
    """What they say together, what is wrong first: not verified as soon as one failed, verified when all have passed,
    else None."""
    order = sorted(found, key=lambda check: check.word != FAILED)
    text = "; ".join(check.text for check in order)
    if any(check.word == FAILED for check in found):
        return Verified(False, text)
    return Verified(True, text) if found and all(check.word == PASSED for check in found) else None


def held(after: Known, memory: Memory, found: Sequence[Check], observation: Observation | None) -> Known:
    """An ending whose checks still wait for an answer is not settled: the job is looked at once more."""
    if any(check.word == PENDING for check in found):
        memory.ending.tries += 1
        return replace(after, settled=False)
    if memory.ending.tries:
        memory.ending.tries = 0
        return replace(after, settled=observation is None or observation.settled)
    return after


def short_of(job: Job, memory: Memory, progress: Progress | None, claim: Finished | None, after: Known) -> str:
    """What speaks against a success: the counter in its log stopped far before its own total, and then so did the job,
    without a word. Nothing where the log says that it is done, or speaks of early stopping, or where somebody said how
    many items there are: that is checked by itself."""
    state = after.state
    if not isinstance(state, Ended) or state.outcome is not Outcome.SUCCEEDED or job.expect.total_items:
        return ""
    if progress is None or not progress.total or claim is not None or memory.log.may_stop or not memory.progress.points:
        return ""
    if max((step.rank for step in memory.progress.steps.values()), default=0) < INNER:
        return ""
    done = [0.0, *(point.done for point in memory.progress.points)]
    stride = max(later - earlier for earlier, later in pairwise(done))
    left = progress.total - progress.step
    if left <= max(SHORT * progress.total, STRIDES * stride):
        return ""
    if (progress.rate_average or 0.0) * memory.silence.clock("progress").seconds >= GOES_ON * left:
        return ""
    counted = f"{progress.step:,.0f} of {progress.total:,.0f} {progress.unit}"
    return f"its log stops at {counted} without saying why"


def _workers(job: Job, memory: Memory, workers: Sequence[Worker]) -> Iterator[Check]:
    """That as many workers were there as were declared. Where nobody watched the start, the others may have ended
    before."""
    want, seen = job.expect.workers or 0, len(workers)
    if 0 < seen < want:
        unseen = memory.launch.record is None or memory.launch.record.get("state") == "unseen"
        yield Check("workers", UNKNOWN if unseen else FAILED, f"only {seen} of {want} workers were seen")


def _outputs(
    job: Job,
    memory: Memory,
    listed: Files | None,
    intact: FinalIntegrity | None,
    began: float | None,
) -> Iterator[Check]:
    """That there are files, that every pattern means one, that none is empty, that they are whole, and of this run."""
    if listed is None:
        yield Check("outputs", PENDING, "its output files could not be read")
        return
    sizes = {path: samples[-1][1] for path, samples in memory.files.outputs.items() if samples}
    empty = sorted(path for path, size in sizes.items() if size == 0)
    lacking = [glob for glob in listed.missing if glob in job.expect.outputs]
    if not sizes:
        broken = [] if intact is None else intact.outputs.broken
        left = [f"; {os.path.basename(path)} {why}" for path, why in broken]
        if unread := [f"{path}: {why}" for path, why in listed.unreadable.items()]:
            yield Check("outputs", UNKNOWN, f"its output files could not be read: {unread[0]}")
            return
        if not left and len(lacking) < len(set(job.expect.outputs)):
            told = f"only directories match {_named(job.expect.outputs)}; name the files in them"
            yield Check("outputs", UNKNOWN, told)
            return
        yield Check("outputs", FAILED, f"no output file matches {_named(job.expect.outputs)}{''.join(left[:1])}")
        return
    if empty:
        yield Check("outputs", FAILED, f"{len(empty)} of {len(sizes)} output files are empty ({empty[0]})")
    else:
        yield Check("outputs", PASSED, f"{len(sizes)} output file{'s' if len(sizes) > 1 else ''}, none empty")
    if lacking:
        yield Check("expected files", FAILED, f"no file matches {_named(lacking)}")
    yield from _older(job, listed, began)
    if not empty:
        yield _soundness(None if intact is None else intact.outputs)


def _older(job: Job, listed: Files, began: float | None) -> Iterator[Check]:
    """Files that were there before it began are another run's. One that goes on from such a run may leave most of them
    alone, so it is enough that it has written one for each of its workers."""
    rows = listed.outputs
    first = min((at for at in (began, job.submitted) if at is not None), default=-math.inf)
    slack = OTHERS if job.source == "process" else OTHER_CLOCKS
    old = sorted(row.path for row in rows if row.mtime < first - slack)
    fresh = len(rows) - len(old)
    if not old or fresh >= (job.expect.workers or 1):
        return
    many = len(old) > 1
    older = f"{len(old)} of {len(rows)} output files are" if len(rows) > 1 else "its output file is"
    text = f"{older} older than this run ({os.path.basename(old[0])}{' and others' if many else ''})"
    yield Check("old outputs", FAILED, text)


def _named(globs: Sequence[str]) -> str:
    more = f" and {len(globs) - MOST_NAMED} more" if len(globs) > MOST_NAMED else ""
    return ", ".join(globs[:MOST_NAMED]) + more


def _soundness(count: IntegrityCount | None) -> Check:
    if count is None:
        return Check("soundness", PENDING, "whether they are intact could not be checked")
    if count.damaged:
        path, why = count.broken[0]
        whole = f"{count.damaged} of {count.files} files are" if count.files > 1 else "it is"
        return Check("soundness", FAILED, f"{whole} damaged ({os.path.basename(path)} {why})")
    text = f"{count.intact} of {count.files} intact" if count.intact else "of an unknown format"
    unread = f", {count.unread} too large to read now" if count.unread else ""
    return Check("soundness", PASSED, text + unread)


def _items(total: int, progress: Progress | None, *, own_total: bool) -> Check:
    """The items that were said, against a counter of items; a counter of something else, against its own total. Steps
    without one may be batches of several items, as long as they are at most half as many."""
    if progress is None:
        return Check("items", UNKNOWN, f"nothing in its logs counts its {total:,} items")
    steps = progress.unit in NOT_ITEMS - SHARED and not own_total and progress.total in (None, total)
    if (progress.unit in SHARED and not progress.total) or (steps and 2 * progress.step <= total):
        text = f"its logs count {progress.step:,.0f} {progress.unit}, and nothing in them counts its {total:,} items"
        return Check("items", UNKNOWN, text)
    done, of, unit = progress.step, float(total), "items"
    is_other = bool(progress.total) and progress.total != total
    if is_other and progress.total:
        of, unit = progress.total, progress.unit
    text = f"{done:,.0f} of {of:,.0f} {unit} by its logs"
    if done > TOO_MUCH * of:
        return Check("items", FAILED, f"{text}: more than there are, so its counters are not reliable")
    if done < ENOUGH * of:
        return Check("items", FAILED, f"only {text}")
    if is_other:
        return Check("items", UNKNOWN, f"its logs count {done:,.0f} of {of:,.0f} {unit}, not its {total:,} items")
    return Check("items", PASSED, text)


def _checkpoints(memory: Memory, listed: Files | None, intact: FinalIntegrity | None) -> Iterator[Check]:
    """That the newest can be read. Whether there had to be one, nobody said: a pattern may be only a habit."""
    if listed is None:
        yield Check("checkpoint", PENDING, "its checkpoints could not be read")
    elif not memory.files.checkpoints:
        return
    elif intact is None:
        yield Check("checkpoint", PENDING, "whether the newest checkpoint is intact could not be checked")
    else:
        newest = os.path.basename(
            max(memory.files.checkpoints, key=lambda path: memory.files.checkpoints[path]).rstrip("/")
        )
        if intact.checkpoint.damaged:
            why = f"the newest checkpoint {newest} is damaged ({intact.checkpoint.broken[0][1]})"
            yield Check("checkpoint", FAILED, f"{why}; {_earlier(intact.checkpoints)}")
        elif intact.checkpoint.intact:
            yield Check("checkpoint", PASSED, f"the newest checkpoint {newest} is intact")
        else:
            yield Check("checkpoint", PASSED, f"the newest checkpoint {newest} is there, of an unknown format")


def _earlier(judged: Mapping[str, Judgement]) -> str:
    whole = next((path for path, row in judged.items() if row.verdict == INTACT), None)
    return "no intact one is known" if whole is None else f"the newest intact one is {os.path.basename(whole)}"
