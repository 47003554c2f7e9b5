"""How often a job saves, evaluates and logs, as configurations say it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.logs.formats.intervals import read
from dogwatch.logs.reader import Reader
from dogwatch.model import Interval

STATED: dict[str, list[tuple[str, float, str]]] = {
    "save_steps=750,": [("save", 750, "steps")],
    "eval_steps=None,": [("evaluate", 0, "steps")],
    "evaluation_strategy=IntervalStrategy.EPOCH,": [("evaluate", 1, "epochs")],
    "'save_strategy': 'steps', 'save_steps': 60, 'save_total_limit': 3": [("save", 60, "steps")],
    "  save_interval ................................... 350": [("save", 350, "")],
    "--save-interval 350 --eval-interval 700 --log-interval 7 --eval-iters 12": [
        ("save", 350, ""),
        ("evaluate", 700, ""),
        ("log", 7, ""),
    ],
    "Overriding: eval_interval = 275": [("evaluate", 275, "")],
    "  val_check_interval: 0.2": [("evaluate", 0.2, "epochs")],
    "  check_val_every_n_epoch: 3": [("evaluate", 3, "epochs")],
    "  every_n_train_steps: 1200": [("save", 1200, "steps")],
    "log_every_n_steps: 35": [("log", 35, "steps")],
    "save_interval_updates=2200, validate_interval=2": [("save", 2200, "steps"), ("evaluate", 2, "")],
    "  CHECKPOINT_PERIOD: 6000": [("save", 6000, "")],
    "    checkpoint=dict(interval=2, type='CheckpointHook'),": [("save", 2, "")],
    "        interval=4, max_keep_ckpts=3, type='CheckpointHook'),": [("save", 4, "")],
    "evaluation = dict(metric='bbox', interval=3)": [("evaluate", 3, "")],
    "trainer.save_freq=15 trainer.test_freq=-1": [("save", 15, ""), ("evaluate", 0, "")],
    "saves_per_epoch: 2": [("save", 0.5, "epochs")],
    "Config param checkpoint_period: 12000": [("save", 12000, "")],
    "steps_per_print: 45": [("log", 45, "steps")],
    "  Num batches per epoch = 321": [("epoch", 321, "steps")],
    "num_update_steps_per_epoch = 1,321": [("epoch", 1321, "steps")],
    '"--logging_steps", "90", "--save_steps", "450"': [("log", 90, "steps"), ("save", 450, "steps")],
    "| save_every | 5 |": [("save", 5, "")],
    "checkpoint interval: 850": [("save", 850, "")],
}


@pytest.mark.parametrize("line", STATED)
def test_a_setting_says_how_often_something_happens(line: str) -> None:
    """In every style in which programs print what they were told."""
    assert read(line) == [Interval(what, float(every), unit) for what, every, unit in STATED[line]]


@pytest.mark.parametrize(
    "line",
    [
        "  eval_iters ...................................... 12",
        "'activation_checkpoint_interval': 1",
        "'_keep_checkpoint_every_n_hours': 9000",
        "ckpt_save_time_interval 300",
        "max_steps_per_epoch: 40",
        "{'eval_runtime': 8.1, 'eval_steps_per_second': 3.7}",
        '{"event_type": "INTERVAL_START", "key": "epoch_start", "value": 3}',
        "update_freq=[2]",
        "warmup_strategy='linear'",
        "save_interval=2024-05-06",
        "every one of the 12 evaluations",
    ],
)
def test_other_settings_are_no_intervals(line: str) -> None:
    """How long an evaluation is, what is kept, hours, and words that only look alike."""
    assert read(line) == []


def test_intervals_stay_known_while_the_log_goes_on_and_in_another_reader() -> None:
    """A configuration is said once; what it said is kept, and a later one replaces it."""
    reader = Reader()
    reader.feed(b"save_steps=400,\neval_steps=150,\n")
    reader.feed(b"".join(b"step %d/9000 loss 0.5\n" % step for step in range(4000)))
    other = Reader.restore(json.loads(json.dumps(reader.state())))
    told = other.feed(b"step 4001/9000 loss 0.5\n").intervals
    assert set(told) == {Interval("save", 400.0, "steps"), Interval("evaluate", 150.0, "steps")}
    assert Interval("save", 80.0, "steps") in other.feed(b"save_steps=80,\n").intervals
    assert Interval("save", 400.0, "steps") not in other.feed(b"").intervals


def test_an_epoch_is_its_part_of_all_steps() -> None:
    """Where the totals of both are stated, and agree."""
    assert Reader().feed(b"Num Epochs = 4\nTotal optimization steps = 5,200\n").intervals == (
        Interval("epoch", 1300.0, "steps"),
    )
    assert Reader().feed(b"Num Epochs = 4\nTotal optimization steps = 5,201\n").intervals == ()


@given(st.text(max_size=300), st.sampled_from(list(STATED)))
def test_any_text_can_be_read(text: str, line: str) -> None:
    """Whatever stands round a setting."""
    for mark in read(text + line + text):
        assert isinstance(mark, Interval)
        assert 0 <= mark.every < 1e12
