"""`dogwatch why`: the likeliest cause of a failure, the lines that show it, and what to do."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.out import JOB, UNWATCHED, emit, json_flag, lay_out, say
from dogwatch.cli.poll_first import freshen, no_poll_flag
from dogwatch.errors import CouldNotPoll, UsageError

if TYPE_CHECKING:
    from dogwatch.api.logs import Tail
    from dogwatch.transport.interface import Transport
    from dogwatch.wire.documents.diagnosis import ChangedDocument, StandingDocument, WhyDocument
    from dogwatch.wire.documents.job import JobDocument

ABOUT = """\
Explain why a job failed: the most likely cause, the log lines that show it, and what to do. For a running job, show \
what it is doing."""
EXAMPLES = (
    "dogwatch why train",
    "dogwatch why --log train.err train.out --exit-code 137",
    "dogwatch why --state TIMEOUT",
)
DETAILS = (
    "Without a job, give what you have: log files, exit code, signal or scheduler state. Any one of them is enough."
)

_RETRY = {
    "never": "no",
    "after_fix": "after fixing this",
    "as_is": "yes, from the newest checkpoint",
    "with_change": "after changing this",
}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", metavar="JOB", help=JOB)
    parser.add_argument("--stacks", action="store_true", help="print the stacks of a running job's processes (py-spy)")
    no_poll_flag(parser)
    json_flag(parser)
    files = parser.add_argument_group("Without a job")
    files.add_argument("--log", nargs="+", metavar="FILE", help="log files of one run")
    files.add_argument("--from-line", type=int, metavar="N", default=1, help="ignore what is above line N of --log")
    files.add_argument("--exit-code", type=int, metavar="N", help="exit code of the run")
    files.add_argument("--signal", metavar="NAME", help="signal that ended it, e.g. KILL or 9")
    files.add_argument("--state", metavar="STATE", default="", help="scheduler state, e.g. TIMEOUT or OUT_OF_MEMORY")


def run(args: Namespace) -> int:
    told = args.exit_code is not None or args.signal is not None or args.state
    if args.ref is not None and args.log:
        raise UsageError("give a job or --log files, not both")
    if args.ref is not None and (told or args.from_line != 1):
        raise UsageError("--exit-code, --signal, --state and --from-line cannot be combined with a job")
    if args.ref is None and not args.log and not told:
        raise UsageError("name a job, log files with --log, or how it ended (--exit-code, --signal, --state)")
    if args.stacks and args.ref is None:
        raise UsageError("--stacks needs the name of a running job")
    job, found = _of_job(args) if args.ref is not None else (None, _of_logs(args))
    if args.json:
        emit(found)
        return 0
    lay_out([*_doubt(found), *_outcome(job, found), *block(found, many=len(args.log or ()) != 1)])
    return 0


def _doubt(found: WhyDocument) -> list[str]:
    """That the host does not answer, above what was known when it still did."""
    from dogwatch.clock import Clock
    from dogwatch.tui import words

    outage = found.get("unreachable")
    if not outage:
        return []
    return [words.unreachable(outage["since"], outage["last_confirmed_at"], Clock().now())]


def _outcome(job: JobDocument | None, found: WhyDocument) -> list[str]:
    """How the job ended, above why."""
    from dogwatch.tui.phrases import outcome
    from dogwatch.tui.stages import stage_lines

    if job is None or not job["outcome"] or found["cause"] is None:
        return []
    return [f"outcome: {outcome(job)}", *(f"stage: {line}" for line in stage_lines(job))]


def _of_logs(args: Namespace) -> WhyDocument:
    from dogwatch.api import why

    if args.from_line < 1:
        raise UsageError(f"--from-line takes the number of a line, 1 or more, not {args.from_line}")
    number = why.signal_of(args.signal) if args.signal is not None else None
    return why.answer(why.of_logs(args.log or (), args.exit_code, number, args.state, args.from_line))


def _of_job(args: Namespace) -> tuple[JobDocument, WhyDocument]:
    from dogwatch import assemble
    from dogwatch.api import differences as changed
    from dogwatch.api import logs, queries, stacks, why
    from dogwatch.clock import Clock

    with assemble.store(readonly=True) as store:
        ref = queries.find(store, [args.ref], say)
        job = queries.documents(store, [ref])[0]
        if job["state"] != "ended" and not args.no_poll:
            freshen(store, [job["place"]])
            job = queries.documents(store, [ref])[0]
        lives = job["state"] == "running" and bool(stacks.pids(job))
        better = changed.better_attempt(job) if why.has_failed(job) else None
        good = changed.last_good(store, job) if why.has_failed(job) and better is None else None
        alone = why.is_settled(job) and not lives and good is None and better is None
        place = None if alone else queries.place(store, job["place"])
        if job["state"] not in (None, "ended") and not args.json and not queries.watched(store):
            say(UNWATCHED)
    if place is None or job["unreachable"]:
        return job, why.of_job(job)
    deadline = logs.HERE_DEADLINE if place.kind == "here" else logs.FAR_DEADLINE
    transport = assemble.transport(place, Clock())
    try:
        if lives:
            closer = stacks.inspect(transport, job, spy=args.stacks or stacks.wanted(job))
            fallen = why.fallen(transport, job, deadline)
            return job, why.of_job(job, processes=closer.processes, family=closer.family, fallen=fallen)
        found = why.of_job(job, () if why.is_settled(job) else _tails(transport, job, deadline))
        if better is not None:
            found = {**found, "changed": changed.compare_attempts(transport, job, better, deadline)}
        if good is not None:
            found = {**found, "changed": changed.compare(job, good, changed.ask(transport, job, good, deadline))}
        return job, found
    finally:
        transport.close()


def _tails(transport: Transport, job: JobDocument, deadline: float) -> list[Tail]:
    """The ends of its logs; what is known stands without them."""
    from dogwatch.api import logs, why

    try:
        return logs.Reading(transport, job, None, deadline).tails(why.LAST_LINES)
    except (CouldNotPoll, UsageError) as error:
        say(str(error))
        return []


def block(found: WhyDocument, many: bool = False) -> list[str]:
    """A diagnosis as a few lines for a person."""
    from dogwatch.text import plain
    from dogwatch.tui import phrases

    if "standing" in found:
        return _walked(found["standing"])
    if found["cause"] is None:
        return [found["title"]]
    lines = [phrases.diagnosis(found)]
    for quote in found["evidence"]:
        where = "" if quote["line"] is None else f"line {quote['line']}: "
        name = f"{plain(quote['file'], 200)}, " if quote["file"] and many and where else ""
        lines.append(f"  {name}{where}{plain(quote['text'], 400)}")
    lines += [f"  do: {advice}" for advice in found["advice"]]
    if found["cause"] != "unknown":
        lines.append(f"  retry: {_RETRY[found['retry'] or 'never']}")
    lines += [f"  or {other}" for other in phrases.alternatives(found)]
    return lines + (_changes(found["changed"]) if "changed" in found else [])


def _changes(changed: ChangedDocument) -> list[str]:
    """What is different from the last run that went well."""
    from dogwatch.text import plain

    since = f"  since {changed['since']} " + (_how(changed) if "how" in changed else "ended well")
    if not changed["changes"]:
        return [f"{since}, nothing recorded has changed"]
    lines = [f"{since}:"]
    for one in changed["changes"]:
        name = f"{one['what']} {one['name']}".strip() if one["what"] != "log" else one["name"]
        before, now = (plain(one[key] or "not set", 200) for key in ("before", "now"))
        lines.append(f"    {name}: {before} -> {now}" + (f" (line {one['line']})" if one.get("line") else ""))
    return lines


def _how(attempt: ChangedDocument) -> str:
    """How an attempt that went better ended, and how far it came."""
    words = str(attempt["how"]).replace("_", " ")
    return f"({words}" + (f", at step {attempt['reached']:.10g})" if attempt["reached"] is not None else ")")


def _walked(stands: StandingDocument) -> list[str]:
    """The questions in the order they were asked, down to the branch where the job stands."""
    from dogwatch.text import plain

    lines = [f"  {branch['asked']:<30} {plain(branch['says'], 300)}" for branch in stands["asked"]]
    return ["it has not ended", *lines, *(f"  do: {plain(text, 300)}" for text in stands["do"])]
