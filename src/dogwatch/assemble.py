"""Assemble: put the parts together for a face. Nothing here decides anything; everything is imported
where it is used, because `dogwatch ls` pays for every import."""

from __future__ import annotations

import contextlib
import os
import sys

from dogwatch.clock import Clock
from dogwatch.store.database import Store as Store
from dogwatch.store.database import open_store
from dogwatch.store.home import locate, prepare
from dogwatch.store.lease import POLL as POLL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from dogwatch.channels.interface import Channel
    from dogwatch.desk.bundle import Bundle
    from dogwatch.engine.bundles import Bundles
    from dogwatch.engine.eyes import Eyes
    from dogwatch.engine.watch import Watch
    from dogwatch.model import Expectation, Place
    from dogwatch.reach.here import Here
    from dogwatch.reach.interface import Reach
    from dogwatch.settings import Settings, Smtp
    from dogwatch.sources.interface import Source
    from dogwatch.store.lease import Lease

TAKE_OVER = 0.5  # seconds between two tries of a daemon that waits for the lease

POLL_PATIENCE = 2.0  # how long a poll waits for another one, which may be about what it was to ask


def home() -> str:
    """The state directory, made or refused."""
    path = locate(os.environ)
    prepare(path)
    return path


def store(*, readonly: bool = False) -> Store:
    """The store of this user, opened; read-only for faces that only look."""
    return open_store(locate(os.environ), readonly=readonly)


def here(clock: Clock, place: str = "here") -> Here:
    """The reach to this machine."""
    from dogwatch.reach.here import Here

    return Here(place, clock)


def channel(row: Mapping[str, Any], smtp: Smtp, clock: Clock) -> Channel:
    """A channel as its row in the store describes it, with its secrets read now."""
    import importlib

    from dogwatch import secret

    kind, told = row["kind"], row["settings"]
    module = importlib.import_module(f"dogwatch.channels.{kind}")
    url = secret.read(told["url"]) if "url" in told else ""
    if kind == "webhook":
        made: Channel = module.Webhook(url, secret.read(told["secret"]) if told.get("secret") else None, clock=clock)
    elif kind == "email":
        used = smtp.at(told.get("host"), told.get("port"))
        password = secret.read(used.password) if used.password else None
        inside = used is smtp or not told.get("outside")
        server = module.Server(used.host, used.port, used.sender, used.user, password, used.tls, inside)
        made = module.Email(told["to"], server)
    elif kind == "command":
        made = module.Command(told["argv"])
    elif kind == "file":
        made = module.File(told["path"])
    elif kind in ("slack", "discord"):
        made = getattr(module, kind.capitalize())(url, inside=not told.get("outside"))
    else:
        made = getattr(module, kind.capitalize())(*([url] if url else []))
    return made


def settings() -> Settings:
    """What the configuration file says."""
    from dogwatch import settings as file

    return file.load(file.path(os.environ))


def known_channels() -> dict[str, dict[str, Any]]:
    """The channels of the store by name; none where there is no store yet or none that can be opened."""
    from dogwatch.errors import DogwatchError
    from dogwatch.store import alerts

    try:
        with store(readonly=True) as opened:
            return {row["name"]: row for row in alerts.channels(opened)}
    except DogwatchError:
        return {}


def test_channels(opened: Store, clock: Clock, names: Sequence[str]) -> list[dict[str, Any]]:
    """Send a word on channels, by the way that alerts take, and say what came of it."""
    from dogwatch.engine.dispatch import try_channel
    from dogwatch.errors import UsageError
    from dogwatch.settings import Smtp
    from dogwatch.store import alerts

    rows = alerts.channels(opened)
    unknown = [name for name in names if name not in {row["name"] for row in rows}]
    if unknown or not rows:
        raise UsageError(f"there is no channel {unknown[0]!r}" if unknown else "there is no channel to test yet")
    wanted = [row for row in rows if not names or row["name"] in names]
    smtp = settings().smtp if any(row["kind"] == "email" for row in wanted) else Smtp()
    return [try_channel(row, lambda one: channel(one, smtp, clock), clock.now()) for row in wanted]


def send_test(opened: Store, clock: Clock) -> list[dict[str, Any]]:
    """A test that takes the whole way of an alert: a notice, letters, messages, receipts. By the watcher that runs, or
    else by us."""
    import time

    from dogwatch.desk import alerts
    from dogwatch.errors import LeaseHeld
    from dogwatch.store import lease
    from dogwatch.tuning import Tuning

    key = alerts.queue_test(opened, clock)
    try:
        with lease.take(opened.home, "doctor", clock.now()):
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
    from dogwatch.store import lease
    from dogwatch.tuning import Tuning

    with contextlib.suppress(LeaseHeld), lease.take(opened.home, "watch", clock.now()):
        Tuning(opened, clock, lambda text: None, channel).dispatch.flush()


def watch(
    opened: Store,
    clock: Clock,
    *,
    who: str,
    channels: Sequence[Channel] = (),
    narrate: Callable[[str], None] = lambda text: None,
    complain: Callable[[str], None] | None = None,
    every: float | None = None,
    write_every: float = 0.0,
    log_file: str | None = None,
) -> Watch:
    """A watcher over every place of the store. The caller holds the lease."""
    from dogwatch.engine.post import Post
    from dogwatch.engine.watch import Watch
    from dogwatch.tuning import Tuning

    known_sources = Sources()
    tuning = Tuning(opened, clock, narrate, channel)
    made = bundles(opened.home, clock, narrate)

    def make_post(place: Place) -> Post:
        return Post(place, reach(place, clock), known_sources, clock, every, bundles=made is not None)

    return Watch(
        opened,
        (),
        clock,
        who=who,
        channels=channels,
        narrate=narrate,
        complain=complain,
        write_every=write_every,
        make_post=make_post,
        log_file=log_file,
        dispatch=tuning.dispatch,
        heartbeat=tuning.heartbeat,
        tune=tuning.again,
        bundles=made,
    )


def bundle(home: str, ref: str, folder: str, clock: Clock) -> Bundle:
    """A diagnostics bundle of a job in a folder, with what its place can add to what the store knows."""
    from dogwatch.desk import ask
    from dogwatch.desk import bundle as bundling
    from dogwatch.errors import UsageError

    with open_store(home, readonly=True) as opened:
        answer = None
        name = ask.documents(opened, [ref])[0]["place"]
        with contextlib.suppress(UsageError):  # the host was removed: there is no way any more
            way = reach(ask.place(opened, name), clock)
            try:
                answer = bundling.ask_place(way, opened, ref)
            finally:
                way.close()
        return bundling.make(opened, ref, folder, answer, clock.now(), settings().price_per_gpu_hour)


def bundles(home: str, clock: Clock, narrate: Callable[[str], None]) -> Bundles | None:
    """Bundles of what fails, made for as long as somebody watches; None when the configuration file wants none."""
    from dogwatch.engine.bundles import Bundles

    folder = bundle_folder(home)
    if folder is None:
        return None

    def make(ref: str, gathered: Mapping[str, Any] | None) -> None:
        from dogwatch.desk import bundle as bundling
        from dogwatch.reach.interface import Answer

        now = clock.now()
        answer = None if gathered is None else Answer("", now, 0.0, dict(gathered))
        with open_store(home, readonly=True) as opened:
            bundling.make(opened, ref, folder, answer, now, settings().price_per_gpu_hour)
        bundling.sweep(folder, now)

    return Bundles(make, narrate)


def bundle_folder(home: str) -> str | None:
    """Where bundles of what fails go: into the home, where the configuration file says, or nowhere."""
    from dogwatch.errors import DogwatchError

    try:
        told = settings().bundles
    except DogwatchError:  # said already by whoever else needs the file
        told = True
    if isinstance(told, str):
        return told
    return os.path.join(home, "bundles") if told else None


class Sources(dict):  # type: ignore[type-arg]
    """The kinds of thing that jobs live in, each loaded when a job of that kind is first watched."""

    def __missing__(self, kind: str) -> Source:
        import importlib

        self[kind] = importlib.import_module(f"dogwatch.sources.{kind}").source
        found: Source = self[kind]
        return found


def reach(place: Place, clock: Clock) -> Reach:
    """The way to a place."""
    from dogwatch.model.job import CLUSTER_HERE

    if place.kind in ("here", CLUSTER_HERE):
        return here(clock, place.name)
    from dogwatch.reach.ssh import Ssh

    return Ssh(place.name, str(place.reach["ssh"]), place.reach.get("config"), clock)


def eyes(
    opened_home: str,
    clock: Clock,
    *,
    who: str,
    channels: Sequence[Channel] = (),
    complain: Callable[[str], None] | None = None,
    every: float | None = None,
    log_file: str | None = None,
) -> Eyes:
    """Somebody watching for as long as the face that asked is open: this process only if nobody else does."""
    from dogwatch.engine.eyes import Eyes

    def make(own: Store) -> Watch:
        return watch(own, clock, who=who, channels=channels, complain=complain, every=every, log_file=log_file)

    return Eyes(opened_home, who, clock, make)


def held(
    clock: Clock,
    *,
    who: str,
    channels: Sequence[Channel] = (),
    narrate: Callable[[str], None] = lambda text: None,
    every: float | None = None,
    write_every: float = 0.0,
    log_file: str | None = None,
    lease: Lease | None = None,
) -> AbstractContextManager[Watch]:
    """A watcher with the lease, its store repaired first if it is damaged; LeaseHeld says who has it."""
    from contextlib import contextmanager

    from dogwatch.engine.start import sound_store
    from dogwatch.store.lease import take

    @contextmanager
    def holding() -> Iterator[Watch]:
        path = home()
        with lease or take(path, who, clock.now()), sound_store(path, clock, narrate) as opened:
            watcher = watch(
                opened,
                clock,
                who=who,
                channels=channels,
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
    from dogwatch.store import lease

    @contextmanager
    def alone() -> Iterator[Lease | None]:
        path, told = home(), ""
        with lease.take_daemon(path, clock.now()):
            while not stopped():
                try:
                    taken = lease.take(path, lease.DAEMON, clock.now())
                except LeaseHeld as held:
                    if held.who == lease.DAEMON:
                        raise
                    who = f"dogwatch {held.who} (pid {held.pid})"
                    if who != told and held.who != lease.POLL:
                        narrate(f"{who} watches now; this daemon takes over when that one has ended")
                    told = who
                    time.sleep(TAKE_OVER)
                    continue
                yield taken
                return
            yield None

    return alone()


def look_once(
    opened: Store,
    clock: Clock,
    log_file: str | None = None,
    *,
    who: str = "patrol",
    only: Sequence[str] | None = None,
    deadline: float | None = None,
    looked: Callable[[], None] = lambda: None,
) -> list[str]:
    """One tick of every place (of `only` these) that may be looked at now; the names of those that were. `looked` is
    called when all is committed, before alerts are sent. Beside a running watcher only the experiment log is brought
    up to date."""
    from dogwatch.errors import LeaseHeld
    from dogwatch.store import lease

    try:
        held_lease = lease.take_after_poll(opened.home, who, clock, POLL_PATIENCE if who == POLL else 0.0)
    except LeaseHeld:
        if log_file is not None:
            from dogwatch.engine.experiment_log import advance

            advance(opened, log_file, clock.now())
        return []
    with held_lease:
        watcher = watch(opened, clock, who=who, log_file=log_file)
        try:
            return watcher.look_once(only, deadline, looked)
        finally:
            watcher.close()


def poll(opened: Store, places: Mapping[str, float | None], seconds: float) -> list[str]:
    """Poll these places, last polled then, in a process of its own and wait for it at most so long; those that are not
    polled by then."""
    from dogwatch.desk import ask
    from dogwatch.hands import poll as polls

    if not os.access(opened.home, os.W_OK):  # what is found could not be written down
        return []
    try:
        started = polls.start(tuple(places))
    except OSError:  # no process to be had: what is stored is shown, with its age
        return list(places)
    try:
        if polls.wait(started, seconds):
            return []
        late = ask.unpolled(opened, Clock().now())
        return [name for name, last in places.items() if name in late and late[name] == last]
    finally:
        os.close(started)


def terminal(shown: bool = False) -> Channel:
    """The channel that says notices on stderr, or nowhere when a live screen shows them anyway."""
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
    """Write the intent, register the job, start the keeper: in this order, so that no worker ever runs
    unregistered and nothing is registered that was refused."""
    from dogwatch.desk import tell
    from dogwatch.errors import DogwatchError
    from dogwatch.hands import launch
    from dogwatch.text import named

    named(name, "--name")
    launch.sweep(opened.home, lambda: tell.run_ids(opened), clock.now())
    run = launch.prepare(opened.home, name, argv, workers=workers, gpus=gpus, env=env, cwd=cwd, now=clock.now())
    try:
        ref = tell.add_run(
            opened,
            clock,
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
    try:
        launch.start(run)
    except DogwatchError:
        # A keeper that reported too late keeps its run, and the job stays: its records tell the truth.
        with contextlib.suppress(launch.AlreadyStarted, OSError), launch.discarding(run):
            tell.forget(opened, clock, ref)
        raise
    return ref
