"""Hearing a log to its end: in whatever pieces it comes, in little room, whatever it holds."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.logs.ending.verdict import WINDOW, Ending
from dogwatch.logs.ending.words import FAILED, ROWS
from dogwatch.logs.interface import INNER
from tests.logs.endings import CAUGHT, CRASH, WORK, at, ends

PARTS = [
    WORK,
    CRASH,
    CAUGHT,
    "Training completed\n",
    "Done.\n",
    "Final score: 3\n",
    "Killed\n",
    "Exception ignored in: <x>\n",
    "--- Logging error ---\n",
    'Call stack:\n  File "a.py", line 2, in <module>\n',
    "".join(CRASH.splitlines(keepends=True)[1:]),
    "KeyError\n",
    "step 30/100 loss\n" * 30,
    '[rank0]: Traceback (most recent call last):\n[rank0]:   File "a.py", line 1, in <module>\n[rank0]: KeyError\n',
    "\n",
    "x\n",
]


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PARTS), max_size=12), st.lists(st.integers(0, 60), max_size=8))
def test_the_verdict_does_not_depend_on_the_pieces(parts: list[str], cuts: list[int]) -> None:
    """Whole lines at once or a few at a time: the same."""
    lines = "".join(parts).encode().splitlines(keepends=True)
    whole = ends("".join(parts))
    ending, place = Ending(), 0
    places = [0, *sorted(min(cut, len(lines)) for cut in cuts), len(lines)]
    for a, b in pairwise(places):
        piece = b"".join(lines[a:b])
        if piece:
            ending.feed(place, piece)
            place += len(piece)
    assert ending.judge(None) == whole


def test_little_is_kept_whatever_is_heard() -> None:
    """Of a hundred megabytes of everything at once, the end and a piece."""
    tracemalloc.start()
    ending, piece = Ending(), ("".join(PARTS) * 200).encode()
    for n in range(50):
        ending.feed(n * len(piece), bytes(bytearray(piece)))  # bytes of its own
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < WINDOW + 4 * len(piece)


@settings(max_examples=200)
@given(st.binary(max_size=400))
def test_any_bytes_are_survived(raw: bytes) -> None:
    """Whatever a job writes, there is a verdict."""
    ending = Ending()
    ending.feed(0, raw + b"\n")
    assert ending.judge(None) in ("finished", "failed", "cut", "unknown")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.kind} {row.needle.decode()}")
def test_a_megabyte_of_malice_hangs_no_row(row) -> None:
    """Beginnings of what the row looks for, over and over, on one line and on many."""
    for unit in (row.needle, row.needle + b" ", row.needle + b"\n", b"training " + row.needle, b"1: " + row.needle):
        ending = Ending()
        ending.feed(0, unit * (1_000_000 // len(unit)) + b"\n")
        assert ending.judge(None) in ("finished", "failed", "cut", "unknown")


def test_every_row_is_found_by_its_needle() -> None:
    """A row whose pattern matches a line without the needle would never be asked."""
    for row in ROWS:
        assert row.needle == row.needle.lower()
        assert row.needle
    assert {row.kind for row in ROWS} > {FAILED}


def test_leaving_an_environment_that_was_never_entered_ends_nothing() -> None:
    """Conda complains of it at the end of a script, in the words of an exception."""
    assert ends(f"{WORK}CondaError: Run 'conda init' before 'conda deactivate'\n") == "unknown"
    assert ends(f"{WORK}CondaError: Run 'conda init' before 'conda activate'\n") == "failed"


@pytest.mark.parametrize(
    "line",
    [
        "fit.sh: 行 12:  4411 已杀死               python fit.py",
        "fit.sh: ligne 12 :  4411 Processus arrêté      python fit.py",
        "Убито",
        "段错误 (核心已转储)",
        "fit.sh: řádek 9:  9920 Neúspěšně ukončen (SIGABRT) ./fit",
        "go.sh: 行 9: torchrun: 未找到命令",
        "go.sh: Zeile 9: torchrun: Befehl nicht gefunden.",
        "go.sh: línea 2: cd: /datos: No existe el fichero o el directorio",
        "bash: ./fit: Отказано в доступе",
    ],
)
def test_a_shell_may_speak_another_language(line: str) -> None:
    """What it says of the end of a command means the same."""
    assert ends(f"loading\n{line}\n") == "failed"
    assert ends(f"loading, and not {line} as before\n") == "unknown"


def test_a_plugin_of_jax_that_cannot_be_loaded_ends_nothing() -> None:
    """Its traceback is printed, its outermost frame is a library's, and the program takes another backend."""
    fell = CAUGHT.partition("\n")[2].replace("/lib/tracker.py", "/lib/site-packages/jax/_src/xla_bridge.py")
    linked = "\nThe above exception was the direct cause of the following exception:\n\n"
    log = f"E | jax | Jax plugin configuration error: Exception when calling initialize()\n{fell}{linked}{fell}"
    assert (
        ends(log + "I | jax | no TPU\nI | fit | Resolved the settings:\n  seed: 1\n  width: 2\n  depth: 3\n")
        == "unknown"
    )
    assert ends(log) == "failed"


def test_snakemake_says_that_it_failed_before_it_names_its_log() -> None:
    """The reason is in the log of the job, the word that there is one in this."""
    rule = "Error in rule fit:\n    jobid: 4\n        (one of the commands exited with non-zero exit code; note ...)\n"
    last = "Exiting because a job execution failed. Look above for error message\n"
    named = "Complete log: .snakemake/log/2024-08-29T161607.470369.snakemake.log\n"
    assert ends(rule + last + named) == ends(rule + "Cancelling snakemake on user request.\n") == "failed"


def test_hooks_that_say_how_long_it_took_do_not_heal_what_the_loop_fell_of() -> None:
    """detectron2's loop logs the exception, then its hooks sum up; a run that began below it lives."""
    fell = (
        "[05/11 08:30:12] d2.engine.train_loop ERROR: Exception during training:\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/d2/engine/train_loop.py", line 150, in train\n'
        "    self.run_step()\n"
        "KeyError: 'masks'\n"
        "[05/11 08:30:12] d2.engine.hooks INFO: Total training time: 0:00:04 (0:00:00 on hooks)\n"
    )
    more = "".join(f"[05/11 09:1{n}:00] d2.utils.events INFO:  eta: 1:02:03  iter: {n}9  loss: 0.4\n" for n in range(5))
    assert ends(fell) == "failed"
    assert ends(fell + more) != "failed"


@pytest.mark.parametrize("took", ["41.07s", "741.30s (0:12:21)"])
def test_tests_that_failed_are_a_failure_however_long_they_took(took: str) -> None:
    """Of more than a minute pytest tells the time twice."""
    assert ends(f"collected 9 items\n============ 1 failed, 8 passed, 2 warnings in {took} ============\n") == "failed"
    assert ends(f"collected 9 items\n============ 9 passed, 2 warnings in {took} ============\n") == "finished"


@pytest.mark.parametrize(
    "last", ["upload finished with status 200", "all calls returned with status 404", "ended with code 1 of 8 given"]
)
def test_a_status_that_no_process_ends_with_is_no_failure(last: str) -> None:
    """HTTP has its own, and the first of several is a count."""
    assert ends(f"{WORK}{last}\n", at(WORK, "step 20", 20, 100)) == "cut"


def test_a_pipe_that_was_closed_at_the_end_is_no_failure() -> None:
    """As `python train.py | head` leaves it: the interpreter could not print its last words to anybody."""
    ignored = (
        "Exception ignored in: <_io.TextIOWrapper name='<stdout>' mode='w'>\nBrokenPipeError: [Errno 32] Broken pipe\n"
    )
    assert ends("step 9/10 loss 0.3\nstep 10/10 loss 0.2\nall epochs done\n" + ignored) == "finished"


def test_what_a_shell_answers_at_its_prompt_is_no_failure() -> None:
    """As the end of what was copied from a terminal; PBS has login shells read its scripts, and those count lines."""
    assert ends(f"{WORK}(env) me@n1:~$ save-pane\n-bash: save-pane: command not found\n") == "unknown"
    assert ends(f"{WORK}-bash: line 7: torchrun: command not found\n") == "failed"
    assert ends(f"{WORK}bash: torchrun: command not found\n") == "failed"


def test_that_all_experiments_are_done_ends_a_log_whose_last_one_stopped_early() -> None:
    """Said of all of them it is no matter of the counter; all samples of a part are another thing."""
    counted = at(WORK, "step 20", 20, 100)
    assert ends(f"{WORK}=== All experiments complete: Sun Apr 26 18:43:59 ===\n", counted) == "finished"
    assert ends(f"{WORK}all 8 folds are done\n", counted) == "finished"
    assert ends(f"{WORK}all samples processed\n", counted) == "cut"


def test_what_fell_at_its_imports_has_counted_nothing() -> None:
    """A counter that arrives below is another try's; a bar may be of anything that a script runs next."""
    fell = 'Traceback (most recent call last):\n  File "fit.py", line 3, in <module>\n    import torch\n'
    log = f"{fell}ModuleNotFoundError: No module named 'torch'\ninstalled\nround 1/2\nround 2/2\n"
    assert ends(log, at(log, "round 2", 2, 2)) == "finished"
    assert ends(log, at(log, "round 2", 2, 2, INNER)) == "failed"
    assert ends(log, at(log, "round 1", 1, 2)) == "failed"
