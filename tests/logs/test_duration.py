"""A log that goes on for minutes below some trouble, by the times in its lines."""

from __future__ import annotations

import pytest

from dogwatch.logs.ending.duration import duration
from dogwatch.logs.ending.verdict import Ending
from tests.diagnosis.failing_logs import why
from tests.logs.endings import CRASH, WORK, ends

ABORTED = "shards.sh: line 7:  6367 Aborted                 (core dumped) ./count shard_01\n"
ENGINE = "ERROR 08-01 21:34:51 [llm.py:70] acme.exceptions.EngineDeadError: EngineCore encountered an issue.\n"
STOPPED = "INFO 08-01 21:34:51 [core.py:12] [shutdown] EngineCore: trigger received signal=SIGTERM\n"


def logger(*minutes: int, level: str = "INFO") -> str:
    return "".join(f"[2026-04-05 18:{minute:02}:06] {level} judge: {minute} answers are read\n" for minute in minutes)


def test_what_a_logger_says_for_minutes_after_an_exception_is_anothers() -> None:
    """A script that runs several programs: those that tidy up are done at once, and warn."""
    fell = f"{WORK}{CRASH}ERROR conda.cli.main_run:execute(125): `conda run bash all.sh` failed. (See above)\n"
    assert ends(fell + logger(1, 2, 9)) == "unknown"
    assert why(fell + logger(1, 2, 9)) is None
    for below in ("", logger(1), logger(1, 9), logger(1, 1, 2), logger(1, 2, 9, level="WARNING")):
        assert ends(fell + below) == "failed"
        assert why(fell + below) is not None


def test_dated_prints_below_an_exception_may_have_waited_in_a_buffer() -> None:
    """Only a logger writes its lines out at once."""
    prints = logger(1, 2, 9).replace("INFO ", "")
    assert ends(f"{WORK}{CRASH}{prints}") == "failed"
    assert why(f"{WORK}{CRASH}{prints}").cause == "code_error"


def test_who_is_dead_prints_nothing_later() -> None:
    """What is dated minutes after a process of a script was aborted is another's."""
    others = "".join(f"=== shard_0{n} 2026-07-30T0{n}:49:14+00:00\n    tokens=14989 OK\n" for n in (2, 3, 4))
    assert ends(ABORTED + others) == "unknown"
    assert why(ABORTED + others) is None
    assert ends(others + ABORTED) == "failed"
    assert why(others + ABORTED).cause == "aborted"


def test_a_server_that_was_told_to_stop_did_not_fail() -> None:
    """Its engine is gone before the rest of it, and that is said as an error."""
    closed = "INFO:     Application shutdown complete.\n"
    assert ends(f"{STOPPED}{ENGINE}{closed}") == "finished"
    assert ends(f"{ENGINE}{closed}") == "failed"
    cancelled = "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-08-01T21:34:51 ***\n"
    assert ends(f"{STOPPED}{cancelled}") == "failed"


@pytest.mark.parametrize("cut", [20, 300, 480])
def test_the_minutes_are_counted_over_pieces(cut: int) -> None:
    """As a log that grows is heard."""
    text = f"{WORK}{CRASH}{logger(1, 2, 9, 12)}".encode()
    half = text.rfind(b"\n", 0, cut) + 1
    ending = Ending()
    ending.feed(0, text[:half])
    ending.feed(half, text[half:])
    assert ending.judge(None) == "unknown"


@pytest.mark.parametrize("text", [b"", b"no time\n" * 4, b"[2026-04-05 18:01:06] info one\n"])
def test_a_text_with_few_times_lasts_no_time(text: bytes) -> None:
    """Nor does one whose clock goes back."""
    assert duration(text) == (0.0, 0.0)
    assert duration(logger(9, 5, 1).lower().encode()) == (0.0, 0.0)


def caught(*minutes: int) -> str:
    """What an agent's worker logs of answers that it cannot read."""
    return "".join(
        f"(Worker pid=71) ERROR:2026-04-05 18:{minute:02}:06,5:Traceback (most recent call last):\n"
        f'(Worker pid=71)   File "/srv/env.py", line 41, in take\n'
        f"(Worker pid=71)     raise ValueError(answer)\n"
        f"(Worker pid=71) ValueError: no action in: I would rather go to {minute}\n"
        f"(Worker pid=71) ERROR:2026-04-05 18:{minute:02}:06,6:cannot read the answer of item {minute}\n"
        f"(Runner pid=7) kept {minute} of 64 answers\n(Runner pid=7) asking for more of them\n"
        for minute in minutes
    )


def test_what_a_logger_writes_down_every_few_minutes_is_everyday() -> None:
    """The next one is no end either, where the program has said more since; of a few nothing is known."""
    often = caught(1, 3, 5, 7, 9, 11) + "(Runner pid=7) one batch is full\n(Runner pid=7) cut to 32\n"
    assert ends(often) != "failed"
    assert why(often) is None
    once = caught(9) * 6
    assert ends(once) == "failed"
    assert why(once) is not None
