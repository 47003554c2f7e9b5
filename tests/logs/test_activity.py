"""Signs of life after trouble: what only a program that goes on can have written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.logs.ending.activity import ENOUGH, activity_lines, count_activity
from dogwatch.logs.ending.quoted_errors import goes_on, is_quoted, mentioned
from dogwatch.logs.ending.verdict import Counter, Ending
from dogwatch.logs.interface import RUN
from dogwatch.model import Step

CRASH = """\
Traceback (most recent call last):
  File "fit.py", line 30, in <module>
    main()
  File "fit.py", line 9, in main
    raise RuntimeError("no batch left")
RuntimeError: no batch left
"""
CAUGHT = """\
Traceback (most recent call last):
  File "/lib/loader.py", line 70, in fetch
    self.open()
OSError: truncated picture
"""


def logged(first: int, last: int) -> str:
    return "".join(f"2026-05-0{n} 10:00:00,001 INFO fit: step {n}0/900 loss 1.{n}\n" for n in range(first, last + 1))


def printed(first: int, last: int) -> str:
    return "".join(f"epoch {n}/90 loss 1.{n}\n" for n in range(first, last + 1))


def bars(first: int, last: int) -> str:
    return "".join(f" {n}%|#   | {n}/100 [00:0{n % 10}<09:00,  1.00it/s]\n" for n in range(first, last + 1))


def ends(log: str, done: float | None = 20, total: float = 100) -> str:
    ending = Ending()
    ending.feed(0, log.encode())
    return ending.judge(None if done is None else Counter(Step(done, total, "steps", None, RUN), 0))


@pytest.mark.parametrize("life", [logged(5, 8), bars(40, 44), "Loaded checkpoint at step 40\n" + printed(4, 7)])
def test_lines_that_are_written_at_once_show_that_an_exception_was_survived(life: str) -> None:
    """A logger flushes each line, a bar draws itself at once, and a dead run resumes nothing."""
    assert ends(bars(30, 40) + CRASH + life) == "cut"


@pytest.mark.parametrize("flushed", [printed(4, 8), "", bars(40, 40) * 4, logged(5, 6)])
def test_what_a_dying_program_still_flushes_is_no_life(flushed: str) -> None:
    """Prints wait in a buffer, and a bar that is closed is drawn once more where it stood."""
    assert ends(bars(30, 40) + CRASH + flushed) == "failed"


def test_a_caught_exception_is_survived_by_any_progress() -> None:
    """Its outermost frame is not the program's own: somebody caught it and went on."""
    assert ends(printed(1, 3) + CAUGHT + printed(4, 6)) == "cut"
    assert ends(printed(1, 3) + CAUGHT) == "failed"


@pytest.mark.parametrize("words", ["upload failed, retrying in 5 s", "cannot read 81.png, skipping it"])
def test_an_exception_below_words_of_going_on_needs_little_life_after_it(words: str) -> None:
    """One line of progress; without any, it was the last word."""
    assert ends(f"{printed(1, 3)}{words}\n{CAUGHT}{printed(4, 4)}") == "cut"
    assert ends(f"{printed(1, 3)}{words}\n{CAUGHT}") == "failed"


def test_a_traceback_that_is_an_observation_is_data() -> None:
    """An agent's log holds those of the programs that it runs."""
    assert ends(f"OBSERVATION:\n{CRASH}THOUGHT: I must pass a batch.\n") == "cut"
    assert ends(f"[4/90] result: {CRASH.strip()!r} -> wrong\n") == "cut"


@pytest.mark.parametrize(
    "line",
    [
        "job 7 returned non-zero exit status 1",
        "the converter ended with exit code 3",
        "Received SIGUSR1: a checkpoint is written, the run goes on",
    ],
)
def test_what_is_told_of_another_process_is_refuted_by_life(line: str) -> None:
    """One of many may fail, and a signal may be a request."""
    assert ends(f"{printed(1, 2)}{line}\n{printed(3, 6)}") == "cut"
    assert ends(f"{printed(1, 2)}{line}\n") == "failed"


def test_a_failure_that_is_told_all_the_time_is_usual() -> None:
    """A program that reports it of one item after another, and goes on after each."""
    log = "".join(f"{bars(n, n)}closing {n}: the command returned non-zero exit status 1\n" for n in range(10, 18))
    assert ends(log) == "cut"


def test_a_job_that_was_requeued_goes_on_in_the_same_log() -> None:
    """The scheduler's word ended the attempt before."""
    gone = "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026-05-04T08:00:00 DUE TO PREEMPTION ***\n"
    assert ends(printed(1, 3) + gone + "resumed from step 30\n" + printed(4, 7)) == "cut"
    assert ends(printed(1, 3) + gone + printed(4, 7)) == "failed"


@pytest.mark.parametrize(
    "line",
    [
        "tip: 'Segmentation fault' often means that the stack is too small",
        "utt 7 wer 0.11 ref: segmentation fault: rocks break",
        'user: my log says "slurmstepd: error: Detected 1 oom-kill event(s)" and stops, why?',
    ],
)
def test_what_a_sentence_only_names_did_not_happen(line: str) -> None:
    """In quotes, with the sentence going on behind them."""
    assert ends(printed(1, 3) + line + "\n") == "cut"


@pytest.mark.parametrize(
    "line",
    [
        "Early stopping triggered at epoch 9",
        "no gain for 5 epochs, stopping training",
        "stopping_early: wallclock_cap step 200",
        "Monitored metric did not improve. Signaling Trainer to stop.",
        "Target accuracy reached, exiting",
    ],
)
def test_a_run_that_stops_of_its_own_will_is_finished_before_its_total(line: str) -> None:
    """What it does after that, it does at the end."""
    assert ends(f"{printed(1, 9)}{line}\nloading the best weights\ntest accuracy 0.91\n") == "finished"


@pytest.mark.parametrize("line", ["Loss is nan, stopping training", "early_stopping: true", "stopping_early=True"])
def test_other_words_of_stopping_finish_nothing(line: str) -> None:
    """A setting, or a reason that is a failure."""
    assert ends(f"{printed(1, 9)}{line}\n") == "cut"


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        ("======== 3 passed, 1 xfailed in 2.11s ========", "finished"),
        ("======== 2 failed, 3 passed in 2.11s ========", "failed"),
        ("Ran 12 tests in 0.812s\n\nOK", "finished"),
        ("Ran 12 tests in 0.812s\n\nFAILED (failures=1)", "failed"),
        ("Training abgeschlossen.", "finished"),
        ("Entraînement terminé.", "finished"),
        ("训练任务圆满结束", "finished"),
        ("所有任务已完成。", "finished"),
        ("INFO - 预训练的词表读取完毕", "unknown"),
        ("INFO - 训练集切分完毕", "unknown"),
        ("Обучение завершено", "finished"),
        ("Entrenamiento finalizado.", "finished"),
        ("Treinamento concluído com sucesso", "finished"),
        ("Finish training, the best accuracy is 0.81", "finished"),
        ("test result: ok. 4 passed; 0 failed; 0 ignored", "finished"),
        ("100% tests passed, 0 tests failed out of 2", "finished"),
        ("# Ended (code 0) at Thu Sep 3, elapsed time 10 seconds", "finished"),
        ("# Ended (code 256) at Thu Sep 3, elapsed time 10 seconds", "failed"),
        (':::MLPv0.5.0 ssd 1544.92 (main.py:26) run_stop: {"success": "true"}', "finished"),
        (':::MLPv0.5.0 ssd 1544.92 (main.py:26) run_stop: {"success": "false"}', "unknown"),
    ],
)
def test_last_words_of_tests_and_of_other_languages(last: str, verdict: str) -> None:
    """As their programs print them."""
    assert ends(f"starting\n{last}\n", None) == verdict


@given(st.binary(max_size=3000))
def test_any_bytes_can_be_looked_at(text: bytes) -> None:
    """A log is made of anything; signs lie within it, in order."""
    places = [sign.at for sign in activity_lines(text)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)
    assert count_activity(text)[0] <= ENOUGH


@pytest.mark.parametrize(
    ("line", "word", "only"),
    [
        ("what does 'core dumped' mean?", "core", True),
        ("Error: 'core dumped'", "core", False),
        ('{"msg": "core dumped", "n": 1}', "core", False),
        ("core dumped 'here' today", "core", False),
    ],
)
def test_what_is_only_named(line: str, word: str, only: bool) -> None:
    """Quotes alone are not enough: values stand in them, too."""
    assert mentioned(line, line.index(word), line.index(word) + 4) is only


def test_words_that_excuse() -> None:
    """Another's text, and a program that goes on."""
    assert is_quoted("Model output: ")
    assert not is_quoted("loading the prompt file")
    assert goes_on("CUDA out of memory at batch size 64, trying 32")
    assert not goes_on("GPU is lost. Reboot the system to recover this GPU")
    assert not goes_on("Max retries exceeded with url: /api")
