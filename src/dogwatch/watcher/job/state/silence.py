"""Silence: for how long each sign of life of a job has been missing, and what its earlier gaps have taught."""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec import Struct, field

from dogwatch.estimate.last_lines import Lines
from dogwatch.estimate.silence_limit import STEADY, Gaps, kind_of
from dogwatch.model import StallState

STARTING = "starting"
SIGNS = ("log", "output", "checkpoint", "progress")
FILES = frozenset({"output", "checkpoint"})  # when these last moved, the time of a log does not tell


class SilenceClock(Struct, omit_defaults=True):
    """It runs only while we look, and starts again when something moves."""

    seconds: float = 0.0
    longest: float = 0.0

    def moved(self) -> None:
        self.longest = max(self.longest, self.seconds)
        self.seconds = 0.0


class SavedVerdict(Struct):
    """The word for how the job does, and since when it stands."""

    word: StallState
    since: float


class SilenceState(Struct, omit_defaults=True):
    """`clocks` by sign of life, `signs` for all together; `gaps` by kind of phase, `counter` those between moves of the
    counter, `lines` by the line that stood last."""

    clocks: dict[str, SilenceClock] = field(default_factory=dict)
    gaps: dict[str, Gaps] = field(default_factory=dict)
    counter: Gaps = field(default_factory=Gaps)
    lines: Lines = field(default_factory=Lines)
    phase: str = STARTING
    held: bool = False  # somebody stopped its processes during this silence: the gap is theirs
    moved_at: float | None = None
    unseen: float = 0.0  # how long it had been silent already when it was last seen to have moved
    written: list[float] = field(default_factory=list)  # the time of its log's newest write, and how far behind ours
    verdict: SavedVerdict | None = None  # the word that stands, for whoever watches next

    def clock(self, what: str) -> SilenceClock:
        clock = self.clocks.get(what)
        if clock is None:
            clock = self.clocks[what] = SilenceClock()
        return clock

    def gaps_of(self, phase: str) -> Gaps:
        return self.gaps.setdefault(kind_of(phase), Gaps())

    def begin(self, at: float) -> None:
        """An attempt begins: its silence starts now, and what was learnt of its gaps stays."""
        for clock in self.clocks.values():
            clock.seconds = 0.0
        self.phase, self.held, self.moved_at, self.unseen, self.lines.last = STARTING, False, at, 0.0, ""
        self.verdict = None


@dataclass(frozen=True, slots=True)
class SignsOfLife:
    """Which of `SIGNS` one poll could show, and which of them moved; the phase that the log tells, the kind of line at
    which it stands, and the newest write to it by the place's clock."""

    shown: frozenset[str]
    moved: frozenset[str]
    phase: str = ""
    last_line: str = ""
    written: float | None = None


def pass_time(silence: SilenceState, signs: SignsOfLife, watched: float, at: float = 0.0) -> None:
    """Run the clocks by the seconds we really looked; stop those that something moved. Nothing is learnt from a gap
    that ended while we did not look, or in which somebody held the job."""
    learns = watched > 0 and not silence.held
    if learns and "progress" in signs.moved:
        silence.counter.note(silence.clock("progress").seconds, watched)
    for what in SIGNS:
        if what in signs.shown:
            _pass(silence.clock(what), what in signs.moved, watched)
        else:
            silence.clocks.pop(what, None)
    if signs.moved:
        _end_silence(silence, signs, watched, at, learns=learns)
    _pass(silence.clock("signs"), bool(signs.moved), watched)
    if not signs.moved:
        _begin_before(silence)
    _enter_phase(silence, signs)


def pass_quietly(silence: SilenceState, watched: float) -> None:
    """The same for a job whose files said nothing new, as they had before."""
    for clock in silence.clocks.values():
        clock.seconds += watched
    _begin_before(silence)


def _pass(clock: SilenceClock, moved: bool, watched: float) -> None:
    if moved:
        clock.moved()
    else:
        clock.seconds += watched


def _end_silence(silence: SilenceState, signs: SignsOfLife, watched: float, at: float, *, learns: bool) -> None:
    if learns:
        silent, most = silence.clock("signs").seconds, _between_writes(silence, signs)
        silence.lines.end_silence(silence.gaps_of(silence.phase).note(silent, watched, most))
    silence.lines.last = signs.last_line or silence.lines.last
    silence.unseen = _before_poll(silence, signs, watched, at)
    silence.moved_at, silence.held = at - silence.unseen, False


def _begin_before(silence: SilenceState) -> None:
    """The silence began before the poll that saw its beginning, which has counted that time as the gap's before."""
    if silence.unseen:
        gaps = silence.gaps_of(silence.phase)
        gaps.seconds = max(0.0, gaps.seconds - silence.unseen)
        silence.clock("signs").seconds += silence.unseen
        silence.unseen = 0.0


def _between_writes(silence: SilenceState, signs: SignsOfLife) -> float:
    """Seconds from the newest write to its log that was known to the newest now: a gap between was no longer."""
    if signs.written is None or not silence.written or signs.moved & FILES:
        return math.inf
    between = signs.written - silence.written[0]
    return between if between > 0 else math.inf  # a clock was set, or a file system keeps no times


def _before_poll(silence: SilenceState, signs: SignsOfLife, watched: float, at: float) -> float:
    """How long before this poll its log was written last: never longer than we had not looked. Its times may be
    another clock's, so the least that they were ever behind ours counts as no time at all; one that fits no more
    (a clock was set, a file system caches or keeps no times) is learnt anew."""
    if signs.written is None or signs.moved & FILES or not at:
        return 0.0
    behind = at - signs.written
    last, lag = silence.written or (signs.written, behind)
    if signs.written <= last or not lag <= behind <= lag + watched:
        lag = behind
    silence.written = [signs.written, lag]
    return behind - lag


def _enter_phase(silence: SilenceState, signs: SignsOfLife) -> None:
    """What the log says it is doing; once it counts, a log that says nothing else is doing its steady work."""
    if signs.phase:
        silence.phase = signs.phase
    elif "progress" in signs.moved or ("log" in signs.moved and silence.phase != STARTING):
        silence.phase = STEADY
