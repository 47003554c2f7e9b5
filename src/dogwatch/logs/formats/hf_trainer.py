"""Hugging Face Trainer: a Python dict per report, `{'loss': 0.34, 'learning_rate': 5e-05, 'epoch': 0.35}`."""

from __future__ import annotations

import re
from itertools import islice

from dogwatch.logs.interface import PART, RUN, TRAINER, Format, FormatPlugin
from dogwatch.model import Finished, LogEvent, Metric, Phase, Step

_PAIR = re.compile(
    r"'([A-Za-z_][\w/.-]{0,63})': '?([-+]?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?|nan|-?inf)'?(?=[,}])",
    re.ASCII,
)
_STEPS = ("global_step", "step", "iteration")
_MOST = 64


def read(line: str) -> list[LogEvent]:
    """The last dict of the line, if it reports a loss, a step or an epoch."""
    opening = line.rfind("{'")
    found = _PAIR.finditer(line, opening) if opening >= 0 else iter(())
    pairs = {pair[1]: pair[2] for pair in islice(found, _MOST)}
    learns = any("loss" in name or "reward" in name for name in pairs)
    count = next((name for name in _STEPS if name in pairs), None) if learns else None
    if count is None and not ("epoch" in pairs or "loss" in pairs or "eval_loss" in pairs):
        return []
    marks: list[LogEvent] = [
        Metric(name, float(value)) for name, value in pairs.items() if name not in ("epoch", count)
    ]
    epoch, step = float(pairs.get("epoch", "nan")), float(pairs.get(count or "", "nan"))
    if 0 <= epoch < 1e9:
        marks.append(Step(epoch, None, "epochs", None, PART))
    if 0 <= step < 1e15:
        marks.append(Step(step, None, "steps", None, RUN))
    if "train_runtime" in pairs:
        marks.append(Finished(line[opening : opening + 200]))
    elif "loss" in pairs or "eval_loss" in pairs:
        marks.append(Phase("training" if "loss" in pairs else "validating"))
    return marks


rows = (
    Format(
        kind="hf_trainer",
        needles=(b"epoch': ", b"loss': ", b"step': ", b"iteration': "),
        read=read,
        seeks_step=True,
        hint=rb"'(?:epoch|loss|eval_loss|step|global_step|iteration)': '?[-+\d.ni]",
        family="hf_trainer",
        weight=TRAINER,
    ),
)

PLUGIN = FormatPlugin("hf_trainer", rows)
