"""Diagnose: from all that is known of an ending to its most likely cause, with the lines that show it.

Root before cascade before teardown; among the roots of one failure, the first in time. Where no exit code, signal or
scheduler says that the job failed, the logs must show it: something that no job survives, and no activity after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

from dogwatch.diagnosis.advice import advice, alternatives
from dogwatch.diagnosis.alternatives import SHARES, likeliest
from dogwatch.diagnosis.collected_lines import CollectedLines, Hit
from dogwatch.diagnosis.confidence import VAGUE, confidence
from dogwatch.diagnosis.exit_evidence import Word, ended_how, failed, words
from dogwatch.diagnosis.failure_episode import LINGERS, OF_SHELLS, SCHEDULER, last_episode, outlived
from dogwatch.diagnosis.interface import Alternative, Diagnosis, Evidence, Quote, Role
from dogwatch.diagnosis.line_collector import QUIET, LineCollector
from dogwatch.diagnosis.table import CAUSES
from dogwatch.diagnosis.tracebacks import HEAD
from dogwatch.logs.lazily import lazily
from dogwatch.redaction import redacted
from dogwatch.text import plain

QUOTE = 400
MOST_QUOTES = 3
SURE = 0.6
TELLING = 0.35  # less is a line of tidying up that says nothing of its reason
SURELY = 0.85  # from here on a line names its cause
# The first rank that a launcher saw end, another that it ended for that, and one that lost the connection to it.
_FIRST_GONE = lazily(r"failed \(exitcode: (-?\d{1,3})\) local_rank: (\d{1,5})", re.ASCII)
_ENDED = lazily(r"exitcode {1,4}: -15 |Signal 15 \(SIGTERM\) received by PID", re.ASCII)
_EXCEPTION = lazily(r"\b[A-Z]\w{2,60}(?:Error|Exception)(?=:)", re.ASCII)
_LEFT_ALONE = lazily(r"\[rank(\d{1,5})\].{1,400}(?:closed|reset) by peer", re.ASCII)
# A task of a step that failed by itself, and a command of a script that a signal ended.
_TASK_FELL = lazily(r"srun: error: .{1,200}: tasks? [\d,\- ]{1,80}: (?!Terminated)[A-Z]", re.ASCII)
_COMMAND_DIED = lazily(r": line \d{1,6}:\s{1,8}\d{1,10} (?!Terminated)[A-Z][a-z]", re.ASCII)
_OF_A_SCRIPT = lazily(r": line \d{1,6}: (?:syntax error|unexpected EOF)", re.ASCII)
_USAGE = lazily(r"(?:usage: )?([\w.-]{1,80}\.py): error: ", re.ASCII)
# What a program says of what an earlier command of its script was to leave for it, and what is hardly anything else.
_OF_WHAT_IS_MISSING = frozenset(("code_error", "file_missing", "config_error", "checkpoint_corrupt"))
_LEFT_BY_OTHERS = frozenset(("file_missing", "checkpoint_corrupt"))
# What pip says of a package, also where it could not ask for it.
_UNREACHED = "no matching distribution found for"
# What Slurm itself cancels a job for: its line then does not always say so.
_CANCELS = frozenset(("time_limit", "host_oom"))
_BETWEEN = frozenset(("nccl_timeout", "nccl_error", "rendezvous_failed"))
# Words of an ending that an earlier root in the logs explains better.
_GIVES_WAY = frozenset(("killed", "aborted", "interrupted", "stalled", "launch_failed", "container_failed"))

# How a broken board looks to a program.
_OF_BOARDS = frozenset(("cuda_illegal_access", "cuda_unavailable", "cuda_device_assert", "nccl_error", "nccl_timeout"))
# What a disk says of a limit that is not its own.
_NARROWER = frozenset((("disk_full", "disk_quota"), ("disk_full", "inodes_full"), ("disk_quota", "inodes_full")))
_OF_DISKS = frozenset(("disk_quota", "disk_full", "inodes_full"))


def diagnose(evidence: Evidence) -> Diagnosis | None:
    """Why the attempt ended as it did; None when it did not fail, as far as anything shows."""
    if failed(evidence) is False:
        return None
    return judge(evidence, [collect_lines(log.pieces, log.first_line) for log in evidence.logs])


def collect_lines(pieces: Iterable[bytes], first_line: int | None = 1) -> CollectedLines:
    """What a log has to say, read once and in bounded memory."""
    collector = LineCollector(first_line)
    for piece in pieces:
        collector.feed(piece)
    return collector.collected()


def judge(evidence: Evidence, collected: Sequence[CollectedLines]) -> Diagnosis | None:
    """The same for logs whose lines were collected before, in the order of `evidence.logs`."""
    bad = failed(evidence)
    if bad is False:
        return None
    hits: list[Hit] = []
    outside = words(evidence)
    for log, lines in enumerate(collected):
        for hit in lines.hits:
            hit.log = log
        episode = last_episode(lines, bool(bad))
        hits += [] if outlived(episode, lines, outside) else episode
    if not hits and not bad:
        return None
    hits = in_time(hits)
    inside = pick(hits)
    if inside is None or inside.role is not Role.ROOT:
        inside = _behind(collected, hits) or inside
    word = _outside(inside, outside)
    if word is not None:
        return _by_word(evidence, word, inside, outside, hits)
    if inside is None:
        return _unknown(evidence, outside, hits)
    return _by_hit(evidence, inside, outside, hits)


def in_time(hits: list[Hit]) -> list[Hit]:
    """The hits of several logs in the order of time, where every root has a time on the same clock."""
    clocks = {hit.clock for hit in hits if hit.role is Role.ROOT}
    if len({hit.log for hit in hits}) < 2 or len(clocks) != 1 or "" in clocks:
        return hits
    (clock,) = clocks
    return sorted(hits, key=lambda hit: hit.at if hit.clock == clock else float("inf"))


def pick(hits: Sequence[Hit]) -> Hit | None:
    """The hit that names the cause of a failure: of several processes the first root in time, of one the last."""
    exclusions = (_swept, _went_without, _began_after)
    with_cause = [hit for hit in unchained(hits) if hit.cause and not any(rule(hit, hits) for rule in exclusions)]
    for these in ([hit for hit in with_cause if not (hit.quiet or hit.from_thread)], with_cause):
        for role in (Role.ROOT, Role.CASCADE, Role.TEARDOWN):
            if ranked := [hit for hit in these if hit.role is role]:
                return _better(
                    _first(ranked) if _several(hits) else _command_before(_last(ranked), with_cause), with_cause
                )
    return None


def _swept(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Is this what a launcher did to the others when one had failed, or what a rank says that misses that one? It
    says that one failed, not why."""
    if (left := _LEFT_ALONE.search(hit.text)) or _ENDED.search(hit.text):
        gone = next(filter(None, (_FIRST_GONE.search(candidate.text) for candidate in hits)), None)
        return gone is not None and (gone[2] != left[1] if left else gone[1] != "-15")
    earlier = hits[: hits.index(hit)]
    if hit.cause == "cancelled" and hit.role is Role.CASCADE:
        return any(_TASK_FELL.search(candidate.text) for candidate in earlier)
    return hit.cause == "killed" and any("job step aborted" in candidate.text.lower() for candidate in earlier)


def _of_a_shell(hit: Hit) -> bool:
    """Is it what a script only complains of, and goes on? Scripts name no exceptions; programs print them."""
    return hit.cause in OF_SHELLS and not (hit.raised or hit.fatal or _EXCEPTION.search(hit.text))


def _went_without(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Did a script go on without what it missed, and was its program killed? Nobody is killed for that."""
    killed = (candidate for candidate in hits if candidate.cause == "killed" and candidate.fatal)
    return _of_a_shell(hit) and any(not _swept(candidate, hits) for candidate in killed)


def _began_after(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Did a script complain, and its program fail later of something that the log does not hold to its end?"""
    later = hits[hits.index(hit) + 1 :]
    return (
        hit.cause in OF_SHELLS
        and not hit.raised
        and any(candidate.fatal and candidate.text.startswith(HEAD) for candidate in later)
    )


def _command_before(hit: Hit, with_cause: Sequence[Hit]) -> Hit:
    """The end of an earlier command of the same script, where another one then missed what it was to leave."""
    earlier = [
        candidate for candidate in with_cause[: with_cause.index(hit)] if not (candidate.quiet or candidate.from_thread)
    ]
    name = _name(hit)
    if _OF_A_SCRIPT.search(hit.text) or (name and hit.cause in _OF_WHAT_IS_MISSING):
        died = (candidate for candidate in earlier if candidate.fatal and _COMMAND_DIED.search(candidate.text))
        if (
            gone := next((candidate for candidate in died if not name or name not in candidate.text), None)
        ) is not None:
            return gone
    if not name or hit.cause not in _LEFT_BY_OTHERS:
        return hit
    other = next((candidate for candidate in reversed(earlier) if _name(candidate) not in ("", name)), None)
    return hit if other is None else _command_before(other, with_cause)


def _name(hit: Hit) -> str:
    """The file of the program that this line is the end of, or "" where it does not tell."""
    if hit.program:
        return hit.program.rsplit("/", 1)[-1]
    usage = _USAGE.match(hit.text)
    return usage[1] if usage else ""


def _better(hit: Hit, with_cause: Sequence[Hit]) -> Hit:
    """What a process died of, and who sent a signal, where another line says it."""
    if hit.cause in ("dataloader_worker_died", "segfault", "aborted"):
        hit = next((candidate for candidate in with_cause if candidate.cause in LINGERS), hit)
    if hit.cause == "dataloader_worker_died":  # of a signal that others tell of, or of what had told the program to end
        tells = with_cause if "signal: terminated" in hit.text.lower() else with_cause[: with_cause.index(hit)]
        hit = next(
            (candidate for candidate in tells if candidate.cause == "interrupted" or candidate.cause in SCHEDULER), hit
        )
    if hit.cause in ("cancelled", "aborted"):
        hit = _answered(hit, with_cause)
    if hit.cause in _BETWEEN:  # who was killed before is whom the others missed
        earlier = (
            candidate
            for candidate in with_cause[: with_cause.index(hit)]
            if not (candidate.quiet or candidate.from_thread)
        )
        hit = next((candidate for candidate in earlier if candidate.cause == "killed" and candidate.fatal), hit)
    if _UNREACHED in hit.text.lower():
        return next((candidate for candidate in with_cause if candidate.cause == "network_error"), hit)
    if hit.cause in ("interrupted", "killed", "aborted"):
        if any(candidate.cause in SCHEDULER for candidate in with_cause):
            return _ending(with_cause)
        return next((candidate for candidate in with_cause if candidate.cause == "stalled"), hit)
    if hit.cause in _OF_BOARDS or hit.cause in ("code_error", "gpu_hardware"):
        boards = [
            candidate for candidate in with_cause if candidate.cause == "gpu_hardware" and candidate.weight >= SURELY
        ]
        return max(boards, key=lambda candidate: candidate.weight, default=hit)
    return hit


def _answered(hit: Hit, with_cause: Sequence[Hit]) -> Hit:
    """What Slurm cancelled a job for that took too much memory, or the signal that a program gave itself up at."""
    earlier = with_cause[: with_cause.index(hit)]
    if hit.cause == "aborted":
        return next((candidate for candidate in earlier if candidate.cause == "interrupted"), hit)
    return next(
        (
            candidate
            for candidate in earlier
            if candidate.cause == "host_oom" and candidate.fatal and "slurm" in candidate.text
        ),
        hit,
    )


def _several(hits: Iterable[Hit]) -> bool:
    """Do several processes write these lines?"""
    hits = list(hits)
    return any(hit.shared or hit.cause in _BETWEEN for hit in hits) or len({hit.log for hit in hits}) > 1


def _first(ranked: Sequence[Hit]) -> Hit:
    if any(hit.fatal or hit.raised for hit in ranked):  # a script is none of the processes
        ranked = [hit for hit in ranked if not _of_a_shell(hit)] or ranked
    first = next(hit for limit in (VAGUE, SURE, 0.0) for hit in ranked if hit.weight >= limit)
    return _ending(ranked) if first.cause in SCHEDULER else _plainest(first, ranked)


def _last(ranked: Sequence[Hit]) -> Hit:
    last = ranked[-1]
    if last.cause in SCHEDULER:
        return _ending(ranked)
    if last.weight < VAGUE:
        since = takewhile(lambda hit: not _fell_again(hit, ranked[-1]), reversed(ranked[:-1]))
        last = next((hit for hit in since if hit.weight >= VAGUE and hit.cause not in SCHEDULER), last)
    elif _of_a_shell(last):
        last = next((hit for hit in reversed(ranked) if (hit.raised or hit.fatal) and hit.weight >= VAGUE), last)
    return _plainest(last, ranked)


def _fell_again(hit: Hit, later: Hit) -> bool:
    """Did the program that this ended fail again later, after another start?"""
    return hit.program != "" and hit.program == later.program


def _ending(ranked: Sequence[Hit]) -> Hit:
    """Of several words of the scheduler, the last of those that say why."""
    words = [hit for hit in ranked if hit.cause in SCHEDULER]
    best = max(hit.weight for hit in words)
    return [hit for hit in words if hit.weight == best][-1]


def _plainest(hit: Hit, ranked: Sequence[Hit]) -> Hit:
    """The exception itself rather than a line that announces the same, unless only that line says it plainly, or it is
    a watchdog's, whose own end repeats it; of an abort, what the program said and not who waited for it."""
    if hit.cause == "aborted":
        return next(candidate for candidate in ranked if candidate.cause == hit.cause)
    if hit.raised or hit.cause in _BETWEEN:
        return hit
    raised = (candidate for candidate in ranked if candidate.cause == hit.cause and candidate.raised)
    return next((candidate for candidate in raised if candidate.weight >= min(hit.weight, SURELY)), hit)


def _behind(collected: Sequence[CollectedLines], hits: Sequence[Hit]) -> Hit | None:
    """A resource that ran out before: what the ranks that only waited cannot know. None without such ranks."""
    if not any(hit.cause in ("nccl_timeout", "nccl_error") for hit in hits):
        return None
    earlier = [hit for lines in collected for hit in lines.hits if hit.cause in LINGERS and hit.weight >= _least(hit)]
    return earlier[-1] if earlier else None


def _least(hit: Hit) -> float:
    """How sure it must be: that a disk took no more is a fact, also where it was said as a warning."""
    return SURE * QUIET if hit.quiet and hit.cause in _OF_DISKS else SURE


def unchained(hits: Iterable[Hit]) -> list[Hit]:
    """One hit for every chain of exceptions: the last, unless it only wraps one that says more."""
    out: list[Hit] = []
    chain: list[Hit] = []
    for hit in hits:
        if hit.raised and hit.inner:
            chain.append(hit)
        elif hit.raised and chain:
            best = max(chain, key=lambda candidate: candidate.weight)
            vague = hit.role is not Role.ROOT or hit.weight < VAGUE
            more = vague and best.cause and best.weight >= max(hit.weight, VAGUE)
            left = hit.cause == "code_error" and not vague  # it was left with this one, whatever it had caught
            plainer = best.cause == hit.cause and best.weight > hit.weight and not left
            out.append(best if more or plainer else hit)
            chain = []
        else:
            out.append(hit)
    return [*out, *chain[-1:]]


def _outside(inside: Hit | None, outside: Sequence[Word]) -> Word | None:
    """The word from outside that decides, if one does against what the logs say."""
    for word in outside:
        if inside is None:
            return word
        if inside.cause == word.cause:
            return None
        if word.measured:
            if _explains(word, inside):
                return word
            continue
        if word.cause in ("preempted", "node_failure") and word.firm:
            return word
        if inside.cause == "cancelled" and word.firm and word.cause in _CANCELS:
            return word
        if inside.cause == "nccl_timeout" and word.cause in ("cancelled", "time_limit"):
            continue  # it had hung for minutes before that
        if inside.cause == "interrupted" and word.firm:
            return word
        if inside.role is not Role.ROOT and (word.firm or word.cause == "segfault"):
            return word
        if word.cause == "host_oom" and (inside.cause in _GIVES_WAY or inside.cause == "dataloader_worker_died"):
            return word
        if word.firm and (inside.from_thread or inside.weight < SURE):
            return word
    return None


def _explains(word: Word, inside: Hit) -> bool:
    """Is what was measured at the end behind what the logs say?"""
    if word.cause == "gpu_hardware":
        return inside.cause in _OF_BOARDS or (inside.role is not Role.ROOT and inside.cause != "interrupted")
    if inside.cause in SCHEDULER or inside.cause == "interrupted":
        return False
    return inside.role is not Role.ROOT or inside.weight < VAGUE or (inside.cause, word.cause) in _NARROWER


def _by_word(
    evidence: Evidence, word: Word, inside: Hit | None, outside: Sequence[Word], hits: Sequence[Hit]
) -> Diagnosis:
    cause = CAUSES[word.cause]
    shown = [hit for hit in hits if hit.cause == word.cause]
    quotes = [_quote(evidence, hit) for hit in shown[:1]] or [Quote("", None, word.says)]
    if inside is not None and word.measured and not shown:
        narrower = (inside.cause, word.cause) in _NARROWER
        quotes.insert(0 if narrower else 1, _quote(evidence, inside))
    others = _others(evidence, word.cause, [inside.cause] if inside is not None else [], outside, word.weight)
    sure, do = round(word.weight, 2), advice(cause, evidence.command_id)
    return Diagnosis(cause.name, cause.title, sure, Role.ROOT, cause.retry, tuple(quotes), do, others)


def _by_hit(evidence: Evidence, hit: Hit, outside: Sequence[Word], hits: Sequence[Hit]) -> Diagnosis:
    name = hit.cause
    if name == "disk_full" and evidence.free_inodes == 0:
        name = "inodes_full"
    cause = CAUSES[name]
    sure = confidence(hit, hits, any(word.cause == name for word in outside), failed(evidence) is True)
    more = [
        candidate
        for candidate in hits
        if candidate is not hit and candidate.cause == hit.cause and candidate.text != hit.text
    ]
    quotes = tuple(_quote(evidence, candidate) for candidate in (hit, *more[: MOST_QUOTES - 1]))
    quotes += tuple(Quote("", None, word.says) for word in outside if word.measured and word.cause == name)
    others = _others(evidence, name, [candidate.cause for candidate in hits], outside, sure)
    do = advice(cause, evidence.command_id)
    return Diagnosis(name, cause.title, sure, hit.role, cause.retry, quotes, do, others)


def _unknown(evidence: Evidence, outside: Sequence[Word], hits: Sequence[Hit]) -> Diagnosis:
    cause = CAUSES["unknown"]
    names = zip(likeliest(evidence, outside, hits), SHARES, strict=False)
    others = alternatives(((CAUSES[name], share) for name, share in names), evidence.command_id)
    telling = [hit for hit in hits if hit.weight >= TELLING] or hits
    quotes = tuple(_quote(evidence, hit) for hit in telling[:2])
    if not quotes and (how := ended_how(evidence)):
        quotes = (Quote("", None, f"{how}; no log line says why" if evidence.logs else how),)
    do = advice(cause, evidence.command_id)
    return Diagnosis("unknown", cause.title, 0.5, Role.ROOT, cause.retry, quotes, do, others)


def _others(
    evidence: Evidence, name: str, seen: Sequence[str], outside: Sequence[Word], confidence: float
) -> tuple[Alternative, ...]:
    """Two or three other causes that the evidence leaves open, and the command that would tell."""
    names: dict[str, float] = {}
    left = max(0.02, 1.0 - confidence)
    for word in outside:
        names.setdefault(word.cause, left * 0.5)
    for cause in seen:
        names.setdefault(cause, left * 0.4)
    for cause in CAUSES[name].neighbours:
        names.setdefault(cause, left * 0.25)
    for gone in (name, "", "unknown"):
        names.pop(gone, None)
    best = sorted(names.items(), key=lambda item: -item[1])[:3]
    return alternatives(((CAUSES[other], round(share, 2)) for other, share in best), evidence.command_id)


def _quote(evidence: Evidence, hit: Hit) -> Quote:
    name = evidence.logs[hit.log].name if hit.log < len(evidence.logs) else ""
    return Quote(name, hit.line, redacted(plain(hit.text.strip(), QUOTE)))
