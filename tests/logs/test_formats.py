"""What a single line means, format by format; and that no line, however hostile, can hang a format."""

from __future__ import annotations

import pytest

from dogwatch.logs.formats import plan, plan_for, shipped
from dogwatch.logs.interface import ASIDE, EPOCH, EPOCH_DONE, INNER, PERCENT, RUN, Format
from dogwatch.model import Finished, Mark, Metric, Phase, Step

EVERY_SHAPE = """\
Processed 300/1000 items (25.1 items/s)
Completed 7 of 9 shards
PROGRESS: 40/80
Epoch [3/10], Step [100/600], Loss: 0.5, Val Loss: 0.7
 iteration        5/     100 | lm loss: 9.1 | learning rate: 1e-4 | grad norm: 1.2
Batch 5/500 acc=0.5 validation acc 0.6 eval/accuracy: 0.4
[300/1000] frame written
Progress: 45.5%
45% complete
 30%|███       | 30/100 [00:10<00:20,  3.50it/s]
Epochs:  30%|###    | 3/10 [1:00:00<2:20:00, 1200.0s/it]
420it [00:10, 41.9it/s]
{"global_step": 3, "total_steps": 9, "loss": 0.5}
{"processed": 30, "total": 90}
{"iter": 30}
{"epoch": 2, "num_epochs": 4}
{'loss': 0.41, 'learning_rate': 5e-05, 'epoch': 0.35}
lr 0.1 ppl=3 perplexity: 4 reward = -1 GRAD_NORM: 2
Training completed
job finished
Done training
All items processed""".splitlines()


def marks(line: str) -> list[Mark]:
    return [mark for fmt in shipped() for mark in fmt.read(line)]


def steps(line: str) -> list[Step]:
    return [mark for mark in marks(line) if isinstance(mark, Step)]


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Processed 300/1000 items (25.1 items/s)", Step(300, 1000, "items", 25.1, RUN)),
        ("[worker 3] Processed 12,300 / 1,000,000 docs", Step(12300, 1e6, "docs", None, RUN)),
        ("INFO Completed 7 of 9 shards", Step(7, 9, "shards", None, RUN)),
        ("Progress: 40/80", Step(40, 80, "items", None, RUN)),
        ("Epoch 3/10", Step(3, 10, "epochs", None, EPOCH)),
        ("Epoch: [3/10]", Step(3, 10, "epochs", None, EPOCH)),
        ("Epoch 3/10 done, loss 0.4", Step(3, 10, "epochs", None, EPOCH_DONE)),
        ("step 300/1000 loss=0.1", Step(300, 1000, "steps", None, RUN)),
        ("Step 300 of 1000 (2.5 it/s)", Step(300, 1000, "steps", 2.5, RUN)),
        ("step=300/1000.", Step(300, 1000, "steps", None, RUN)),
        (" iteration        5/     100 | lm loss: 9.1", Step(5, 100, "iterations", None, RUN)),
        ("Batch 5/500", Step(5, 500, "batches", None, INNER)),
        ("[300/1000] frame written", Step(300, 1000, "items", None, INNER)),
        ("Progress: 45.5%", Step(45.5, 100, "%", None, PERCENT)),
        ("render 45% complete", Step(45, 100, "%", None, PERCENT)),
        (" 30%|███       | 30/100 [00:10<00:20,  3.50it/s]", Step(30, 100, "it", 3.5, INNER)),
        (" 30%|###       | 30/100 [00:10<00:20,  2.00s/it, loss=0.3]", Step(30, 100, "it", 0.5, INNER)),
        ("  1%|   | 1.20k/3.40M [00:01<10:00, 2.50kB/s]", Step(1200, 3.4e6, "B", 2500, INNER)),
        ("  0%|   | 0/100 [00:00<?, ?it/s]", Step(0, 100, "it", None, INNER)),
        ("Validation:  50%|#####  | 5/10 [00:01<00:01,  5.00it/s]", Step(5, 10, "it", 5, ASIDE)),
        ("Epochs:  30%|###    | 3/10 [1:00:00<2:20:00, 1200.0s/it]", Step(3, 10, "epochs", 1 / 1200, EPOCH_DONE)),
        ("Epoch 7:  50%|#####  | 5/10 [00:01<00:01,  5.00it/s]", Step(5, 10, "it", 5, INNER)),
        ("420it [00:10, 41.9it/s]", Step(420, None, "it", 41.9, INNER)),
        ('{"step": 3, "total_steps": 9, "loss": 0.5}', Step(3, 9, "steps", None, RUN)),
        ('{"current_steps": 3, "total_steps": 9, "epoch": 0.1}', Step(3, 9, "steps", None, RUN)),
        ('{"processed": 30, "total": 90}', Step(30, 90, "items", None, RUN)),
        ('{"epoch": 2, "num_epochs": 4}', Step(2, 4, "epochs", None, EPOCH_DONE)),
        ("{'loss': 0.41, 'learning_rate': 5e-05, 'epoch': 0.35}", Step(0.35, None, "epochs", None, EPOCH)),
        ("{'loss': '0.41', 'epoch': '0.35'}", Step(0.35, None, "epochs", None, EPOCH)),
    ],
)
def test_a_line_is_read_as_its_counter(line, step):
    """Each shape of line gives the one step it states."""
    assert steps(line) == [step]


def test_steps_beside_epochs_on_one_line_are_the_epochs():
    """`Step [100/600]` behind `Epoch [3/10]` counts inside that epoch."""
    assert sorted(steps("Epoch [3/10], Step [100/600], Loss: 0.5"), key=lambda s: s.rank) == [
        Step(100, 600, "steps", None, INNER),
        Step(3, 10, "epochs", None, EPOCH_DONE),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "2024/05/06 12:00:00 started",
        "see https://example.com/1/2 for step by step help",
        "timestep 3 of nothing",
        "Epoch ٣/١٠",
        "GPU utilisation 45%",
        "Progress: 450%",
        "step 3/4/2024",
        "version 1.2/3.4",
        '{"step": true, "total_steps": "many"}',
        '{"step": 1' + "0" * 6000 + "}",
        '{"step": 1e999}',
        '{"step": NaN}',
        '{"step": -4}',
        "[" * 100_000,
        '{"step":' * 50_000 + "}",
        "{'loss': 'high', 'epoch': None}",
        " 30%|███| 1.2.3/4.5.6 [00:10<00:20, 3.50it/s]",
    ],
)
def test_what_is_no_counter_is_not_read_as_one(line):
    """Dates, paths, other scripts' digits, absurd numbers and hostile JSON give no step, and no error."""
    assert steps(line) == []


@pytest.mark.parametrize(
    ("line", "metrics"),
    [
        ("loss: 0.345", {"loss": 0.345}),
        ("train_loss=1e-3 lr = 5e-05", {"loss": 0.001, "learning_rate": 5e-05}),
        ("iter 3 loss 0.5 val loss 0.7", {"loss": 0.5, "val_loss": 0.7}),
        ("val_loss: 0.7, acc: 91.5", {"val_loss": 0.7, "accuracy": 91.5}),
        ("grad_norm: 3 ppl=12.5 reward: -1.25", {"grad_norm": 3.0, "perplexity": 12.5, "reward": -1.25}),
        ("gloss: 3 blossom 4 weight-loss/5", {}),
        ("{'eval_loss': 0.3, 'eval_f1': 0.8, 'epoch': 1.0}", {"eval_loss": 0.3, "eval_f1": 0.8}),
        ('{"step": 1, "loss": 0.5, "note": "x", "ok": true}', {"loss": 0.5}),
    ],
)
def test_named_numbers_are_metrics(line, metrics):
    """The usual names before a number are metrics; parts of other words are not."""
    assert {mark.name: mark.value for mark in marks(line) if isinstance(mark, Metric)} == metrics


@pytest.mark.parametrize(
    ("line", "claims"),
    [
        ("Training completed in 3h", True),
        ("Job finished successfully", True),
        ("All items processed.", True),
        ("done training", True),
        ("training is not completed", False),
        ("will upload when training finished", False),
        ("Epoch 3 training done", False),
        ("Downloading completed_files.txt", False),
    ],
)
def test_only_a_claim_about_the_whole_run_is_one(line, claims):
    """Sentences that say the run is over are claims; conditions and epochs are not."""
    assert bool([mark for mark in marks(line) if isinstance(mark, Finished)]) is claims


def test_a_line_may_name_its_phase():
    """A validation bar says that the job validates."""
    assert Phase("validating") in marks("Evaluating: 10%|#  | 1/10 [00:01<00:09, 1.00it/s]")


@pytest.mark.parametrize("fmt", shipped(), ids=lambda fmt: fmt.kind)
def test_needles_are_lower_case(fmt: Format):
    """The reader looks for needles in lower-cased text, so an upper-case one would never be found."""
    assert fmt.needles
    assert all(needle == needle.lower() for needle in fmt.needles)


@pytest.mark.parametrize("fmt", shipped(), ids=lambda fmt: fmt.kind)
def test_whatever_a_format_reads_it_would_have_been_asked_for(fmt: Format):
    """Needles, hint and sift are never narrower than `read`; and each format reads one of the shapes."""
    readable = [line for line in EVERY_SHAPE if fmt.read(line)]
    assert readable
    for line in readable:
        low = line.encode().lower() + b"\n"
        assert any(needle in low for needle in fmt.needles), line
        assert fmt.hint is None or fmt.hint.search(low), line
        assert fmt.sift is None or list(fmt.sift(low)), line


def hostile(fmt: Format) -> list[str]:
    """Lines of 1 MB that start what the format looks for, over and over, and never finish it."""
    needles = [needle.decode() for needle in fmt.needles]
    units = [*needles, *(needle + " " for needle in needles), *(needle + " 1/" for needle in needles)]
    units += ["9", "1,234", " ", "\t", "[", "[1/", "%|", "%| 1/1 [", "{'", "{'a': 1, ", '{"a":', "1.", "a", "/s "]
    units += ["epoch 1/", "step : [ 1 of ", "loss: ", "loss       ", "1it [0:0, ", "training ", "é", "\x1b[0"]
    return [(unit * (1_000_000 // len(unit) + 1))[:1_000_000] for unit in units]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("fmt", shipped(), ids=lambda fmt: fmt.kind)
def test_a_megabyte_of_malice_hangs_no_format(fmt: Format):
    """Every shipped pattern is linear; one that were not would run into the time limit."""
    for line in hostile(fmt):
        fmt.read(line)
        if fmt.sift is not None:
            list(fmt.sift(line.lower().encode()))


@pytest.mark.parametrize("line", EVERY_SHAPE)
def test_no_format_is_passed_over_by_the_shape_of_a_piece(line: str) -> None:
    """What is known of a shape without its numbers names every format whose literal is in the line."""
    for text in (line, line.replace("3", "7"), f"{line}\n{line}"):
        low = text.lower().encode()
        assert {fmt.kind for stem, fmt in plan() if stem in low} <= {fmt.kind for _, fmt in plan_for(low)}
