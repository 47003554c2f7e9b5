"""The reader of logs, in pieces of any size."""

from __future__ import annotations

import json

from dogwatch.logs import native
from dogwatch.logs.reader import Reader
from dogwatch.model import Step
from tests.fuzz.dice import Dice

LONGEST = 1 << 13
REPEATS = (1,) * 7 + (40,)  # as often a text is long enough to be thinned


def target(data: bytes) -> None:
    """Never raises; says the same however the log is cut and whether or not the compiled part is used; its state is
    JSON that another reader goes on from; what it holds is bounded."""
    dice = Dice(data)
    times, pieces = dice.pick(REPEATS), dice.pieces()
    pieces = [piece * times for piece in pieces]
    told = [_read(pieces, compiled=True), _read(pieces, compiled=False), _read([b"".join(pieces)], compiled=True)]
    assert told[0] == told[1], "the compiled part changes what is said"
    assert told[0][0] == told[2][0], "the cut changes what is said"


def _read(pieces: list[bytes], compiled: bool) -> tuple[object, ...]:
    native.prefer(compiled)
    try:
        reader = Reader()
        for piece in pieces:
            reader.feed(piece)
        reading = reader.end_line()
    finally:
        native.prefer(True)
    state = json.dumps(reader.state())
    assert len(state) < 1 << 20
    again = Reader.restore(json.loads(state)).feed(b"")
    assert again.step == reading.step
    assert reading.step is None or isinstance(reading.step, Step)
    return reading.step, reading.phase, reading.metrics


def seeds() -> list[bytes]:
    logs = [
        b"step 3/10 loss 2.1\nstep 4/10 loss 2.0\n",
        b"12%|xx| 3/25 [00:01<00:09, 2.4it/s]\r16%|xx| 4/25 [00:02<00:08, 2.4it/s]\r",
        b"{'loss': 2.5, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.5}\n",
        b'{"step": 3, "total": 10, "loss": 0.5}\n',
        b" iteration        3/     100 | elapsed time per iteration (ms): 12.5 | lm loss: 2.5E+00 |\n",
        b"Epoch 2/5 [ 10/100] loss=1.5 eta 0:03:04\nEpoch 2: 100%|##| 10/10 [00:01<00:00]\nvalidating\n",
        b"[rank1]: \x1b[31mstep=3 of 10\x1b[0m\n\xff\xfes\x00t\x00e\x00p\x00",
        b"Traceback (most recent call last):\nKeyError: 'x'\nTraining completed. saved to /x\n",
        b':::MLLOG {"key": "eval_accuracy", "value": 0.5, "metadata": {"epoch_num": 3}}\n',
    ]
    return [bytes([times, 3, 8, 30, 90]) + log for log in logs for times in (0, 7)]
