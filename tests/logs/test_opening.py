"""How a log opens, and that it was opened again: a run that was started again where another had fallen."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.diagnosis import Evidence, Log, diagnose
from dogwatch.logs.ending.opening import BYTES, LINES, Opening
from dogwatch.logs.ending.verdict import Ending

START = "Reading the configuration from fit.toml\nusing device cuda:0\nBuilding a model with 12 layers\n"
WORK = "".join(f"epoch {n} of 60: train loss 1.{n}\n" for n in range(1, 6))
HALF = "epoch 6 of 60: tr"  # what was flushed last ends anywhere
CRASH = """\
Traceback (most recent call last):
  File "fit.py", line 90, in <module>
    main()
  File "fit.py", line 70, in main
    raise KeyError("caption")
KeyError: 'caption'
"""


def opening(log: str) -> Opening:
    made = Opening()
    made.feed(log.lower().encode())
    return made


def failed(log: str) -> bool:
    """Whether the log ends with a failure; its ending and its diagnosis must agree."""
    ending = Ending()
    ending.feed(0, log.encode())
    found = diagnose(Evidence((Log("fit.log", [log.encode()], 1),)))
    assert (ending.judge(None) == "failed") == (found is not None)
    return found is not None


def test_a_run_that_was_started_again_in_the_same_log_is_not_the_one_that_fell() -> None:
    """It only prints, so nothing but its first words shows that what follows is not what the other still flushed."""
    assert failed(START + WORK + HALF + CRASH)
    assert failed(START + WORK + HALF + CRASH + WORK)
    assert not failed(START + WORK + HALF + CRASH + START + WORK)


def test_a_log_that_ends_with_the_words_it_began_with_is_not_over() -> None:
    """What was said of the run before is none of this one's; a last figure below the same words ends a test."""
    first = f"{START}{WORK}Training of fit is done and the best score is 0.61\n"
    words = f"{START}Reading the captions of the first split\n"

    def ends(log: str) -> str:
        ending = Ending()
        ending.feed(0, log.encode())
        return ending.judge(None)

    assert ends(first) == "finished"
    assert ends(words + first[len(START) :] + words) == "unknown"
    tests = "".join(f"batch {n} of the test: loss 0.4\n" for n in range(4))
    assert ends(words + first[len(START) :] + words + tests) == "finished"


def test_a_whole_line_above_a_traceback_shows_that_nothing_was_held_back() -> None:
    """Then what stands below, in the same words, was printed later: it was caught, or another run goes on."""
    assert failed(START + WORK + CRASH)
    assert not failed(START + WORK + CRASH + WORK)
    assert not failed(START + WORK + CRASH + CRASH + WORK)
    assert failed(START + WORK + CRASH + "epoch 6 of 60: train loss 1.6\n")
    assert failed(START + WORK + CRASH + WORK + CRASH)
    assert failed(START + WORK + "UserWarning: lr_scheduler before optimizer\n" + CRASH + WORK)


def test_dates_in_words_do_not_make_another_line() -> None:
    """Each run says when it starts."""
    once, again = (
        "starting the solver on mon, 02 feb 2026\nreading mesh.msh\n",
        "starting the solver on fri, 10 apr 2026\n",
    )
    assert list(opening(once).again((again + "reading mesh.msh\n").encode())) == [len(again)]


def test_one_that_fell_before_it_began_and_was_started_again() -> None:
    """The first lines end where the trouble begins."""
    assert not failed(START + CRASH + START.replace("cuda:0", "cuda:1") + WORK)


def test_a_start_alone_shows_no_life() -> None:
    """Of many ranks one fell, and another still says how it begins."""
    assert failed(START + CRASH + START)


def test_a_start_long_after_the_trouble_excuses_nothing() -> None:
    """What is flushed may hold anything; a new start follows the fall."""
    talk = "".join(f"shard {n * 7919} of the corpus was looked at\n" for n in range(80))
    assert failed(START + WORK + HALF + CRASH + talk + START + WORK)


@pytest.mark.parametrize("line", [WORK, CRASH, "slurmstepd: error: no\n"])
def test_the_opening_ends_with_the_first_progress_or_trouble(line: str) -> None:
    """What comes later may be said every epoch."""
    later = "saving the weights to disk\nlooking at the held-out part\n"
    assert list(opening(START + line + later).again(later.encode())) == []


def test_lines_must_follow_each_other_as_they_did() -> None:
    """One line may be said again at any time; two in their order are a start."""
    first, second, third = START.lower().splitlines(keepends=True)
    known = opening(START)
    assert list(known.again((first + second).encode())) == [len(first)]
    assert list(known.again((second + first).encode())) == []
    assert list(known.again((first + "something else entirely\n" + third).encode())) == []
    assert list(known.again((first + "\n--\n" + third).encode())) == [len(first) + 4]


def test_what_is_said_twice_while_it_starts_tells_nothing() -> None:
    """Lines that repeat themselves from the beginning are the program's way to speak."""
    pair = "fetching the next part of it\nunpacking what was fetched\n"
    assert list(opening(pair * 2).again(pair.encode())) == []


def test_it_goes_on_from_its_state() -> None:
    """In the middle of the opening too; without a state nothing is an opening."""
    half = opening(START[:40])
    other = Opening.restore(json.loads(json.dumps(half.state())))
    rest = START[40:].lower().encode()
    half.feed(rest)
    other.feed(rest)
    assert other.state() == half.state()
    assert not Opening.restore(()).wants


@given(st.binary(max_size=400), st.integers(1, 60))
def test_it_stays_small_whatever_is_heard(raw: bytes, times: int) -> None:
    """Any bytes, any number of them."""
    made = Opening()
    for _ in range(times):
        if made.wants:
            made.feed(raw + b"\n")
    assert len(made.state()) <= LINES + 1
    assert 0 <= made.state()[0] <= BYTES
    assert all(0 <= place <= len(raw) for place in made.again(raw))


def test_words_of_a_logger_show_a_new_start_before_it_gets_anywhere() -> None:
    """They are written at once; an error that was logged and survived does not end the opening."""
    start = (
        "01/09/2026 14:59:35 - INFO - root -   Using device: cuda\n"
        "01/09/2026 14:59:36 - ERROR - root -   Failed to reach the tracker: no key\n"
        "01/09/2026 14:59:36 - INFO - root -   Making the loaders of batches\n"
        "01/09/2026 14:59:37 - INFO - fit.model -   Reading the weights of the tower\n"
        "01/09/2026 14:59:38 - INFO - root -   Beginning at the beginning\n"
    )
    assert failed(start + CRASH)
    assert not failed(start + CRASH + start)


def test_a_start_that_fell_at_once_is_no_opening() -> None:
    """What the next one says first is; a library that writes its lines out at once dates them so."""
    start = (
        "WARNING:tensorflow:From brain.py:57: count_nonzero is deprecated\n"
        "2026-01-02 14:06:13.268123: I tensorflow/core/cpu_feature_guard.cc:140] Your CPU supports instructions\n"
        "2026-01-02 14:06:13.627935: I tensorflow/core/gpu_device.cc:1435] Adding visible gpu devices: 0, 1\n"
        "2026-01-02 14:06:14.221406: I tensorflow/core/gpu_device.cc:923] Device interconnect with strength 1\n"
    )
    fell = CRASH.replace("KeyError: 'caption'", "KeyboardInterrupt")
    assert failed(CRASH + start + fell)
    assert not failed(CRASH + start + fell + start + "69.5\n")


def test_how_a_program_is_to_be_called_is_not_what_it_opens_with() -> None:
    """A start with wrong arguments only said so: the first words are those of the next one."""
    usage = "usage: fit.py [-h] [--config CONFIG]\n              [--layers LAYERS] [--batch-size BATCH_SIZE]\n"
    usage += "              [--learning-rate LEARNING_RATE]\nfit.py: error: unrecognized arguments: --layer=9\n"
    assert failed(usage + START + WORK + HALF + CRASH)
    assert not failed(usage + START + WORK + HALF + CRASH + START + WORK)
