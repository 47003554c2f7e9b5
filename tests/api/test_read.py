"""What a whole log says: how it ended, where its script has a word on that too."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogwatch.api import read, why

DIED = "train: error while loading shared libraries: libacme.so.3: cannot open shared object file: No such file\n"
STEPS = "".join(f"Epoch {epoch}/90 loss {3 / epoch:.3f}\n" for epoch in range(1, 9))


def told(text: str) -> tuple[str, str | None]:
    """The ending and the cause that are read from a log."""
    found = read.document("job.log", [text.encode()])
    return found["ending"], found["diagnosis"] and found["diagnosis"]["cause"]


@pytest.mark.parametrize("closing", ["Finished at: Tue Mar  3 11:02:09 UTC 2026\n", "Job finished\n", "Done!\n"])
@pytest.mark.parametrize(
    ("died", "cause"),
    [
        (DIED, "missing_module"),
        ("slurmstepd: error: execve(): trainer: No such file or directory\n", "launch_failed"),
        ("fit.py: error: --warmup has to be shorter than --steps\n", "config_error"),
        ("Job exceeded its walltime limit. Job was aborted\n", "time_limit"),
        ("Error in fit(x) : subscript out of bounds\nCalls: fit\nExecution halted\n", "code_error"),
        (
            "Fortran runtime error: Bad real number\n\nError termination. Backtrace:\n" + "#1  0x7f11 in ???\n" * 12,
            "code_error",
        ),
    ],
)
def test_what_a_script_says_at_its_end_does_not_hide_what_its_program_died_of(
    died: str, cause: str, closing: str
) -> None:
    """Scripts say so whatever came of the program that they ran."""
    assert told(f"Running on n7\n{died}{closing}") == ("failed", cause)


def test_what_a_program_outlived_is_no_failure_though_its_script_says_little() -> None:
    """Progress below it, or the program's own word that it is over, count for more than the line above."""
    assert told(f"{DIED}{STEPS}Done!\n")[1] is None
    assert told(f"{STEPS}{DIED}Training finished\n") == ("finished", None)


def test_both_commands_read_the_same_ending(tmp_path: Path) -> None:
    """`why` of a log alone asks how it ended, as `read` does."""
    log = tmp_path / "job.log"
    log.write_text(f"Running on n7\n{DIED}Job finished\n")
    assert why.of_logs([str(log)])["cause"] == "missing_module"
    log.write_text("Running on n7\nJob finished\n")
    assert why.of_logs([str(log)])["cause"] is None


def test_how_long_a_command_took_stands_below_its_last_words() -> None:
    """Four lines of a shell, of which the first is empty."""
    took = "\nreal\t0m3.120s\nuser\t0m1.001s\nsys\t0m0.110s\n"
    assert told(f"cloning\nfatal: unable to access 'http://a.b/c.git/': Could not resolve host: a.b\n{took}") == (
        "failed",
        "network_error",
    )


def test_a_log_that_failed_is_in_no_finished_phase() -> None:
    """Whatever its script says below; one that finished is."""
    found = read.document("job.log", [f"{STEPS}go.sh: line 3:  4411 Killed    python fit.py\nJob finished\n".encode()])
    assert (found["ending"], found["phase"]) == ("failed", None)
    found = read.document("job.log", [f"{STEPS}Job finished\n".encode()])
    assert (found["ending"], found["phase"]) == ("finished", "finished")


def test_a_log_that_is_over_is_in_no_other_phase() -> None:
    """What it did last was to save; and one that stops amid its work is not finished by what the run before said."""
    full = "".join(f"epoch {n}/4 loss 0.{9 - n}\n" for n in (1, 2, 3, 4))
    found = read.document("job.log", [f"{full}Saving the model to out/last.pt\n".encode()])
    assert (found["ending"], found["phase"]) == ("finished", "finished")
    found = read.document("job.log", [f"{full}Training finished\nStart training\nepoch 1/4\n".encode()])
    assert found["ending"] == "cut"
    assert found["phase"] != "finished"
