"""For how long something has been so with a GPU, from one reading to the next."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.estimate.gpu_history import GpuCourse, advance
from dogwatch.model import Gpu, GpuHistory, GpuPast, GpuProcess

GB = 1 << 30


class Watcher:
    """A job's memory of one GPU, saved and loaded between any two readings."""

    def __init__(self) -> None:
        self.state = GpuCourse()
        self.mono = 1000.0

    def see(self, passed: float = 30.0, away: bool | None = None, strays: Any = (), **known: Any) -> GpuPast:
        self.state = msgspec.json.decode(msgspec.json.encode(self.state), type=GpuCourse)
        self.mono += passed
        return advance(self.state, [Gpu(0, "GPU-a", **known)], passed, self.mono, away=away, strays=strays)

    def course(self, passed: float = 30.0, **known: Any) -> GpuHistory:
        return self.see(passed, **known).courses["GPU-a"]


def test_idling_counts_from_the_first_idle_reading_and_ends_with_work():
    """And the longest that it came back from is remembered, without the loading before the first work."""
    watch = Watcher()
    assert watch.course(used=0.0).idle == 0.0
    assert [watch.course(used=0.02).idle for _ in range(3)] == [30.0, 60.0, 90.0]
    assert watch.course(used=0.8) == GpuHistory(worked=True, low=120.0)
    assert watch.course(used=0.0).idle == 30.0
    assert watch.course(used=0.9).longest == 30.0
    assert watch.course(used=None).idle == 0.0


def test_little_use_is_told_by_the_average():
    """One busy reading amid waiting does not end it, lasting use does."""
    watch = Watcher()
    for _ in range(20):
        watch.course(used=0.97)
    assert watch.course(used=0.97).rose
    low = [watch.course(used=0.9 if n % 12 == 5 else 0.03).low for n in range(60)]
    assert low[-1] > 900
    assert [watch.course(used=0.97).low for _ in range(5)][-1] == 0.0


def test_slowness_and_neighbours_count_while_they_last():
    """Each with a clock of its own, which begins at nothing when it comes back."""
    watch, other = Watcher(), GpuProcess(9, "bob", GB, "python", ours=False)
    hot: dict[str, Any] = {"throttle": ("thermal slowdown",), "processes": (other,)}
    assert [watch.course(**hot).throttled for _ in range(3)] == [0.0, 30.0, 60.0]
    found = watch.course(throttle=("power cap",), processes=(other,))
    assert (found.throttled, found.shared) == (0.0, 90.0)
    assert watch.course(**hot).throttled == 0.0


def test_a_gap_of_ours_counts_for_nothing():
    """Nobody looked, so nobody knows."""
    watch = Watcher()
    watch.course(used=0.0)
    assert watch.course(0.0, used=0.0).idle == 0.0


def test_being_on_no_gpu_counts_only_while_that_is_certain():
    """What cannot be told neither adds nor clears."""
    watch = Watcher()
    assert [watch.see(away=away).away for away in (True, True, None, True, False)] == [30.0, 60.0, 60.0, 90.0, 0.0]


def test_strays_have_their_clocks_by_worker_and_gpu():
    """One that has gone to a third GPU begins anew."""
    watch = Watcher()
    assert [one.seconds for one in watch.see(strays=[(1, "1", 0)]).strays] == [0.0]
    assert [one.seconds for one in watch.see(strays=[(1, "1", 0)]).strays] == [30.0]
    assert [one.seconds for one in watch.see(strays=[(1, "1", 2), (1, "1", 0)]).strays] == [0.0, 60.0]


def test_errors_of_memory_count_from_the_first_look():
    """Those of last month are no news; a driver that was loaded anew begins at nothing."""
    watch = Watcher()
    assert [watch.course(ecc=ecc).ecc for ecc in (5, 5, 7, 0, 1)] == [0, 0, 2, 0, 1]


def test_memory_that_leaks_has_an_end_and_memory_that_stays_has_none():
    """A steady rise over half an hour; a plateau, a saw and a jump are none."""
    leak, flat, saw = Watcher(), Watcher(), Watcher()
    for minute in range(60):
        found = leak.course(60.0, memory_used=20 * GB + minute * GB // 2, memory_total=80 * GB)
        still = flat.course(60.0, memory_used=70 * GB, memory_total=80 * GB)
        sawn = saw.course(60.0, memory_used=(40 + minute % 10) * GB, memory_total=80 * GB)
    assert found.full_in is not None
    assert 55 * 60 < found.full_in < 70 * 60
    assert (still.full_in, sawn.full_in) == (None, None)
    assert still.usual == 70 * GB


readings = st.lists(
    st.tuples(
        st.floats(0, 900),
        st.none() | st.floats(0, 1),
        st.none() | st.integers(0, 80 * GB),
        st.none() | st.integers(0, 9),
        st.booleans() | st.none(),
    ),
    max_size=40,
)


@given(readings)
def test_no_clock_runs_backwards_and_the_state_stays_small(seen):
    """Whatever is read, and however seldom."""
    watch = Watcher()
    for passed, used, memory, ecc, away in seen:
        past = watch.see(passed, away, used=used, memory_used=memory, memory_total=80 * GB, ecc=ecc)
        course = past.courses["GPU-a"]
        assert min(course.idle, course.longest, course.throttled, course.shared, course.ecc, past.away) >= 0
    assert len(msgspec.json.encode(watch.state)) < 8000
