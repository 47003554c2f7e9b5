"""The loop. It waits for the next due place or the wake-up, ticks, commits, and says what is due."""

from __future__ import annotations

import gc
import os
import select
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dogwatch.channels.interface import DEADLINE
from dogwatch.clock import Clock, boot_id, local, stamp
from dogwatch.errors import DogwatchError
from dogwatch.model import Finding, Place
from dogwatch.store.interface import Store, WakeUp
from dogwatch.store.rows import places
from dogwatch.store.rows import tick as rows
from dogwatch.store.rows import watch as watchers
from dogwatch.store.rows.channels import mute_since
from dogwatch.store.rows.findings import open_findings
from dogwatch.store.rows.places import known_places
from dogwatch.transport.child import open_pipe
from dogwatch.watcher.alerts.dispatch import LEAVE, STOPPED, Dispatch
from dogwatch.watcher.alerts.heartbeat import Heartbeat
from dogwatch.watcher.loop.faults import Faults
from dogwatch.watcher.loop.poll_threads import PollThreads
from dogwatch.watcher.loop.record import RECORD, Record
from dogwatch.watcher.reports.bundles import Bundles
from dogwatch.watcher.reports.experiment_log import ExperimentLog
from dogwatch.watcher.tick.conclude import TickResult
from dogwatch.watcher.tick.judge import Identity
from dogwatch.watcher.tick.place_poller import PlacePoller, PollResult, index

if TYPE_CHECKING:
    from dogwatch.wire.documents.report import GpuReading

# A crowd of workers that end together ring the wake-up together: one poll answers them all.
WAKEUP_PAUSE = 0.05
BEAT = 5.0
GAP = 60.0
BACKUP_AGAIN = 60.0
READ = "read the store"
# A poll makes and drops some dozens of objects for each job and no cycle: searching all that is held for cycles several
# times meanwhile would take longer than the poll.
SELDOM, OBJECTS = (50_000, 20, 100), 40


class Watcher:
    """One watcher over one store; the caller holds the lease. `step()` does what is due and says how
    long nothing will be; `run()` does so until told to stop. `complain` hears only that the store takes nothing."""

    def __init__(
        self,
        store: Store,
        pollers: Sequence[PlacePoller],
        clock: Clock,
        *,
        who: str,
        narrate: Callable[[str], None] = lambda text: None,
        complain: Callable[[str], None] | None = None,
        write_every: float = 0.0,
        make_poller: Callable[[Place], PlacePoller] | None = None,
        log_file: str | None = None,
        dispatch: Dispatch | None = None,
        heartbeat: Heartbeat | None = None,
        tune: Callable[[], None] = lambda: None,
        bundles: Bundles | None = None,
    ) -> None:
        self._dispatch, self._heartbeat, self._tune, self._bundles = dispatch, heartbeat, tune, bundles
        self._store, self._pollers, self._clock = store, list(pollers), clock
        self._write_every, self._make_poller = write_every, make_poller
        self._version: int | None = None
        self._readings: dict[str, GpuReading] = {}
        self._findings: tuple[int, dict[Identity, Finding]] | None = None
        self._poll_threads = PollThreads()
        self._log = ExperimentLog(store, log_file) if log_file is not None else None
        self._who, self._narrate = who, narrate
        self._record = Record(store, complain or narrate)
        self._faults = Faults(store.location.path("faults"), complain or narrate)
        self._begun = self._useful = False
        self._backup_after = float("-inf")
        self._stop_in, self._stop_out = open_pipe()
        self._stopping, self._leave = False, LEAVE
        self._last_step: float | None = None

    def stop(self, timeout: float = LEAVE) -> None:
        """Ask the loop to end and to send what is queued within so many seconds; safe from a signal handler or
        another thread."""
        self._stopping, self._leave = True, timeout
        os.write(self._stop_out, b".")

    def interrupt(self) -> None:
        """A signal asks it to end: within seconds."""
        self.stop(STOPPED)

    def begin(self) -> None:
        """Say that somebody watches again, and from when to when nobody did; tried again at every step
        until the store has taken it."""
        now, mono = self._clock.now(), self._clock.mono()
        self._record.attempt("reserve disk space", self._store.set_reserve)
        gap = self._gap_before(now)
        said = [*([] if gap is None else [gap]), rows.Event("watch.started", f"dogwatch {self._who} started watching")]
        self._begun = self._record.attempt(
            RECORD, lambda: watchers.begin(self._store, self._who, now, mono, boot_id(), *said)
        )
        if self._begun and gap is not None:
            self._narrate(gap.text)

    def _gap_before(self, now: float) -> rows.Event | None:
        """From when to when nobody watched though there was something to watch."""
        last = watchers.last(self._store)
        if (
            last is None
            or last.last_tick is None
            or not any(rows.load(self._store, place.name) for place in known_places(self._store))
        ):
            return None
        ended = last.stopped or last.last_tick
        how = "was stopped" if last.stopped else "died"
        span = f"from {local(ended, now)} to" if ended <= now else "for a while (the clock was set back) until"
        text = f"no watcher ran {span} {local(now, now)}: {last.who} {how}"
        return rows.Event("watch.gap", text, level="warning", body={"from": stamp(ended), "to": stamp(now)})

    def end(self) -> None:
        """Say that this watcher left of its own will, and let go of what it holds."""
        said = rows.Event("watch.stopped", f"dogwatch {self._who} stopped watching")
        now, mono = self._clock.now(), self._clock.mono()
        try:
            if (dispatch := self._dispatch) is not None:
                self._record.attempt("send alerts", lambda: dispatch.end(self._leave))
            self._record.attempt(RECORD, lambda: watchers.finish(self._store, now, mono, said))
        finally:
            self.close()

    def close(self) -> None:
        """Let go of every reach."""
        if self._bundles is not None:
            self._bundles.end()
        for poller in self._pollers:
            poller.transport.close()

    @property
    def idle(self) -> bool:
        """Whether nothing is left to watch."""
        return not any(poller.jobs for poller in self._pollers)

    def poll_once(
        self,
        only: Sequence[str] | None = None,
        deadline: float | None = None,
        then: Callable[[], None] = lambda: None,
    ) -> list[str]:
        """One tick of every place (of `only` these) that has jobs and was not looked at within its floor; their names.
        What takes longer than the deadline counts as no answer; `then` is called before alerts are sent."""
        self._update_pollers()
        told = {row["name"]: row for row in places.places(self._store)}
        looked: list[str] = []
        for poller in self._pollers:
            if only is not None and poller.place.name not in only:
                continue
            poller.refresh(self._store)
            poller.once = True
            poller.hurry(deadline)
            last, poller.turn = told[poller.place.name]["polled_at"], told[poller.place.name]["polls"]
            now = self._clock.now()
            # A time that lies ahead of us was written before the clock was set back: it forbids nothing.
            too_soon = last is not None and (stamp(now - poller.place.floor) or "") < last <= (stamp(now) or "")
            if poller.jobs and not too_soon:
                self._poll_threads.send(poller)
        self._spare_memory()
        while not self._poll_threads.all_back:
            self._poll_threads.wait()
            looked += self._take_back()
        self._write_log(looked)
        then()
        if self._dispatch is not None:
            self._record.attempt("send alerts", partial(self._dispatch.flush, again=False))
        self._beat()
        if self._heartbeat is not None:
            self._heartbeat.wait(DEADLINE)
        return looked

    def _beat(self) -> None:
        """A sign of life, after a place was really seen and that was written down."""
        useful, self._useful = self._useful, False
        if useful and self._heartbeat is not None and self._clock.mono() >= self._heartbeat.due:
            mute: list[float | None] = []
            if self._record.attempt(READ, lambda: mute.append(mute_since(self._store))):
                since = mute[0]
                self._heartbeat.useful(self._clock.mono(), 0.0 if since is None else self._clock.now() - since)

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Watch until stopped, or until `until` says that nothing is left to wait for."""
        wakeup = self._store.location.wakeup()
        try:
            while not self._stopping:
                pause = self.step()
                if until():
                    return
                self._wait(wakeup, pause)
        finally:
            wakeup.close()

    def step(self) -> float:
        """Tick every place that is due, deliver, keep house; returns the seconds until the next is due."""
        self._store.still_there()
        if not self._begun:
            self.begin()
        self._notice_own_gap()
        self._record.attempt(READ, self._update_pollers)
        looked = self._take_back()
        at_rest = [poller for poller in self._pollers if not self._poll_threads.is_out(poller)]
        for poller in at_rest:
            self._record.attempt(READ, partial(poller.refresh, self._store))
        self._spare_memory()
        for poller in at_rest:
            if poller.jobs and poller.due <= self._clock.mono():
                looked += self._look(poller)
        self._write_log(looked)
        self._beat()
        self._record.attempt("load the configuration", self._tune)
        if self._dispatch is not None:
            self._dispatch.refusal = self._record.refusal
            self._record.attempt("send alerts", self._dispatch.step)
        self._keep_house()
        resting = [poller for poller in self._pollers if poller.jobs and not self._poll_threads.is_out(poller)]
        rest = BEAT if self._dispatch is None else min(BEAT, self._dispatch.rest)
        return min([*(max(0.0, poller.due - self._clock.mono()) for poller in resting), rest])

    def _spare_memory(self) -> None:
        """Let garbage be collected only when more was made than looks at all jobs make."""
        often, *rest = SELDOM
        gc.set_threshold(max(often, OBJECTS * sum(len(poller.jobs) for poller in self._pollers)), *rest)

    def _update_pollers(self) -> None:
        """A post for every place that the store knows; places come and go while we watch."""
        version = self._store.revision_of_others()
        if self._make_poller is None or version == self._version:
            return
        wanted = {place.name: place for place in known_places(self._store)}
        held = {poller.place.name: poller for poller in self._pollers}
        for name, poller in held.items():
            if wanted.get(name) != poller.place and not self._poll_threads.is_out(poller):
                poller.transport.close()
                self._pollers.remove(poller)
        here = {poller.place.name for poller in self._pollers}
        self._pollers += [self._make_poller(place) for name, place in wanted.items() if name not in here]
        self._version = version

    def _look(self, poller: PlacePoller) -> list[str]:
        """Look at a place: at once when it is here and the only one, else by a scout, so that it delays no other."""
        if poller.place.kind == "here" and sum(bool(other.jobs) for other in self._pollers) == 1:
            return [poller.place.name] if self.tick(poller) is not None else []
        self._poll_threads.send(poller)
        return []

    def _take_back(self) -> list[str]:
        """Conclude and commit the looks that have come back; the names of their places."""
        return [
            poller.place.name
            for poller, looked in self._poll_threads.back()
            if self._conclude(poller, looked) is not None
        ]

    def _write_log(self, looked: Sequence[str]) -> None:
        if self._log is not None:
            self._record.attempt(
                "write the experiment log", partial(self._log.advance, self._clock.now(), looked, self._readings)
            )
            self._readings = {}

    def tick(self, poller: PlacePoller) -> TickResult | None:
        """One look at one place, concluded and committed."""
        looked: PollResult | Exception
        try:
            looked = poller.look()
        except Exception as bug:  # noqa: BLE001 - it fails this poll, and the watch goes on
            looked = bug
        return self._conclude(poller, looked)

    def _conclude(self, poller: PlacePoller, looked: PollResult | Exception) -> TickResult | None:
        """Commit what follows from a poll; None when it could not be written down, in which case the next
        one concludes it again from what the store still says."""
        open_now: dict[Identity, Finding] = {}
        if self._record.attempt(READ, lambda: open_now.update(self._open_now())):
            result = self._concluded(poller, looked, open_now)
            if result.waits or self._record.commit(result.tick, open_now):
                if result.tick.opened or result.tick.resolved or self._record.spoke:
                    self._findings = None
                poller.accept(result)
                self._readings |= result.readings
                self._useful = self._useful or result.unreachable is None
                if self._bundles is not None:
                    self._bundles.take(result)
                return result
        self._findings = None
        poller.forget_all()
        poller.due = self._clock.mono() + max(1.0, poller.place.floor)
        return None

    def _concluded(
        self, poller: PlacePoller, looked: PollResult | Exception, open_now: Mapping[Identity, Finding]
    ) -> TickResult:
        """What follows from a poll. Whatever is raised on the way fails the poll of this place, and of no other; only
        our own store may end the watch."""
        write_every = 0.0 if self._record.owes else self._write_every
        try:
            if isinstance(looked, Exception):
                raise looked
            return poller.conclude(looked, open_now, write_every)
        except DogwatchError:
            raise
        except Exception as bug:  # noqa: BLE001 - see above
            return poller.conclude(poller.failed(self._faults.note(poller.place.name, bug)), open_now, write_every)

    def _open_now(self) -> dict[Identity, Finding]:
        """The open findings, read anew when somebody else has committed or we ourselves have opened or resolved one."""
        version = self._store.revision_of_others()
        if self._findings is None or self._findings[0] != version:
            self._findings = (version, index(open_findings(self._store)))
        return self._findings[1]

    def _notice_own_gap(self) -> None:
        """A suspended machine or a stopped watcher sees its own absence and says so."""
        mono = self._clock.mono()
        last, self._last_step = self._last_step, mono
        if last is None or mono - last < GAP + BEAT:
            return
        text = f"no watcher ran for {mono - last:.0f} s: it was suspended"
        self._record.owe(rows.Event("watch.gap", text, level="warning", body={"seconds": round(mono - last, 1)}))
        self._narrate(text)

    def _keep_house(self) -> None:
        now, mono = self._clock.now(), self._clock.mono()
        if mono < self._backup_after or not self._store.backup_due(now):
            return
        if not self._record.attempt("make a backup", lambda: self._store.back_up(now)):
            self._backup_after = mono + BACKUP_AGAIN

    def _wait(self, wakeup: WakeUp, pause: float) -> None:
        heard = [wakeup.fileno(), self._stop_in, self._poll_threads.fileno()]
        heard += [] if self._dispatch is None else [self._dispatch.fileno()]
        ready, _, _ = select.select(heard, [], [], pause)
        if wakeup.fileno() not in ready:
            return
        select.select([self._stop_in], [], [], WAKEUP_PAUSE)
        wakeup.clear()
        for poller in self._pollers:
            if poller.place.kind == "here":
                poller.ring()
