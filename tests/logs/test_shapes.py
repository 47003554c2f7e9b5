"""What whole logs of well-known programs say, and that it does not matter in which pieces they come."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.logs.reader import Reader, Reading
from dogwatch.model import Step
from tests.logs.shapes import SHAPES, Shape

EACH = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
KNOWN_BY_ITS_BEGINNING = ("build_nanogpt",)
SOME = st.lists(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=4)


def shown(step: Step | None) -> tuple[float | None, float | None, str | None]:
    """The number that an interface shows, of how many, and the unit."""
    if step is None:
        return None, None, None
    return step.done if step.printed is None else step.printed, step.total, step.unit


def said(reading: Reading) -> tuple[object, ...]:
    """All that must not depend on where a log was cut."""
    return reading.step, reading.phase, reading.finished, reading.format, reading.at


@EACH
def test_a_log_is_recognised_and_its_progress_read(shape: Shape) -> None:
    """The format by its name, and the number the log shows, of how many."""
    reading = Reader().feed(shape.log.encode())
    assert shown(reading.step) == (shape.step, shape.total, shape.unit)
    assert reading.format == shape.format


@EACH
def test_a_log_says_the_same_in_any_pieces(shape: Shape) -> None:
    """Every prefix read by one reader, or the log split there for another: the same answer."""
    log = shape.log.encode()
    whole = said(Reader().feed(log))
    bytewise = Reader()
    for place in range(len(log)):
        last = bytewise.feed(log[place : place + 1])
    assert said(last) == whole
    for place in range(0, len(log), max(1, len(log) // 16)):
        split = Reader()
        split.feed(log[:place])
        assert said(split.feed(log[place:])) == whole


@EACH
def test_a_log_is_read_on_from_a_saved_state(shape: Shape) -> None:
    """A reader restored half way says the same at the end."""
    log = shape.log.encode()
    first = Reader()
    first.feed(log[: len(log) // 2])
    second = Reader.restore(json.loads(json.dumps(first.state(), allow_nan=False)))
    assert said(second.feed(log[len(log) // 2 :])) == said(Reader().feed(log))


@settings(max_examples=120)
@given(SOME, st.integers(0, 4000), st.integers(0, 4000))
def test_several_programs_in_one_log_say_the_same_in_any_pieces(names: list[str], one: int, two: int) -> None:
    """Logs that were appended to one another do not depend on their pieces either."""
    log = "".join(SHAPES[name].log for name in names).encode()
    places = sorted((min(one, len(log)), min(two, len(log))))
    split = Reader()
    for piece in (log[: places[0]], log[places[0] : places[1]], log[places[1] :]):
        last = split.feed(piece)
    assert said(last) == said(Reader().feed(log))


@pytest.mark.parametrize("name", [name for name in SHAPES if SHAPES[name].format not in KNOWN_BY_ITS_BEGINNING])
def test_prefixes_of_ray_and_of_launchers_do_not_hide_a_record(name: str) -> None:
    """`(main_task pid=7) …`, `[rank0]: …` and `0: …` before every line change nothing that is shown."""
    shape = SHAPES[name]
    for prefix in ("(main_task pid=40121) ", "[rank0]: ", "0: "):
        lines = shape.log.replace("\r", "\n").split("\n")
        log = "\n".join(prefix + line if line else line for line in lines)
        assert shown(Reader().feed(log.encode() + b"\n").step) == (shape.step, shape.total, shape.unit), prefix


def test_servers_say_what_they_serve() -> None:
    """Requests under way and tokens a second are metrics of a phase that has no end."""
    vllm = Reader().feed(SHAPES["vllm"].log.encode())
    assert vllm.phase == "serving"
    assert vllm.metrics["requests_running"] == 41
    assert vllm.metrics["requests_waiting"] == 3
    assert vllm.metrics["generation_tokens_per_second"] == 1204.8
    sglang = Reader().feed(SHAPES["sglang"].log.encode())
    assert (sglang.phase, sglang.metrics["generation_tokens_per_second"]) == ("serving", 912.41)


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("megatron", 1000 / 2140.3),
        ("nanogpt", 1000 / 181.22),
        ("maxtext", 1 / 3.102),
        ("tqdm in seconds a step", 1 / 12.01),
        ("tqdm with large units", 2000.0),
        ("mmcv bar", 3.4),
        ("mmdetection", 1 / 0.412 / 1800),
        ("mmengine by iterations", 1 / 0.712),
        ("keras 3", 1000 / 6 / 469),
    ],
)
def test_a_rate_is_in_units_of_the_counter_that_is_shown(name: str, rate: float) -> None:
    """Seconds and milliseconds a step become steps, or epochs, a second."""
    step = Reader().feed(SHAPES[name].log.encode()).step
    assert step is not None
    assert step.rate == pytest.approx(rate)


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("megatron", {"learning rate": 2.9e-05, "lm loss": 6.412, "grad norm": 1.204}),
        ("detectron2", {"total_loss": 1.102, "loss_cls": 0.31, "lr": 0.02}),
        ("keras", {"loss": 1.2012, "accuracy": 0.571}),
        ("hf trainer", {"loss": 1.2031, "grad_norm": 0.81, "learning_rate": 1.6e-05}),
        ("llamafactory", {"loss": 0.8713, "lr": 4.2e-05}),
        ("mmdetection", {"loss_cls": 0.41, "acc": 91.2, "loss": 0.9912}),
        ("verl under ray", {"actor/pg_loss": 0.012, "critic/rewards/mean": 0.41}),
        ("marian", {"loss": 0.31021}),
    ],
)
def test_metrics_keep_the_names_they_are_printed_by(name: str, metrics: dict[str, float]) -> None:
    """Every named number of a trainer's record is there."""
    assert Reader().feed(SHAPES[name].log.encode()).metrics.items() >= metrics.items()
