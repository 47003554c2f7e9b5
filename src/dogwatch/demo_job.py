"""The demo's training script: a small neural network in plain Python that learns a surface in two dimensions.

It plays a stranger's program: it logs, appends metrics and saves checkpoints like the jobs that Dogwatch is for, and
imports nothing of Dogwatch. All its time is spent computing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import struct
import sys
import time
from typing import TextIO

HIDDEN = 24
BATCH = 256
HELD_OUT = 100
CHECKPOINTS = 5
LOGS = 100
STOPPED = 128 + signal.SIGTERM

Point = tuple[float, float, float]


class Network:
    """Two inputs, one hidden layer of tanh units, one output."""

    def __init__(self, noise: random.Random) -> None:
        self.hidden = [[noise.gauss(0, 2) for _ in range(3)] for _ in range(HIDDEN)]
        self.out = [noise.gauss(0, 0.3) for _ in range(HIDDEN)]

    def learn(self, x: float, y: float, wanted: float, rate: float) -> float:
        """One step of gradient descent; returns the squared error before it."""
        units = [math.tanh(a * x + b * y + c) for a, b, c in self.hidden]
        error = sum(map(float.__mul__, self.out, units)) - wanted
        for index, unit in enumerate(units):
            back = rate * error * self.out[index] * (1 - unit * unit)
            row = self.hidden[index]
            row[0] -= back * x
            row[1] -= back * y
            row[2] -= back
            self.out[index] -= rate * error * unit
        return error * error

    def loss(self, points: list[Point]) -> float:
        """The mean squared error on points that it did not learn from."""
        return sum(self.learn(x, y, wanted, 0.0) for x, y, wanted in points) / len(points)


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    # Blocked: it is looked for between two batches, so that the checkpoint is whole.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    os.makedirs(os.path.join(options.out, "checkpoints"), exist_ok=True)
    path = os.path.join(options.out, f"metrics_{options.worker}.jsonl")
    with open(path, "a", encoding="utf-8") as metrics:
        return train(options, metrics)


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=".", help="directory for metrics and checkpoints")
    parser.add_argument("--steps", type=int, help="how many batches to train on (default: what fits into --seconds)")
    parser.add_argument("--seconds", type=float, default=25.0, help="about how long it may take on this machine")
    parser.add_argument("--lr", type=float, default=0.01, help="the learning rate after the warm-up")
    options = parser.parse_args(argv)
    if (options.steps is not None and options.steps < 1) or options.seconds <= 0:
        parser.error("--steps must be at least 1 and --seconds more than 0")
    options.worker = int(os.environ.get("DOGWATCH_WORKER", "0"))
    options.workers = int(os.environ.get("DOGWATCH_WORKERS", "1"))
    return options


def train(options: argparse.Namespace, metrics: TextIO) -> int:
    """Learn batch by batch; the learning rate rises over the first half."""
    noise = random.Random(options.worker)
    network, held_out = Network(noise), draw(noise, HELD_OUT)
    steps = options.steps or steps_in(options.seconds)
    say(f"worker {options.worker} of {options.workers}: {steps} steps of {BATCH} points, learning rate {options.lr}")
    for step in range(1, steps + 1):
        rate = options.lr * min(1.0, 2 * step / steps) ** 2
        for x, y, wanted in draw(noise, BATCH):
            network.learn(x, y, wanted, rate)
        stop = signal.sigtimedwait({signal.SIGTERM}, 0) is not None
        if stop or crosses(step, steps, LOGS):
            loss = network.loss(held_out)
            say(f"step {step}/{steps} loss: {loss:.4f} lr: {rate:.4f}")
            metrics.write(json.dumps({"step": step, "loss": loss, "lr": rate}) + "\n")
            metrics.flush()
            if not math.isfinite(loss):
                raise FloatingPointError(f"loss is {loss} at step {step}, learning rate {rate:.2f}")
        if stop or crosses(step, steps, CHECKPOINTS):
            save(options, step, network)
        if stop:
            say("stopped by SIGTERM", "WARNING")
            return STOPPED
    say(f"Training completed: {steps} steps, loss: {loss:.4f}")
    return 0


def draw(noise: random.Random, count: int) -> list[Point]:
    """Points of the surface that is to be learnt."""
    places = [(noise.uniform(-2, 2), noise.uniform(-2, 2)) for _ in range(count)]
    return [(x, y, math.sin(4 * x) * math.cos(3 * y)) for x, y in places]


def steps_in(seconds: float) -> int:
    """How many steps this machine does in that time, measured for a moment."""
    noise = random.Random(0)
    network, began, done = Network(noise), time.monotonic(), 0
    while time.monotonic() - began < min(1.0, seconds / 10):
        for x, y, wanted in draw(noise, BATCH):
            network.learn(x, y, wanted, 0.01)
        done += 1
    pace = done / (time.monotonic() - began)
    return max(LOGS, round(pace * seconds) // 100 * 100)


def crosses(step: int, steps: int, parts: int) -> bool:
    """Whether this step finishes one more part of the run."""
    return step * parts // steps > (step - 1) * parts // steps


def save(options: argparse.Namespace, step: int, network: Network) -> None:
    """A safetensors file, whole or not at all: nobody finds half of one under its final name."""
    name = f"worker{options.worker}_step_{step}.safetensors"
    path = os.path.join(options.out, "checkpoints", name)
    tensors = {
        "hidden": ([HIDDEN, 3], [weight for row in network.hidden for weight in row]),
        "out": ([HIDDEN], network.out),
    }
    header: dict[str, object] = {"__metadata__": {"step": str(step)}}
    body = b""
    for key, (shape, values) in tensors.items():
        packed = struct.pack(f"<{len(values)}d", *values)
        header[key] = {"dtype": "F64", "shape": shape, "data_offsets": [len(body), len(body) + len(packed)]}
        body += packed
    head = json.dumps(header).encode()
    # A leading dot keeps the unfinished file out of a pattern such as *.safetensors.
    unfinished = os.path.join(options.out, "checkpoints", f".{name}.tmp")
    with open(unfinished, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + body)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    say(f"saved checkpoint {name}")


def say(text: str, level: str = "INFO") -> None:
    print(time.strftime("%Y-%m-%d %H:%M:%S"), level, text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
