"""Start a chain for an interface: the intent is written first, then the machine is asked to start it, then its answer
is written down."""

from __future__ import annotations

from typing import NamedTuple

from dogwatch.clock import Clock
from dogwatch.errors import CouldNotPoll

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dogwatch.model import Expectation, Place
    from dogwatch.store.interface import Store
    from dogwatch.wire.chain import Chain, Push, StartReport


class StartedChain(NamedTuple):
    """The refs of what is watched now, and what the machine said."""

    refs: list[str]
    report: StartReport
    picked_up: bool


def place_for(store: Store, host: str | None) -> Place:
    """This machine, or the host of that name."""
    from dogwatch.api import hosts, queries
    from dogwatch.model.job import HERE

    return queries.place(store, HERE) if host in (None, HERE) else hosts.find(store, str(host))


def send_code(place: Place, wanted: str, exclude: Sequence[str], say: Callable[[str], None]) -> None:
    """Send a directory there before the start, and say what a person should know of it."""
    from dogwatch.actions.transfer import sync
    from dogwatch.transport.shell import shell_of

    synced = sync(shell_of(place), wanted, exclude, say)
    for warning in synced.warnings:
        say(warning)
    say(f"{synced.files:,} files are in {synced.remote}, each with the hash it has here ({synced.copied:,} sent now)")


def start_chain(
    store: Store,
    clock: Clock,
    place: Place,
    chain: Chain,
    push: Push | None,
    *,
    description: str,
    expect: Expectation,
) -> StartedChain:
    """Register the chain, start it, and confirm the job. What certainly did not start is taken back; what may have
    started stays registered, and the same request picks it up."""
    from dogwatch.actions.chain.script import push_file
    from dogwatch.actions.chain.start import ChainRefused, ChainUnclear, start
    from dogwatch.api import chains
    from dogwatch.model.job import is_here
    from dogwatch.transport.script import NoAnswer
    from dogwatch.transport.target import Target

    here = is_here(place.kind)
    target = None if here else Target(str(place.transport["ssh"]), place.transport.get("config"))
    runs = store.location.path("runs") if here else ""
    intent = chains.intend(store, clock, place.name, chain, runs, description, expect)
    secret = None if push is None else push_file(push)
    where = "this machine" if here else place.name
    try:
        report = start(where, target, chain, intent.run, runs=runs, created=clock.now(), push=secret, clock=clock)
    except ChainRefused:
        chains.withdraw(store, clock, intent.ref)
        raise
    except NoAnswer as error:
        if not error.began and not intent.picked_up:
            chains.withdraw(store, clock, intent.ref)
            raise CouldNotPoll(f"{where} is unreachable: {error}; nothing was started") from error
        raise ChainUnclear(_unclear(where, intent.ref, str(error))) from error
    except ChainUnclear as error:
        raise ChainUnclear(_unclear(where, intent.ref, str(error))) from error
    if report.jobs:
        refs = chains.became_slurm_jobs(store, clock, place, intent.ref, chain, report.jobs, description)
        return StartedChain(refs, report, intent.picked_up)
    chains.confirm(store, intent.ref, report.directory)
    return StartedChain([intent.ref], report, intent.picked_up)


def _unclear(where: str, ref: str, why: str) -> str:
    return (
        f"{where} did not say whether {ref} was started, so it may run there ({why}); the same command again finds out"
        f" and starts it at most once, and `dogwatch status {ref}` shows it"
    )
