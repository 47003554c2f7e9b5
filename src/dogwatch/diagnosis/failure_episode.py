"""Failure episode: which of the collected lines belong to a log's last failure, and whether the program went on
after it.

A log may hold several attempts, and troubles that were caught. What stands between two telling lines, and after the
last, decides: progress, words of success, or another start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dogwatch.diagnosis.collected_lines import LONG, CollectedLines, Gap, Hit
from dogwatch.diagnosis.exit_evidence import Word
from dogwatch.diagnosis.interface import Role
from dogwatch.diagnosis.line_collector import ALIVE
from dogwatch.diagnosis.tracebacks import HEAD
from dogwatch.logs.ending import activity, opening
from dogwatch.logs.ending.duration import LONG as LONG_AFTER

FLUSH = 16 << 10  # bytes of old lines that a dying program may still flush after its last words
LAST_WORDS = 0.7
LATER = 60.0  # seconds after which a program that died of an exception logs no more
SCRIPT = 20  # lines after which a script has plainly gone on
MORE = 3  # lines after which words alone were not the last
TIMES = 2  # more of them where a shell says how long its command took
CLOSING = 20  # lines of frames, and of what a script says of its end: when, for how long, with how much memory
USUAL, NEAR = 8, 30  # times the same exception, so few lines after the one before
TWICE = 2
OFTEN = 4  # times a minute apart, after which a logger's exceptions are everyday

SCHEDULER = frozenset(("time_limit", "preempted", "cancelled", "node_failure"))
# What a script goes on after, if it was told of it by a line and not by an exception.
OF_SHELLS = frozenset(("config_error", "launch_failed", "file_missing", "missing_module", "permission_denied"))
# What can run out in one thread or rank while the others go on until they miss it.
LINGERS = frozenset(
    ("disk_quota", "disk_full", "inodes_full", "host_oom", "gpu_hardware", "shm_exhausted", "too_many_open_files")
)
_OF_TOOLS = frozenset((*OF_SHELLS, "checkpoint_corrupt"))
_OF_THE_DEAD = frozenset(("aborted", "segfault", "killed"))  # who writes nothing out any more
_TONGUES = ("R", "julia")  # whose programs end with what they raised
_DIGITS = re.compile(r"\d{1,20}")


def last_episode(collected: CollectedLines, bad: bool) -> list[Hit]:
    """The hits of a log that belong to its last fall, oldest first; none when the program lived on after them."""
    if not bad and any(_survived(hit, after) or _usual(hit, after, collected) for hit, after in _newest(collected)):
        return []
    kept: list[Hit] = []
    for hit in reversed(collected.hits):
        if kept:
            told = any(one.role is Role.ROOT and not one.quiet for one in kept)
            if (hit.ends and not _only_tidied(kept)) or _stopped(hit, kept):
                break
            if _alive(kept[-1].before, told) and (told or not _buried(hit, kept[-1].before)):
                break
        kept.append(hit)
    kept.reverse()
    if bad or any(hit.fatal for hit in kept):
        return kept
    return kept if kept and _last_words(kept[-1], collected) else []


def _only_tidied(kept: Sequence[Hit]) -> bool:
    """Did a launcher right after its banner only end its processes? Then it began long before: a buffer held both back
    until it fell."""
    return all(hit.role is Role.TEARDOWN and not hit.cause and hit.before.lines <= MORE for hit in kept)


def _newest(collected: CollectedLines) -> Iterator[tuple[Hit, Gap]]:
    """The hits from the newest up to the first that is more than words of a program that then said more; each with all
    the text after it."""
    after = collected.after
    for hit in reversed(collected.hits):
        yield hit, after
        if hit.fatal or hit.raised or after.lines <= MORE:
            return
        whole = replace(hit.before)
        whole.add(after)
        after = whole


def _survived(hit: Hit, after: Gap) -> bool:
    """Did the program go on after its last trouble? One reason is enough."""
    alive, another = after.progress >= ALIVE, after.opened or hit.unbegun
    told_to_stop = hit.shared or hit.cause in SCHEDULER  # others, or it, may write a little longer
    return any(
        (
            after.done,
            after.closed and hit.from_thread,
            after.progress and (hit.from_thread or hit.excused),
            after.lines > MORE and hit.excused,
            # mere words of trouble, and then it counted on
            after.progress and not (hit.raised or hit.fatal or told_to_stop),
            # another run wrote what is below
            after.again or after.reopened >= opening.SURE,
            alive and another,
            after.size > opening.OTHERS and hit.unbegun,
            # lines that were written when they say so
            after.sure >= activity.ENOUGH and not told_to_stop,
            after.until - hit.at > LATER and hit.clock == after.clock and hit.logged,
            after.spoke >= LONG_AFTER and not told_to_stop,
            after.lasted >= LONG_AFTER and hit.cause in _OF_THE_DEAD and not hit.raised,
            # whoever said it did not end by it
            alive and hit.logged,
            (after.progress or after.lines > SCRIPT) and hit.cause in _OF_TOOLS and not hit.raised,
            # more than a buffer holds
            after.size > FLUSH and (alive or after.lines > 300),
        )
    )


def _usual(hit: Hit, after: Gap, collected: CollectedLines) -> bool:
    """Does this program print such an exception all the time, a few lines apart, and go on? What tests others' code
    does; one that is started again and again says more before it falls, and of what is only named there is no fall.
    Or has it caught the same twice before, and went on as it does now?"""
    shape = _DIGITS.sub("", hit.text)
    same = [one for one in collected.hits if one.raised == hit.raised and _DIGITS.sub("", one.text) == shape]
    again = sum(one.before.lines <= NEAR for one in same) >= USUAL
    if (hit.logged or HEAD in hit.text) and after.lines > MORE and _minutes(collected) > OFTEN:
        return True
    if not hit.raised:
        return again and not hit.fatal and hit.cause in OF_SHELLS
    if hit.logged and sum(one.logged for one in same) > TWICE and after.lines > SCRIPT:
        return True
    return again and hit.cause != "interrupted" and (after.lines > 1 or hit.logged)


def _minutes(collected: CollectedLines) -> int:
    """How often a logger wrote down an exception, a minute apart."""
    times, last = 0, float("-inf")
    for one in collected.hits:
        if one.raised and one.logged and one.clock and one.at > last + LATER:
            times, last = times + 1, one.at
    return times


def _stopped(hit: Hit, kept: Sequence[Hit]) -> bool:
    """Had somebody ended it a minute before the next trouble? Then that is another attempt's. What Slurm's tools say
    as they tidy up is none."""
    if hit.cause != "interrupted" and hit.cause not in SCHEDULER:
        return False
    fell = (one for one in reversed(kept) if one.role is Role.ROOT and (one.raised or one.fatal))
    return any(hit.clock == one.clock and one.at - hit.at > LATER for one in (kept[-1], next(fell, kept[-1])))


def _alive(gap: Gap, told: bool) -> bool:
    """Does the text between two hits show that the program had gone on after the first? Where the later hits
    do not tell a cause (`told`), a flushed buffer is not taken for life."""
    if gap.size > LONG:
        return True
    return gap.progress >= ALIVE and gap.size > (FLUSH // 8 if told else FLUSH * 2)


def _buried(hit: Hit, gap: Gap) -> bool:
    """Is this what the program was left with, under much that was said after it and shows no life?"""
    return hit.role is Role.ROOT and hit.fatal and not hit.logged and not gap.progress


def _last_words(hit: Hit, collected: CollectedLines) -> bool:
    """Does the log end with an error, though not with one that no job survives?"""
    if collected.after.lines > MORE + TIMES or hit.weight < LAST_WORDS:
        return False
    return not hit.from_thread or sum(one.before.progress for one in collected.hits) < ALIVE


def only_closed(collected: CollectedLines) -> bool:
    """Does a line that no job survives stand at the end, with nothing below it but a script's few closing words?"""
    after = collected.after
    if after.lines > CLOSING or after.progress or after.done:
        return False
    fatal = [hit for hit in last_episode(collected, False) if hit.fatal and hit.cause and not hit.quiet]
    return any(not hit.raised or hit.program in _TONGUES for hit in fatal)


def outlived(episode: Sequence[Hit], collected: CollectedLines, said: Sequence[Word]) -> bool:
    """Was it only words, long before an ending that something outside the logs explains?"""
    if not episode or not any(not word.measured for word in said) or any(hit.raised or hit.fatal for hit in episode):
        return False
    return collected.after.size > FLUSH and collected.after.progress >= ALIVE and episode[-1].cause not in LINGERS
