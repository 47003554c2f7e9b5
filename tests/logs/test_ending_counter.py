"""How a log ends, by where its counters stand."""

from __future__ import annotations

from dogwatch.logs.ending.verdict import Counter
from dogwatch.logs.interface import EPOCH, INNER
from dogwatch.model import Step
from tests.logs.endings import CAUGHT, WORK, at, ends


def test_a_full_counter_is_a_finish() -> None:
    """A hundred of a hundred, and nothing wrong after it."""
    log = f"{WORK}step 100/100\npeak memory: 3 GB\n"
    assert ends(log, at(log, "step 100", 100, 100)) == "finished"


def test_a_bar_that_runs_once_per_epoch_is_full_many_times() -> None:
    """Only a bar that never started again says that the run has arrived."""
    log = "100%|####| 50/50\n"
    assert ends(log, at(log, "50/50", 50, 50, INNER)) == "finished"
    assert ends(log, at(log, "50/50", 50, 50, INNER, laps=3)) == "unknown"


def test_last_words_need_a_counter_that_has_nearly_arrived() -> None:
    """`Results saved` at 20 % is an interim result; at 99 %, reporting every fifty, it is the end."""
    log = f"{WORK}Results saved to out/now.json\n"
    assert ends(log, at(log, "step 20", 20, 100)) == "cut"
    assert ends(log, at(log, "step 20", 960, 1000, stride=50)) == "finished"


def test_the_only_step_of_a_test_after_the_finish_is_no_more_work() -> None:
    """It moves the counter of an epoch a little; a third line of progress shows that something runs."""
    log = "Training Epoch 40 -- loss 0.3\nFinished Training: out/a\nBest epoch = 12\n[test] step: [1 / 1] acc 0.5\n"
    assert ends(log, at(log, "[test]", 41, 900, EPOCH)) == "finished"
    more = log + "[test] step: [2 / 9] acc 0.5\n[test] step: [3 / 9] acc 0.5\n"
    assert ends(more, at(more, "[test] step: [3", 41, 900, EPOCH)) == "cut"


def test_a_stage_that_ends_in_every_epoch_is_not_the_end() -> None:
    """It was said before, and the counter moved on after it; said once, it may be all there is."""
    epoch = "epoch {0} loss 0.5\ndev set evaluation finished\n"
    log = epoch.format(1) + epoch.format(2) + "epoch 3 begins\n"
    assert ends(log, at(log, "epoch 3", 3, None, EPOCH)) == "unknown"
    assert ends(log[: log.index("epoch 3")], at(log, "epoch 2", 2, None, EPOCH)) == "finished"


def test_a_counter_that_was_full_before_something_began_is_a_parts() -> None:
    """The first phase counted to its end; the second failed as it began, and said so as the last word."""
    first = "step 100/100 loss 0.4\n"
    full = at(first, "step 100", 100, 100)
    caught = CAUGHT.partition("\n")[2]
    assert ends(first + "Starting the second training phase\n" + caught, full) == "failed"
    assert ends(first + "Starting the second training phase\nloading\n", full) == "unknown"
    banner = "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default\n"
    assert (
        ends(first + banner + "python: can't open file 'eval.py': [Errno 2] No such file or directory\n", full)
        == "failed"
    )


def test_a_full_counter_of_a_part_is_no_finish() -> None:
    """The data were loaded, all of them; then much was counted that says no total."""
    log = "100%|####| 50/50\n" + "".join(f"train loss 0.{n}\n" for n in range(300))
    assert ends(log, at(log, "50/50", 50, 50, INNER)) == "unknown"


def test_a_counter_that_stood_still_while_others_moved_says_nothing_is_left() -> None:
    """Three of five items, once; and then a run of its own, to its last word."""
    log = "3/5 shards look sound\n" + "".join(f"batch {n} loss 0.{n}\n" for n in range(300)) + "Evaluation done\n"
    assert ends(log, at(log, "3/5", 3, 5, INNER)) == "finished"
    assert ends(log, at(log, "3/5", 3, 5)) == "cut"


def test_epochs_are_counted_from_nought() -> None:
    """Nine of ten is the last, where last words follow it."""
    log = f"{WORK}epoch 9/10\nwandb: Find logs at: ./wandb/run-1/logs\n"
    counter = Counter(Step(9, 10, "epochs", None, EPOCH), log.index("epoch 9"))
    assert ends(log, counter) == "finished"
    assert ends(log, counter._replace(step=Step(8, 10, "epochs", None, EPOCH))) == "cut"


def test_a_last_line_that_only_opens_the_last_epoch_is_no_end() -> None:
    """It says nothing of how that went, or that it went at all."""
    for line in ("Epoch 3/3", "2026-03-30 15:09:55 | INFO | acme | Epoch [3/3]: warm-up (no teacher)"):
        log = "Epoch 2/3\nloss 0.3\n" + line
        counter = Counter(Step(3, 3, "epochs", None, EPOCH), log.index(line))
        assert ends(log, counter) == "unknown"
        assert ends(log + "\nloss 0.2", counter) == "finished"
    assert ends("Epoch 3/3 completed", Counter(Step(3, 3, "epochs", None, EPOCH), 0)) == "finished"


def test_a_last_line_that_opens_an_epoch_is_no_end_though_a_fold_before_stopped_early() -> None:
    """The epochs of the next fold are counted from nought again."""
    log = "Early stopping triggered\nTraining Epoch: 0\nloss 0.4\nTraining Epoch: 1\n"
    assert ends(log, at(log, "Training Epoch: 1", 1, None, EPOCH)) == "unknown"
    assert ends(f"{log}loss 0.3\n", at(log, "Training Epoch: 1", 1, None, EPOCH)) == "finished"


def test_a_last_line_amid_an_evaluation_is_no_end() -> None:
    """The last epoch was counted to its end, and what follows it has only begun."""
    log = "epoch: [9]  [3510/3511]  eta: 0:00:04\nEvaluation  [ 20/251]  eta: 0:13:49    time: 3.3627\n"
    assert ends(log, at(log, "epoch:", 10, 10, EPOCH)) == "unknown"
    over = log.replace("[ 20/251]", "[250/251]")
    assert ends(over, at(over, "epoch:", 10, 10, EPOCH)) == "finished"


def test_what_a_shell_makes_of_a_scripts_remains_is_no_failure() -> None:
    """A line of the script that was cut in two is tried when the program is over; one that did nothing was the job."""
    left = "run_all.sh: line 23: --seed=7: command not found\n"
    log = f"{WORK}step 100/100\nTotal time: 812 s\n{left}"
    assert ends(log, at(log, "step 100", 99, 100)) == "finished"
    assert ends(log, at(log, "step 100", 40, 100)) == "failed"
    assert ends(f"loading modules\n{left}") == "failed"
    other = log.replace(left, "python3: can't open file 'score.py': [Errno 2] No such file or directory\n")
    assert ends(other, at(other, "step 100", 99, 100)) == "failed"
