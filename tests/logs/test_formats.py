"""What a single line means, format by format; and that no line, however hostile, can hang a format."""

from __future__ import annotations

import re
import time

import pytest

from dogwatch.logs import scan
from dogwatch.logs.formats import plan, shipped
from dogwatch.logs.interface import (
    AGAIN,
    EPOCH,
    EPOCH_DONE,
    EXACT,
    FROM_ZERO,
    INNER,
    NEVER,
    PART,
    PERCENT,
    RUN,
    SECONDARY,
    Format,
)
from dogwatch.logs.literal_search import TextSearch
from dogwatch.logs.reader import LINE_LIMIT, Reader
from dogwatch.model import Finished, LogEvent, Metric, Phase, Resumed, Step, Total
from tests.logs.shapes import SHAPES

OTHERS = """\
Completed 7 of 9 shards
PROGRESS: 40/80
Round 3/50 of federated learning
Sample 3/10
Image 3/10
File 3/10
Task 3/10
Question 3/10
wrote frame.png (300/1000)
[300/1000] frame written
Progress: 45.5%
45% complete
420it [00:10, 41.9it/s]
Epoch 3: |          | 5/? [00:01<?, 4.10it/s]
epoch 0 begins
{"processed": 30, "total": 90}
{"epoch": 2, "num_epochs": 4}
val loss 0.4 val acc 0.6 eval/accuracy: 0.4
lr 0.1 ppl=3 perplexity: 4 reward = -1 GRAD_NORM: 2 learning_rate: 3 acc: 1
Total: 1210, Correct: 410, Accuracy: 33.9%
[ Train | 003/100 ] loss = 0.41, acc = 0.91
[Mar 03, 10:00:00] 41 6.7481
 410: 1.2101, 1.3102 avg loss, 0.001000 rate, 3.1 seconds, 26240 images
steps: 10 loss: 1.2102 iter time (s): 0.412 samples/sec: 24.1
Step 41 | loss:1.21 lr:2e-05 tokens_per_second_per_gpu:410.1 grad_norm:1.1
prefill batch, #new-seq: 1, #queue-req: 2
training_steps: 300
train_iters ..................................... 9000
n_epochs=12
nEpochs: 12
maxIter 310
maxEpochs=12
END_EPOCH: 210
--num-epochs 3
Starting training for 100 epochs
training for 3,000 steps
running for 3000 iterations
{'max_steps': 1210}
Total steps: 31000
total epochs: 30
num_steps = 310
train_epochs: 3
training_epochs=41
Max: 310 iterations
resuming from step 400
Continuing training from global step 500
successfully loaded checkpoint from /ckpt at iteration 1200
Restored from checkpoint at step 31
Loading model from disk
Compiling the graph
Capturing CUDA graph shapes
Starting training
we start training now
training started
***** Running Evaluation *****
Evaluating the model
Validating the model
Evaluating...
INFO: Validating ...
Running validation on 40 clips
Saving checkpoint to /tmp
saved model
Saving the final model
Exporting to onnx
The server is fired up and ready to roll!
loading llamafactory.hparams
import pytorch_lightning
update 41/900 | loss 0.41
update: 410	fps: 812.1
Training completed
job finished
Done training
All items processed""".splitlines()
EVERY_SHAPE = [line for shape in SHAPES.values() for line in re.split("[\\r\\n]", shape.log) if line] + OTHERS


def marks(line: str) -> list[LogEvent]:
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
        ("Epoch [3]/[10]", Step(3, 10, "epochs", None, EPOCH)),
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
        ("  1%|   | 1.20k/3.40M [00:01<10:00, 2.50kB/s]", Step(1200, 3.4e6, "B", 2500, NEVER)),
        ("Class   Images  mAP50  mAP50-95): 40%|##   | 4/10 [00:01<00:02, 3.0it/s]", Step(4, 10, "it", 3, SECONDARY)),
        ("Downloading: 40%|##   | 4/10 [00:01<00:02, 3.0it/s]", Step(4, 10, "it", 3, NEVER)),
        ("Steps: 40%|##   | 4/10 [00:01<00:02, 3.0it/s]", Step(4, 10, "it", 3, RUN)),
        ("Epoch 7:  50%|#####  | 5/10 [00:01<00:01,  5.00it/s]", Step(7, None, "epochs", None, EPOCH)),
        ("iter 250: loss 2.1, time 20ms", Step(250, None, "iterations", None, RUN)),
        ("Step 4100: grad_norm=0.3, loss=0.1", Step(4100, None, "steps", None, RUN)),
        ("global step 410, epoch: 1, loss: 0.4", Step(410, None, "steps", None, RUN)),
        ("epoch 2, step 410, loss: 0.4", Step(410, None, "steps", None, INNER)),
        ("step 410 | loss: 0.4 | epoch: 2", Step(410, None, "steps", None, RUN)),
        ("Episode 7 Step 31 reward: -0.25", Step(31, None, "steps", None, INNER)),
        ("Episode 7 | global step 9031 | reward -0.25", Step(9031, None, "steps", None, RUN)),
        ("[ppo] Episode   7 | Step  9031 | Reward -0.25", Step(9031, None, "steps", None, RUN)),
        ("epoch id: 3, batch step: 1, loss: 12.66", Step(3, None, "epochs", None, EPOCH_DONE)),
        ("batch id: 1812, time: 0.31", Step(1812, None, "batches", None, INNER)),
        ("Progress: 25.00% (100/400)", Step(100, 400, "items", None, INNER)),
        ("ep: 0, batch: 60, loss: 8.1", Step(0, None, "epochs", None, EPOCH)),
        ("epoch 0: loss 3.1", Step(0, None, "epochs", None, FROM_ZERO)),
        ("Epoch 41: v_loss 3.1e-01", Step(41, None, "epochs", None, EPOCH_DONE)),
        ("Eval Epoch num 12 | val loss 0.3", Step(12, None, "epochs", None, EPOCH_DONE)),
        (
            ':::MLLOG {"key": "eval_stop", "metadata": {"samples_count": 4096}}',
            Step(4096, None, "samples", None, EXACT),
        ),
        ("  0%|   | 0/100 [00:00<?, ?it/s]", Step(0, 100, "it", None, INNER)),
        ("Validation:  50%|#####  | 5/10 [00:01<00:01,  5.00it/s]", Step(5, 10, "it", 5, SECONDARY)),
        ("Epochs:  30%|###    | 3/10 [1:00:00<2:20:00, 1200.0s/it]", Step(3, 10, "epochs", 1 / 1200, EPOCH_DONE)),
        ("Epoch 7:  50%|#####  | 5/10 [00:01<00:01,  5.00it/s]", Step(5, 10, "it", 5, INNER)),
        ("420it [00:10, 41.9it/s]", Step(420, None, "it", 41.9, INNER)),
        ('{"step": 3, "total_steps": 9, "loss": 0.5}', Step(3, 9, "steps", None, RUN)),
        ('{"current_steps": 3, "total_steps": 9, "epoch": 0.1}', Step(3, 9, "steps", None, RUN)),
        ('{"processed": 30, "total": 90}', Step(30, 90, "items", None, RUN)),
        ('{"epoch": 2, "num_epochs": 4}', Step(2, 4, "epochs", None, EPOCH_DONE)),
        ("{'loss': 0.41, 'learning_rate': 5e-05, 'epoch': 0.35}", Step(0.35, None, "epochs", None, PART)),
        ("{'loss': '0.41', 'epoch': '0.35'}", Step(0.35, None, "epochs", None, PART)),
    ],
)
def test_a_line_is_read_as_its_counter(line, step):
    """Each shape of line gives the step it states."""
    assert step in steps(line)


def test_steps_beside_epochs_on_one_line_are_the_epochs():
    """`Step [100/600]` behind `Epoch [3/10]` counts inside that epoch."""
    assert set(steps("Epoch [3/10], Step [100/600], Loss: 0.5")) == {
        Step(100, 600, "steps", None, INNER),
        Step(3, 10, "epochs", None, EPOCH_DONE),
    }


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
        "Step 3: load the model",
        "Step 1 - Loading",
        "Deleted step 29000.",
        "Loading the model of iteration 80000...",
        "Best epoch: 12",
        "Best model found at epoch 18, saving model",
        "warmup_steps: 100",
        "save_steps=500",
        "step_size=30",
        "batch_size=32, max_iter=300",
        "sec/iter: 3",
        "checkpoint-epoch3.pt",
        "/runs/epoch_0012/step_300.ckpt",
        "[3/41] /usr/local/cuda/bin/nvcc --generate-dependencies",
        "[1/9] Building CXX object",
        "W0106 convert_frame.py:964] [0/8] To diagnose recompilation issues",
        "W0106 lib/_dynamo/convert_frame.py:964] [0/8]    last reason: a guard",
        "colour + shape: 41.20% (103/250)",
        "[Metrics] accuracy: 88.80% (444 / 500) loss: 0.3",
        "准确率: 41.20% (103/250)",
        "  Current step  : 2000",
        "Loading safetensors checkpoint shards:  75% Completed",
        "   ━━━━━━━━━━━━━━━━━━━━ 12.3/45.6 MB 3.4 MB/s eta 0:00:10",
        "| N/A   22C    P0    67W /  700W |    0MiB / 81559MiB |  0%  Default |",
        ':::MLLOG {"key": "opt_warmup_steps", "value": 100, "metadata": {"lineno": 3}}',
        "{'step': 12000, 'event_type': 'save', 'directory': '/x'}",
        "Hyperparameters: {'batch': 512, 'base_lr': 0.03}",
        "  step: 30",
        "batch: 512",
        "INFO:root:Update[7171]: Change learning rate to 1.0e-03",
        "loaded ../weights/base_net.pth, epoch 140",
        "Namespace(net='b', ep=1, lr=0.01, gpu=0)",
        "Namespace(batch=32, epoch=5, lr=0.01)",
        "    score = self.evaluate(epoch=0)",
        "Step 3: Setting up the world (drag 1.0)...",
        "Answers: " + "so it went " * 100 + "(120/400)",
        "wandb:          epoch 149",
        "wandb: Syncing run [linear][batch:512][trained epoch:5]",
        "  device=cuda  steps=100  warmup=10  batch=8",
        "steps 300, lr 0.01",
        "   Held=775 | Apart=38 | step=5 | trees=110 | most=1500",
        "-    batch_idx = 0",
        "Job information (3/3) - what the GPUs did",
        "embedding batch: 100 items (4.5 s)",
        "模型: epoch20",
        "Load pretrained model at Epoch: 30",
    ],
)
def test_what_is_no_counter_is_not_read_as_one(line):
    """Dates, paths, other scripts' digits, absurd numbers and hostile JSON give no step, and no error; said once, a
    name with a number is a setting."""
    assert [step for step in steps(line) if step.rank != AGAIN] == []
    assert Reader().feed(f"{line}\n".encode()).step is None


@pytest.mark.parametrize(
    ("line", "metrics"),
    [
        ("loss: 0.345", {"loss": 0.345}),
        ("train_loss=1e-3 lr = 5e-05", {"loss": 0.001, "learning_rate": 5e-05}),
        ("iter 3 loss 0.5 val loss 0.7", {"loss": 0.5, "val_loss": 0.7}),
        ("val_loss: 0.7, acc: 91.5", {"val_loss": 0.7, "accuracy": 91.5}),
        ("grad_norm: 3 ppl=12.5 reward: -1.25", {"grad_norm": 3.0, "perplexity": 12.5, "reward": -1.25}),
        ("gloss: 3 blossom 4 weight-loss/5", {}),
        ("kl_loss: 0.3 rec_loss=1.2 total_loss: 1.5", {"loss": 1.5}),
        ("epoch 4 g_loss: 0.7 d_loss: 1.1", {"loss": 0.7}),
        ("v_loss 2.1e+00  loss 3.0e-01", {"loss": 0.3}),
        ("timing/reward: 0.0001 actor/kl_loss=0.2", {}),
        ("Epoch: [4] [30/90]  lr: 0.02", {"learning_rate": 0.02}),
        ("learning_rate=3e-05,", {}),
        ("max_grad_norm: 1.0 base_lr: 0.1 step 3", {}),
        ("train.py --learning_rate 1e-4 --step 20", {}),
        ("TrainingArguments(learning_rate=3e-05, reward=1, step=4)", {}),
        ("{'eval_loss': 0.3, 'eval_f1': 0.8, 'epoch': 1.0}", {"eval_loss": 0.3, "eval_f1": 0.8}),
        ('{"step": 1, "loss": 0.5, "note": "x", "ok": true}', {"loss": 0.5}),
    ],
)
def test_named_numbers_are_metrics(line, metrics):
    """The usual names before a number are metrics; parts of other words, settings and arguments are not, and the whole
    goes before its parts."""
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


@pytest.mark.parametrize(
    ("line", "total"),
    [
        ("Namespace(batch_size=8, epochs=40, lr=0.1)", Total(40, "epochs")),
        ("['main.py', '--epochs', '14', '--seed', '1']", Total(14, "epochs")),
        ("python train.py --max-steps 9000 --lr 1e-4", Total(9000, "steps")),
        ("  train_iters ..................................... 5000", Total(5000, "steps")),
        ('  "max_steps": 1200,', Total(1200, "steps")),
        ("num_train_epochs=3.0,", Total(3, "epochs")),
        ("  Total optimization steps = 12,500", Total(12500, "steps")),
        ("  Num Epochs = 3", Total(3, "epochs")),
        ("SOLVER.MAX_ITER: 90000", Total(90000, "steps")),
        ("runner = dict(type='EpochBasedRunner', max_epochs=12)", Total(12, "epochs")),
        ("max_update=1e5", Total(1e5, "steps")),
        ("num_iterations : int = 4200", Total(4200, "steps")),
        ("`Trainer.fit` stopped: `max_epochs=500` reached.", Total(500, "epochs")),
        ("[config] after-epochs: 8", Total(8, "epochs")),
        ("Starting training for 300 epochs...", Total(300, "epochs")),
        ("workflow: [('train', 1)], max: 12 epochs", Total(12, "epochs")),
        ("total_epochs: 80", Total(80, "epochs")),
        ("nepochs: 25", Total(25, "epochs")),
        ("  rounds: 400", Total(400, "rounds")),
        ("maxIter 1500", Total(1500, "steps")),
        ("python -m fit --n_epoch=70 --lr=3e-4", Total(70, "epochs")),
        ("Namespace(batch=32, epoch=45, lr=0.1)", Total(45, "epochs")),
    ],
)
def test_a_total_is_read_where_a_configuration_states_it(line, total):
    """Argument lists, YAML, JSON, banners and sentences give totals, each of its own unit."""
    assert {mark for mark in marks(line) if isinstance(mark, Total)} == {total}


@pytest.mark.parametrize(
    "line",
    [
        "max_steps=-1",
        "after-epochs: 0",
        "warmup_epochs=5",
        "early_stopping_rounds=50",
        "--lr-warmup-epochs 5",
        "eval_steps: 500",
        "num_epochs_per_decay=3",
        "max_steps_per_epoch=100",
        "for epoch in range(num_epochs):",
        "epochs_trained: 3",
        "decay over 5000 steps",
        "Warmup steps: 200",
        "Gradient accumulation steps = 4",
        "steps: 300 loss: 0.4",
    ],
)
def test_what_is_no_total_is_not_read_as_one(line):
    """Switched-off limits, warm-ups and intervals are not how much there is to do."""
    assert [mark for mark in marks(line) if isinstance(mark, Total)] == []


@pytest.mark.parametrize(
    ("line", "resumed"),
    [
        ("Resuming training from step 4100", Resumed(4100, "steps")),
        ("resumed epoch 6, iter 22500", Resumed(6, "epochs")),
        ("  Continuing training from global step 500", Resumed(500, "steps")),
        ("  successfully loaded checkpoint from /x/y [ t 0, p 0 ] at iteration 1200", Resumed(1200, "iterations")),
        ("=> loaded checkpoint 'best.pth.tar' (epoch 12)", Resumed(12, "epochs")),
    ],
)
def test_a_resume_says_where_the_run_goes_on(line, resumed):
    """The words of several trainers for going on from a checkpoint."""
    assert resumed in marks(line)


def test_a_line_may_name_its_phase():
    """A validation bar says that the job validates."""
    assert Phase("validating") in marks("Evaluating: 10%|#  | 1/10 [00:01<00:09, 1.00it/s]")


@pytest.mark.parametrize("line", ["INFO: Validating...", "Evaluating..", "Running validation..."])
def test_a_validation_is_announced_also_without_what_is_validated(line):
    """Words alone, or with dots behind them; inside a name they announce nothing."""
    assert marks(line) == [Phase("validating")]
    assert Phase("validating") not in marks("opened tools/validating.py and revalidating..")


@pytest.mark.parametrize("fmt", shipped(), ids=lambda fmt: fmt.kind)
def test_needles_are_lower_case(fmt: Format):
    """The reader looks for needles in lower-cased text, so an upper-case one would never be found."""
    assert fmt.needles
    assert all(needle == needle.lower() for needle in fmt.needles)


@pytest.mark.parametrize("fmt", shipped(), ids=lambda fmt: fmt.kind)
def test_whatever_a_format_reads_it_would_have_been_asked_for(fmt: Format):
    """Needles, hint and sift are never narrower than `read`; and each format reads one of the shapes."""
    readable = [line for line in EVERY_SHAPE if fmt.read(line)]
    sign = plan().signatures[shipped().index(fmt)]
    assert readable
    for line in readable:
        low = line.encode().lower() + b"\n"
        assert any(needle in b"\n" + low for needle in fmt.needles), line
        assert not fmt.hint or re.search(fmt.hint, low), line
        assert fmt.sift is None or list(fmt.sift(low)), line
        assert scan.first(sign, low, 0, len(low)) is not None, line


FOND = ["9", "1,234", " ", "\t", "[", "[1/", "%|", "%| 1/1 [", "{'", "{'a': 1, ", '{"a":', "1.", "a", "/s ", "é", "━"]
FOND += ["epoch 1/", "step : [ 1 of ", "loss: ", "loss       ", "1it [0:0, ", "training ", "\x1b[0", "a: 1 "]
FOND += ["step:1 - a/", "max_steps", "[>>>> ]", ":::MLLOG {", "resumed step", "% 1/1 [0", "epochs 1", "--epochs=1 "]


def hostile(fmt: Format, size: int) -> list[str]:
    """Lines of what a format's patterns are most fond of, over and over."""
    needles = [needle.decode() for needle in fmt.needles[:6]]
    units = [*needles, *(needle + " " for needle in needles), *(needle + " 1/" for needle in needles), *FOND]
    return [(unit * (size // len(unit) + 1))[:size] for unit in units]


def work(fmt: Format, line: str) -> float:
    """The CPU seconds of all that a format does with a line."""
    low = line.lower().encode()
    start = time.process_time()
    fmt.read(line)
    if fmt.sift is not None:
        list(fmt.sift(low))
    if fmt.hint:
        sum(1 for _ in re.finditer(fmt.hint, low))
    return time.process_time() - start


@pytest.mark.parametrize("fmt", shipped(), ids=lambda fmt: fmt.kind)
def test_malice_costs_a_format_in_proportion_to_its_length(fmt: Format):
    """Eight times the text is eight times the work; were a pattern not linear, it would be sixty-four times."""
    small = max(min(work(fmt, line) for _ in range(3)) for line in hostile(fmt, LINE_LIMIT // 8))
    large = max(min(work(fmt, line) for _ in range(2)) for line in hostile(fmt, LINE_LIMIT))
    assert large <= max(32 * small, 0.02)


@pytest.mark.timeout(240)
def test_a_megabyte_of_malice_is_read_through():
    """A line without end in any format's favourite words is read by all of them together, and the next line too."""
    for line in {line for fmt in shipped() for line in hostile(fmt, 1_000_000)}:
        step = Reader().feed(line.encode() + b"\nProcessed 3/7 widgets\n").step
        assert step is not None
        assert step.total == 7


@pytest.mark.parametrize("line", EVERY_SHAPE)
def test_no_format_is_passed_over_by_the_shape_of_a_piece(line: str) -> None:
    """What is known of a shape without its numbers names every format whose literal is in the line."""
    for text in (line, line.replace("3", "7"), f"{line}\n{line}"):
        low = text.lower().encode()
        found = plan().present(TextSearch(text.encode()), 0, len(text.encode()))
        assert {n for n, fmt in enumerate(shipped()) if any(needle in low for needle in fmt.needles)} <= set(found)
