"""Which of several counters is the run: totals, resumes, nested and consecutive bars, epochs and what is in them."""

from __future__ import annotations

import pytest

from dogwatch.logs.reader import Reader
from dogwatch.model import Step


def read(log: str) -> Step:
    step = Reader().feed(log.encode()).step
    assert step is not None
    return step


def shown(log: str) -> tuple[float, float | None, str]:
    """The number that an interface shows, of how many, and the unit."""
    step = read(log)
    return step.done if step.printed is None else step.printed, step.total, step.unit


def bar(done: int, total: int, label: str = "") -> str:
    return f"\r{label}{100 * done // total:3d}%|###  | {done}/{total} [00:10<00:20,  3.50it/s]"


def bars(total: int, *stops: int, label: str = "") -> str:
    return "".join(bar(done, total, label) for done in stops) + "\n"


def test_a_total_belongs_to_its_own_counter() -> None:
    """Epochs of the configuration are no total for steps, nor steps for epochs."""
    assert shown("epochs: 40\niter 250: loss 2.1\n") == (250, None, "iterations")
    assert shown("max_steps: 9000\nEpoch 3: loss 2.1\n") == (3, None, "epochs")
    assert shown("max_steps: 9000\niter 250: loss 2.1\n") == (250, 9000, "iterations")
    assert shown("epochs: 40\nEpoch 3: loss 2.1\n") == (3, 40, "epochs")


def test_a_total_that_was_passed_is_of_something_else() -> None:
    """A counter beyond a stated total has no total rather than a false one."""
    assert shown("max_steps: 100\niter 250: loss 2.1\n") == (250, None, "iterations")


def test_the_newest_configuration_counts() -> None:
    """A second attempt in the same file may be given more steps."""
    assert shown("max_steps: 100\niter 99: loss 2.1\nmax_steps: 500\niter 101: loss 2.0\n") == (101, 500, "iterations")


def test_a_resume_is_not_a_reset() -> None:
    """A bar that starts at nought after a resume stands where the run went on."""
    resumed = bars(1000, 0, 600) + "  Continuing training from global step 500\n" + bar(0, 1000) + "\n"
    assert shown(resumed) == (500, 1000, "it")
    assert shown(resumed + bar(501, 1000) + "\n") == (501, 1000, "it")


def test_a_resume_counts_before_the_first_step_after_it() -> None:
    """The checkpoint that was loaded says where the run stands, also if it is behind the crash."""
    log = (
        " iteration      640/    1000 | consumed samples: 640 | elapsed time per iteration (ms): 10.0 |\n"
        "  successfully loaded checkpoint from /ckpt at iteration 600\n"
    )
    assert shown(log) == (600, 1000, "iterations")


def test_a_start_that_resumed_nothing_is_a_start() -> None:
    """A configuration printed after an earlier resume belongs to a run that began anew."""
    log = "Total optimization steps = 1000\nContinuing training from global step 500\n" + bars(1000, 501, 502)
    assert shown(log + "Total optimization steps = 1000\n" + bar(3, 1000) + "\n") == (3, 1000, "it")


def test_a_counter_that_fell_back_without_a_word_is_believed() -> None:
    """The newest record speaks for its counter."""
    assert shown("step 900/1000\nstep 850/1000\n") == (850, 1000, "steps")


@pytest.mark.parametrize(
    "aside",
    [
        "Validation: ",
        "Evaluating: ",
        "Sanity Checking DataLoader 0: ",
        "Loading checkpoint shards: ",
        "Map (num_proc=4): ",
    ],
)
def test_what_is_beside_the_work_is_never_the_run(aside: str) -> None:
    """A bar that moves later, and further, does not take over."""
    assert shown(bars(100, 0, 40, label="Train: ") + bars(5000, 0, 4000, label=aside)) == (40, 100, "it")


def test_an_evaluation_is_the_run_where_there_is_nothing_else() -> None:
    """A job that only evaluates is as far as its evaluation; one that only loads is nowhere yet."""
    assert shown(bars(50, 0, 20, label="Evaluating: ")) == (20, 50, "it")
    assert Reader().feed(bars(50, 0, 20, label="Loading shards: ").encode()).step is None


def test_the_outer_of_two_bars_without_a_name_is_the_run() -> None:
    """The one that began first, and goes on while the other comes and goes."""
    inner = bars(500, 0, 250, 500)
    assert shown(bar(0, 10) + inner + bar(1, 10) + inner + bar(2, 10) + bars(500, 0, 70)) == (2, 10, "it")


def test_bars_one_after_the_other_are_told_by_the_last() -> None:
    """When one stage is done the next one speaks, also when it is done as well."""
    assert shown(bars(78, 0, 40, 78) + bars(40, 0, 20)) == (20, 40, "it")
    assert shown(bars(78, 0, 40, 78) + bars(40, 0, 20, 40)) == (40, 40, "it")


def test_a_short_bar_after_the_work_is_not_the_work() -> None:
    """What took a fraction of the run's log, and came when the run was full, was its aftermath."""
    assert shown(bars(900, 0, *range(1, 901)) + bars(12, 0, 6, 12)) == (900, 900, "it")


def test_a_bar_of_all_steps_is_the_run_whatever_else_moves() -> None:
    """A total that the configuration states marks its bar."""
    log = "Total optimization steps = 300\n" + bars(300, 0, 40) + bars(1000, 0, 500)
    assert shown(log) == (40, 300, "it")


def test_a_bar_that_agrees_with_a_bare_counter_lends_it_its_total() -> None:
    """The step that a trainer prints and the bar beside it are one count."""
    line = "[INFO] [Rank 0] step=120, skipped=0, lr=[1e-05], mom=[0.9]\n"
    assert shown(line + bars(1000, 123)) == (123, 1000, "it")
    assert shown(line + bars(60, 50)) == (120, None, "steps")


def test_a_bar_of_one_epoch_lends_no_total_where_the_run_has_one() -> None:
    """`Total optimization steps` that are three times the bar's are the run's, and the bar counts an epoch."""
    log = "Total optimization steps = 4500\n" + bars(1500, 0, 281) + "Step: 280 | Loss: 2.1\n" + bars(1500, 283)
    assert shown(log)[:2] == (280, 4500)


def test_epochs_times_steps_make_a_total_where_the_numbers_agree() -> None:
    """Global step, epoch and step within the epoch of one trainer give how many there will be."""
    log = "Epoch 2/6:  50%|#####     | 31/62 [00:10<00:10,  3.0it/s]\nstep:93 - train/loss:0.4 - train/lr:0.1\n"
    assert shown(log) == (93, 372, "steps")


def test_a_single_epoch_is_told_by_what_is_in_it() -> None:
    """Of one epoch in all, the batches say more."""
    assert shown(bar(340, 1000, "Epoch 1/1: ") + "\n") == (340, 1000, "it")


def test_a_single_epoch_that_is_behind_is_all_of_it() -> None:
    """What was last printed inside the only epoch is old when the epoch is summed up."""
    log = "Training for 1 epochs\nEpoch 1, Batch 0/12, Loss: 2.1\nEpoch 1 Validation - Loss: 1.9\n"
    assert shown(log) == (1, 1, "epochs")


def test_a_run_that_began_again_stands_at_its_first_epoch() -> None:
    """Where the last of all epochs is behind, epoch nought is of another run."""
    first = "Epoch [5], Batch [80], Loss: 0.2\nEpoch [5/6] Validation Loss: 0.3\n"
    assert shown(first)[:2] == (5, 6)
    assert shown(first + "Epoch [0], Batch [5], Loss: 1.2\n")[:2] == (0, 6)


def test_a_callback_that_counts_from_nought_takes_back_no_epoch() -> None:
    """`Epoch 00041` behind `Epoch 42/90` is the same epoch."""
    assert shown("Epoch 42/90\nEpoch 00041: early stopping\n")[:2] == (42, 90)


def test_a_bar_that_is_drawn_once_more_does_not_take_back_an_epoch() -> None:
    """A run that stops early leaves its bar where it stood before the last epoch, which a line summed up."""
    log = bars(90, 0, 1, 41, label="Epochs: ") + "Epoch [42/90] Val Loss: 0.7\n" + bars(90, 41, label="Epochs: ")
    assert shown(log) == (42, 90, "epochs")


def test_items_are_told_by_the_bar_that_counts_them_too() -> None:
    """Of two counters of as many items, the newer and further one speaks."""
    log = "Completed 60/95 pages\n" + bars(95, 61, 93, label="Judging pages: ")
    assert shown(log)[:2] == (93, 95)


def test_a_bar_of_all_steps_is_not_inside_an_epoch_that_was_named_once() -> None:
    """A bar that never began again counts the run, however far the epochs are that a line tells."""
    log = "num epochs: 16\n" + bars(96, 0, label="steps: ") + "epoch: 1, all prepared\n" + bars(96, 30, label="steps: ")
    assert shown(log) == (30, 96, "it")


def test_an_epoch_without_a_total_outranks_the_batches_in_it() -> None:
    """A counter that starts again in every epoch is not the run's."""
    assert shown("Epoch: [13][ 200/391]\tTime 2.0 Loss 0.5\n") == (13, None, "epochs")


def test_in_epoch_nought_a_bare_count_is_the_runs() -> None:
    """Nothing is behind it yet, so the batch is the run's count."""
    assert shown("ep: 0, batch: 260, loss: 8.3\n") == (260, None, "batches")
    assert shown("ep: 2, batch: 260, loss: 8.3\n") == (2, None, "epochs")


def test_epochs_that_begin_at_nought_are_counted_so() -> None:
    """Half of epoch 3, when there was an epoch 0, means that three and a half are behind."""
    first = bar(100, 200, "Epoch 0/9: ") + "\n"
    assert read(first).done == 0.5
    later = read(first + bar(100, 200, "Epoch 3/9: ") + "\n")
    assert (later.done, later.printed, later.total) == (3.5, 3, 9)
    assert read(bar(100, 200, "Epoch 3/9: ") + "\n").done == 2.5


def test_a_bar_whose_steps_are_epochs_is_known_by_them() -> None:
    """It stands where the epochs stand and began once."""
    log = bar(0, 50) + "".join(f"Epoch {n}: train loss: 0.5\n{bar(n + 1, 50)}\n" for n in range(6))
    assert shown(log) == (6, 50, "it")
    named = "".join(bar(n + 1, 300, f"Epoch: {n}, loss: 0.5: ") for n in range(8)) + "\n"
    assert shown(named) == (7, 300, "epochs")


def test_an_epoch_that_is_told_twice_has_no_batches() -> None:
    """`Epoch 3 (3/90)` beside a configuration of 90 epochs says where the run is, not where in the epoch; other
    numbers are its batches."""
    named = "Namespace(batch_size=8, epoch=90)\n"
    lines = [f"**** Epoch {i} ({i}/90) ****\ntrain loss: 0.5\n" for i in (1, 2, 3)]
    assert [read(named + "".join(lines[:i])).done for i in (1, 2, 3)] == [1, 2, 3]
    batches = [f"Epoch {epoch} ({batch}/90) loss: 0.5\n" for epoch in (1, 2, 3) for batch in (1, 2, 3, 45)]
    assert read(named + "".join(batches)).done == 2.5


def test_what_a_server_loaded_is_no_progress() -> None:
    """Once it serves there is nothing to be done with, and no total."""
    log = bars(67, 0, 67) + "INFO:     Application startup complete.\n"
    assert Reader().feed(log.encode()).step is None


def test_ranks_that_write_into_one_log_are_one_run() -> None:
    """Interleaved lines of several ranks are one counter, told by the newest."""
    log = "".join(f"[rank{rank}]: step {step}/1000 loss=0.1\n" for step in range(5) for rank in range(4))
    assert shown(log) == (4, 1000, "steps")


def test_items_done_before_the_training_are_not_the_training() -> None:
    """A stage that is full gives way to epochs that are not."""
    assert shown("Processed 100/100 files\nEpoch 3/10\n") == (3, 10, "epochs")
    assert shown("Epoch 3/10\nProcessed 40/100 files\n") == (40, 100, "files")


@pytest.mark.parametrize(
    ("log", "phase"),
    [
        ("Loading model from /m\n", "starting"),
        ("iter 3: loss 2.1\nSaving checkpoint to /c\n", "checkpointing"),
        ("iter 3: loss 2.1\nSaving checkpoint to /c\niter 4: loss 2.0\n", "training"),
        ("iter 3: loss 2.1\n***** Running Evaluation *****\n", "validating"),
        ("Capturing CUDA graph shapes\n", "compiling"),
        ("Exporting to onnx\n", "exporting"),
        ("step 9/9 loss: 0.1\nTraining completed\n", "finished"),
        ("Processed 3/9 files\n", "running"),
        (bars(9, 0, 3, label="Running loglikelihood requests: "), "evaluating"),
    ],
)
def test_the_phase_is_the_newest_word_on_it(log: str, phase: str) -> None:
    """A sentence says it, or a counter that moved since."""
    assert Reader().feed(log.encode()).phase == phase


def test_a_stage_that_is_announced_is_not_over() -> None:
    """`[3/3] Training...` shows three of three, and two are behind; a file that is done stays so."""
    stage = read("[2/3] Loading data...\n[3/3] Training...\n")
    assert (stage.printed, stage.done, stage.total) == (3, 2, 3)
    assert read("[2/3] data_2.csv\n[3/3] data_3.csv\n").done == 3


def test_a_command_that_names_a_time_step_counts_nothing() -> None:
    """An input script says `timestep 4`; an episode that stands alone is one that began."""
    table = "Step   Temp   TotEng\n0      1.44   -4.6133\n1000   0.70   -4.6150\n2000   0.70   -4.6151\n"
    assert shown(f"timestep        4\nrun   9000\n{table}") == (2000, None, "steps")
    assert shown("episode  7\n") == (7, None, "episodes")
