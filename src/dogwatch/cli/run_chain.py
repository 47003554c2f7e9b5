"""`dogwatch run` with stages or on another machine: a chain is started there, and watched from here."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from dogwatch.api.chain_request import ChainWanted, chain, slug
from dogwatch.api.expectations import globs, growth, not_too_long, positive, remote_path, seconds
from dogwatch.api.push import push_of
from dogwatch.cli.out import emit, say
from dogwatch.errors import FINE, UsageError
from dogwatch.model.job import HERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dogwatch.chains import StartedChain
    from dogwatch.model import Expectation
    from dogwatch.wire.chain import Chain, Push


def run_chain(args: Namespace) -> int:
    """Check everything, start the chain, and watch it unless it is to be left alone."""
    from dogwatch import assemble, chains
    from dogwatch.api import queries
    from dogwatch.clock import Clock

    host = None if args.on in (None, HERE) else args.on
    if args.sync is not None and host is None:
        raise UsageError("--sync sends a directory to another machine; say to which with --on HOST")
    push = push_of(args.push)
    wanted = chain(_wanted(args, host, push))
    if args.dry_run:
        return _print_script(wanted, push)
    expect = _expectation(args, host, wanted.cwd)
    if host is None:
        assemble.check_proc()
    clock = Clock()
    with assemble.store() as store:
        place = chains.place_for(store, host)
        if args.sync is not None:
            chains.send_code(place, args.sync, args.sync_exclude, say)
        try:
            started = chains.start_chain(store, clock, place, wanted, push, description=args.description, expect=expect)
        except KeyboardInterrupt:
            say("interrupted while it was being sent, so it may run there; the same command again finds out")
            raise
        _say_what_came(started, wanted, "this machine" if host is None else host)
        if args.detach:
            documents = queries.documents(store, started.refs)
            if args.json:
                emit(documents[0] if len(documents) == 1 else {"jobs": documents})
            else:
                print(*started.refs, sep="\n")
            if not queries.watching(store)["alive"]:
                say("started; no watcher is running; start one: dogwatch daemon")
            return FINE
    return _watch(started.refs, clock, args.json)


def _watch(refs: list[str], clock: object, json: bool) -> int:
    from dogwatch.cli.leaving import saying_what_goes_on

    with saying_what_goes_on(refs):
        from dogwatch.cli.showing import show

        return show(refs, clock, json=json, who="run")  # type: ignore[arg-type]


def _wanted(args: Namespace, host: str | None, push: Push | None) -> ChainWanted:
    return ChainWanted(
        name=args.name,
        stages=args.stage,
        command=args.command,
        after=args.after,
        host=host,
        cwd=args.cwd if args.cwd is not None or args.sync is None else _sent_to(args.sync),
        env=args.env,
        gpu_ids=args.gpu_ids,
        workers=args.workers,
        on_reboot=args.on_reboot or "leave",
        resume_command=args.resume_command,
        detach_with=args.detach_with or "auto",
        sbatch=args.sbatch_options,
        push_way=None if push is None else push.way,
    )


def _sent_to(sync: str) -> str:
    """Where --sync DIR[:REMOTE] puts the directory, from the home there on."""
    here, _, there = sync.partition(":")
    return there or os.path.basename(os.path.abspath(os.path.expanduser(here)))


def _expectation(args: Namespace, host: str | None, cwd: str) -> Expectation:
    from dogwatch.model import Expectation

    def paths(patterns: Sequence[str], flag: str) -> tuple[str, ...]:
        if host is None:
            return globs(patterns, flag, cwd, later=True, note=say)
        return tuple(_there(pattern, flag, cwd) for pattern in patterns)

    return Expectation(
        workers=1,
        outputs=paths(args.output, "--output"),
        checkpoints=paths(args.checkpoint, "--checkpoint"),
        total_items=positive(args.total_items, "--total-items"),
        stall_timeout=seconds(args.stall_timeout, "--stall-timeout"),
        min_growth=growth(args.min_growth, "--min-growth"),
    )


def _there(pattern: str, flag: str, cwd: str) -> str:
    """A pattern on another machine: absolute, or from an absolute --cwd on."""
    if not pattern.startswith("/") and cwd.startswith("/"):
        pattern = not_too_long(f"{cwd}/{pattern}", flag)
    if not pattern.startswith("/"):
        raise UsageError(f"{flag} takes an absolute path on the host, or give an absolute --cwd; not '{pattern[:80]}'")
    return remote_path(pattern, flag) or ""


def _print_script(wanted: Chain, push: Push | None) -> int:
    from dogwatch.actions.chain.script import chain_script
    from dogwatch.clock import Clock

    script = chain_script(wanted, f"{slug(wanted.name)}-000000", Clock().now())
    sys.stdout.write(script.decode("utf-8"))
    if push is not None:
        say(f"push.conf (mode 0600) lies beside it and holds where the {push.way} push goes; it is not shown")
    return FINE


def _say_what_came(started: StartedChain, wanted: Chain, where: str) -> None:
    report = started.report
    if started.picked_up:
        say(f"an earlier request for the same run did not hear whether it was started; looked at {where} again")
    if report.jobs:
        say(
            f"{len(report.jobs)} Slurm jobs, each after the one before it succeeded: {', '.join(map(str, report.jobs))}"
        )
        return
    if report.end is not None and not report.started:
        say(f"{report.run} was started before and has ended: {report.end.why}")
    elif not report.started:
        say(f"{report.run} was started before and is not started again")
    else:
        stages = "" if len(wanted.stages) == 1 else f", {len(wanted.stages)} stages"
        say(f"started on {where} with {report.detach}{stages}; its files: {report.directory}")
    if report.hook is not None:
        kind = "a line in the crontab" if report.hook.where == "cron" else f"a line in {report.hook.where}"
        when = "a reboot" if report.hook.where == "cron" else "a reboot, at the next login (no cron runs there)"
        say(f"after {when} {kind} of {where} resumes it; it is removed when the chain ends: {report.hook.line}")
