"""Assemble: put the parts together for an interface. Nothing here decides anything; everything is imported
where it is used, because `dogwatch ls` pays for every import."""

from __future__ import annotations

import contextlib
import os
import sys

from dogwatch.clock import Clock
from dogwatch.store import DAEMON
from dogwatch.store import POLL as POLL
from dogwatch.store.sqlite.home import locate, prepare
from dogwatch.store.sqlite.location import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from dogwatch.api.bundle import Bundle
    from dogwatch.channels.interface import Channel
    from dogwatch.model import Expectation, Place
    from dogwatch.settings import Settings
    from dogwatch.sources.interface import Source
    from dogwatch.store.interface import Lease
    from dogwatch.store.interface import Location as Location
    from dogwatch.store.interface import Store as Store
    from dogwatch.store.rows.channels import ChannelRow
    from dogwatch.transport.interface import Transport
    from dogwatch.transport.local import Here
    from dogwatch.watcher.loop.background_watch import BackgroundWatch
    from dogwatch.watcher.loop.watcher import Watcher
    from dogwatch.watcher.reports.bundles import Bundles
    from dogwatch.wire.answer import CheckedAnswer
    from dogwatch.wire.documents.commands import ReceiptDocument

TAKE_OVER = 0.5  # seconds between two tries of a daemon that waits for the lease

POLL_TIMEOUT = 2.0  # how long a poll waits for another one, which may be about what it was to ask


def home() -> str:
    """The state directory, made or refused."""
    path = locate(os.environ)
    prepare(path)
    return path


def home_if_there() -> str | None:
    """The state directory where one was made; it is neither made nor judged."""
    path = locate(os.environ)
    return path if os.path.isdir(path) else None


def location() -> Location:
    """Where the store of this user is."""
    return Home(home())


def store(*, readonly: bool = False) -> Store:
    """The store of this user, opened; read-only for interfaces that only look."""
    return Home(locate(os.environ)).open(readonly=readonly)


def here(clock: Clock, place: str = "here") -> Here:
    """The reach to this machine."""
    from dogwatch.transport.local import Here

    return Here(place, clock)


def check_proc() -> None:
    """Refuse to start a job where its processes could not be watched."""
    from dogwatch.errors import UsageError
    from dogwatch.transport.local import NO_PROC, has_proc

    if not has_proc():
        raise UsageError(NO_PROC)


def channel(row: ChannelRow, told: Settings, clock: Clock) -> Channel:
    """A channel as its row in the store describes it, with its secrets read now."""
    from dogwatch.channels.registry import open_channel

    return open_channel(row.kind, row.settings, told.accounts, clock)


def settings() -> Settings:
    """What the configuration file says."""
    from dogwatch import settings as file

    return file.load(file.path(os.environ))


def known_channels() -> dict[str, ChannelRow]:
    """The channels of the store by name; none where there is no store yet or none that can be opened."""
    from dogwatch.errors import DogwatchError
    from dogwatch.store.rows import channels as channel_rows

    try:
        with store(readonly=True) as opened:
            return {row.name: row for row in channel_rows.channels(opened)}
    except DogwatchError:
        return {}


def test_channels(opened: Store, clock: Clock, names: Sequence[str]) -> list[ReceiptDocument]:
    """Send a word on channels, by the way that alerts take, and say what came of it."""
    from dogwatch.channels.registry import CHANNELS
    from dogwatch.errors import UsageError
    from dogwatch.settings import Settings
    from dogwatch.store.rows import channels as channel_rows
    from dogwatch.watcher.alerts.dispatch import try_channel

    rows = channel_rows.channels(opened)
    unknown = [name for name in names if name not in {row.name for row in rows}]
    if unknown or not rows:
        raise UsageError(f"no channel named {unknown[0]!r}" if unknown else "no alert channel configured")
    wanted = [row for row in rows if not names or row.name in names]
    plugins = [CHANNELS.find(row.kind) for row in wanted]
    told = settings() if any(plugin is not None and plugin.account for plugin in plugins) else Settings()
    results: list[ReceiptDocument] = []
    for row in wanted:
        receipt = try_channel(row, lambda row: channel(row, told, clock), clock.now())
        results.append({"channel": row.name, "ok": receipt.ok, "detail": receipt.detail})
    return results


def send_test(opened: Store, clock: Clock) -> list[ReceiptDocument]:
    """A test that takes the whole way of an alert: a notification, deliveries, messages, receipts. By the watcher that
    runs, or else by us."""
    import time

    from dogwatch.api import alerts
    from dogwatch.errors import LeaseHeld
    from dogwatch.tuning import Tuning

    key = alerts.queue_test(opened, clock)
    try:
        with opened.location.lease("doctor", clock.now()):
            Tuning(opened, clock, lambda text: None, channel).dispatch.flush(again=False)
    except LeaseHeld:
        until = clock.mono() + 60.0
        while clock.mono() < until and not alerts.test_is_over(opened, key):
            time.sleep(0.2)
    return alerts.receipts(opened, key)


def send_queued(opened: Store, clock: Clock) -> None:
    """Send what is queued, unless somebody watches and does so."""
    import contextlib

    from dogwatch.errors import LeaseHeld
    from dogwatch.tuning import Tuning

    with contextlib.suppress(LeaseHeld), opened.location.lease("watch", clock.now()):
        Tuning(opened, clock, lambda text: None, channel).dispatch.flush()


def watch(
    opened: Store,
    clock: Clock,
    *,
    who: str,
    terminal: Channel | None = None,
    narrate: Callable[[str], None] = lambda text: None,
    complain: Callable[[str], None] | None = None,
    every: float | None = None,
    write_every: float = 0.0,
    log_file: str | None = None,
) -> Watcher:
    """A watcher over every place of the store. The caller holds the lease."""
    from dogwatch.api import plugins
    from dogwatch.plugins import FAILURES
    from dogwatch.tuning import Tuning
    from dogwatch.watcher.loop.watcher import Watcher
    from dogwatch.watcher.tick.place_poller import PlacePoller

    known_sources = Sources()
    tuning = Tuning(opened, clock, narrate, channel, terminal)
    for broken in plugins.broken():
        narrate(f"{broken.sentence}; it is not used")

    def tune() -> None:
        tuning.again()
        for sentence in FAILURES.take():
            narrate(sentence)

    made = bundles(opened.location, clock, narrate)

    def make_poller(place: Place) -> PlacePoller:
        from dogwatch.api.box_profiles import rent

        line, bundles = transport(place, clock), made is not None
        return PlacePoller(place, line, known_sources, clock, every, bundles=bundles, rent=rent(place))

    return Watcher(
        opened,
        (),
        clock,
        who=who,
        narrate=narrate,
        complain=complain,
        write_every=write_every,
        make_poller=make_poller,
        log_file=log_file,
        dispatch=tuning.dispatch,
        heartbeat=tuning.heartbeat,
        tune=tune,
        bundles=made,
    )


def bundle(location: Location, ref: str, folder: str, clock: Clock) -> Bundle:
    """A diagnostics bundle of a job in a folder, with what its place can add to what the store knows."""
    from dogwatch.api import bundle as bundling
    from dogwatch.api import queries
    from dogwatch.errors import UsageError

    with location.open(readonly=True) as opened:
        answer = None
        name = queries.documents(opened, [ref])[0]["place"]
        with contextlib.suppress(UsageError):  # the host was removed: there is no way any more
            way = transport(queries.place(opened, name), clock)
            try:
                answer = bundling.ask_place(way, opened, ref)
            finally:
                way.close()
        return bundling.make(opened, ref, folder, answer, clock.now(), settings().price_per_gpu_hour)


def bundles(location: Location, clock: Clock, narrate: Callable[[str], None]) -> Bundles | None:
    """Bundles of what fails, made for as long as somebody watches; None when the configuration file wants none."""
    from dogwatch.watcher.reports.bundles import Bundles

    folder = bundle_folder(location)
    if folder is None:
        return None

    def make(ref: str, gathered: CheckedAnswer | None) -> None:
        from dogwatch.api import bundle as bundling
        from dogwatch.transport.interface import Answer

        now = clock.now()
        answer = None if gathered is None else Answer("", now, 0.0, gathered)
        with location.open(readonly=True) as opened:
            bundling.make(opened, ref, folder, answer, now, settings().price_per_gpu_hour)
        bundling.sweep(folder, now)

    return Bundles(make, narrate)


def bundle_folder(location: Location) -> str | None:
    """Where bundles of what fails go: into the home, where the configuration file says, or nowhere."""
    from dogwatch.errors import DogwatchError

    try:
        told = settings().bundles
    except DogwatchError:  # said already by whoever else needs the file
        told = True
    if isinstance(told, str):
        return told
    return location.path("bundles") if told else None


class Sources(dict):  # type: ignore[type-arg]
    """The kinds of thing that jobs live in, each loaded when a job of that kind is first watched."""

    def __missing__(self, kind: str) -> Source:
        from dogwatch import sources

        source: Source = sources.build(kind)
        self[kind] = source
        return source


def transport(place: Place, clock: Clock) -> Transport:
    """The way to a place."""
    from dogwatch.model.job import is_here

    if is_here(place.kind):
        return here(clock, place.name)
    from dogwatch.transport.ssh import Ssh

    return Ssh(place.name, str(place.transport["ssh"]), place.transport.get("config"), clock)


def background_watch(
    location: Location,
    clock: Clock,
    *,
    who: str,
    terminal: Channel | None = None,
    complain: Callable[[str], None] | None = None,
    every: float | None = None,
    log_file: str | None = None,
) -> BackgroundWatch:
    """Somebody watching for as long as the interface that asked is open: this process only if nobody else does."""
    from dogwatch.watcher.loop.background_watch import BackgroundWatch

    def make(own: Store) -> Watcher:
        return watch(own, clock, who=who, terminal=terminal, complain=complain, every=every, log_file=log_file)

    return BackgroundWatch(location, who, clock, make)


def held(
    clock: Clock,
    *,
    who: str,
    terminal: Channel | None = None,
    narrate: Callable[[str], None] = lambda text: None,
    every: float | None = None,
    write_every: float = 0.0,
    log_file: str | None = None,
    lease: Lease | None = None,
) -> AbstractContextManager[Watcher]:
    """A watcher with the lease, its store repaired first if it is damaged; LeaseHeld says who has it."""
    from contextlib import contextmanager

    from dogwatch.watcher.loop.start import intact_store

    @contextmanager
    def holding() -> Iterator[Watcher]:
        where = location()
        with lease or where.lease(who, clock.now()), intact_store(where, clock, narrate) as opened:
            watcher = watch(
                opened,
                clock,
                who=who,
                terminal=terminal,
                narrate=narrate,
                every=every,
                write_every=write_every,
                log_file=log_file,
            )
            watcher.begin()
            try:
                yield watcher
            finally:
                watcher.end()

    return holding()


def daemon(
    clock: Clock, narrate: Callable[[str], None], stopped: Callable[[], bool]
) -> AbstractContextManager[Lease | None]:
    """The lease of a daemon, when whoever watches for a while has ended; None when it was stopped before. LeaseHeld
    says which daemon there is already, whether that one watches or waits."""
    import time
    from contextlib import contextmanager

    from dogwatch.errors import LeaseHeld

    @contextmanager
    def alone() -> Iterator[Lease | None]:
        where, told = location(), ""
        with where.lease(DAEMON, clock.now(), DAEMON):
            while not stopped():
                try:
                    taken = where.lease(DAEMON, clock.now())
                except LeaseHeld as held:
                    if held.who == DAEMON:
                        raise
                    who = f"dogwatch {held.who} (pid {held.pid})"
                    if who != told and held.who != POLL:
                        narrate(f"{who} watches now; this daemon takes over when that one has ended")
                    told = who
                    time.sleep(TAKE_OVER)
                    continue
                yield taken
                return
            yield None

    return alone()


def poll_once(
    opened: Store,
    clock: Clock,
    log_file: str | None = None,
    *,
    who: str = "patrol",
    only: Sequence[str] | None = None,
    deadline: float | None = None,
    polled: Callable[[], None] = lambda: None,
    complain: Callable[[str], None] | None = None,
) -> list[str]:
    """One tick of every place (of `only` these) that may be looked at now; the names of those that were. `looked` is
    called when all is committed, before alerts are sent. Beside a running watcher only the experiment log is brought
    up to date."""
    from dogwatch.errors import LeaseHeld

    try:
        held_lease = opened.location.lease(who, clock.now(), timeout=POLL_TIMEOUT if who == POLL else 0.0)
    except LeaseHeld:
        if log_file is not None:
            from dogwatch.watcher.reports.experiment_log import advance

            advance(opened, log_file, clock.now())
        return []
    with held_lease:
        watcher = watch(opened, clock, who=who, log_file=log_file, complain=complain)
        try:
            return watcher.poll_once(only, deadline, polled)
        finally:
            watcher.close()


def poll(opened: Store, places: Mapping[str, float | None], seconds: float) -> list[str]:
    """Poll these places, last polled then, in a process of its own and wait for it at most so long; those that are not
    polled by then."""
    from dogwatch.actions import poll as polls
    from dogwatch.api import queries

    if not opened.location.writable():  # what is found could not be written down
        return []
    try:
        started = polls.start(tuple(places))
    except OSError:  # no process to be had: what is stored is shown, with its age
        return list(places)
    try:
        if polls.wait(started, seconds):
            return []
        late = queries.unpolled(opened, Clock().now())
        return [name for name, last in places.items() if name in late and late[name] == last]
    finally:
        os.close(started)


def terminal(shown: bool = False) -> Channel:
    """The channel that says notifications on stderr, or nowhere when a live screen shows them anyway."""
    from dogwatch.channels.terminal import Terminal

    return Terminal(None if shown else sys.stderr)


def start_run(
    opened: Store,
    clock: Clock,
    argv: Sequence[str],
    *,
    name: str,
    description: str = "",
    workers: int,
    gpus: Sequence[str] | None,
    env: Sequence[str],
    cwd: str | None,
    expect: Expectation,
) -> str:
    """Write the intent, register the job, start the supervisor: in this order, so that no worker ever runs
    unregistered and nothing is registered that was refused."""
    from dogwatch.actions import launch
    from dogwatch.api import commands
    from dogwatch.errors import DogwatchError
    from dogwatch.text import named

    check_proc()
    named(name, "--name")
    launch.sweep(opened.location.path(), lambda: commands.run_ids(opened), clock.now())
    run = launch.prepare(
        opened.location.path(), name, argv, workers=workers, gpus=gpus, env=env, cwd=cwd, now=clock.now()
    )
    transport = here(clock)
    try:
        ref = commands.add_run(
            opened,
            clock,
            transport,
            run_id=run.id,
            directory=run.directory,
            name=name,
            description=description,
            logs=run.logs,
            progress=run.progress,
            gpus=gpus,
            expect=expect,
        )
    except DogwatchError:
        with contextlib.suppress(OSError):  # the disk that took no registration may not let go either
            launch.discard(run)
        raise
    finally:
        transport.close()
    try:
        launch.start(run)
    except DogwatchError:
        # A supervisor that reported too late keeps its run, and the job stays: its records tell the truth.
        with contextlib.suppress(launch.AlreadyStarted, OSError), launch.discarding(run):
            commands.forget(opened, clock, ref)
        raise
    return ref
