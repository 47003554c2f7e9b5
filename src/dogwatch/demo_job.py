"""The demo's worker: a real, small training loop that stands alone, as a stranger's program would.

Logistic regression by stochastic gradient descent on points drawn from the worker's own seed. It logs,
writes predictions and saves checkpoints like the jobs Dogwatch is for, and knows nothing of Dogwatch
but the worker number it is given.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import sys
import time
from typing import Any, TextIO

FEATURES = 8
BATCH = 20
HELD_OUT = 200
LEARNING_RATE = 0.01
CHECKPOINTS = 5
STOPPED = 128 + signal.SIGTERM

Point = tuple[list[float], Any]


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    # Blocked, so that the only place where it is noticed is `pause`, between two batches.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    os.makedirs(os.path.join(options.out, "checkpoints"), exist_ok=True)
    path = os.path.join(options.out, f"output_worker_{options.worker}.jsonl")
    with open(path, "a", encoding="utf-8") as output:
        return train(options, output)


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="directory for outputs and checkpoints")
    parser.add_argument("--seconds", type=float, default=25.0, help="how long the run takes, about")
    parser.add_argument("--items", type=int, default=2000, help="points to train on")
    parser.add_argument("--fail-at", type=int, help="the item whose label is damaged")
    parser.add_argument("--fail-worker", type=int, default=2, help="the worker that meets it")
    options = parser.parse_args(argv)
    if options.items < 1 or options.seconds < 0:
        parser.error("--items must be at least 1 and --seconds must not be negative")
    options.worker = int(os.environ.get("DOGWATCH_WORKER", "0"))
    options.workers = int(os.environ.get("DOGWATCH_WORKERS", "1"))
    return options


def train(options: argparse.Namespace, output: TextIO) -> int:
    """One pass over the points, in batches, each in its own slot of time."""
    points, held_out = draw(options)
    weights = [0.0] * (FEATURES + 1)
    say(f"Worker {options.worker} of {options.workers}: training on {options.items} items")
    began = time.monotonic()
    done = 0
    while done < options.items:
        batch = points[done : done + BATCH]
        for features, label in batch:
            learn(weights, features, float(label))
        done += len(batch)
        loss, accuracy = judge(weights, held_out)
        record = {"items": done, "prediction": predict(weights, held_out[done % HELD_OUT][0])}
        output.write(json.dumps({**record, "loss": loss, "accuracy": accuracy}) + "\n")
        output.flush()
        stop = pause(began + options.seconds * done / options.items - time.monotonic())
        rate = done / max(time.monotonic() - began, 1e-9)
        say(f"Processed {done}/{options.items} items ({rate:.1f} items/s) loss: {loss:.4f}")
        if stop or due(done, options.items):
            save(options, done, weights, loss)
        if stop:
            say("Stopped by SIGTERM", "WARNING")
            return STOPPED
    say(f"Training completed: {done} items, loss: {loss:.4f}, accuracy: {accuracy:.4f}")
    return 0


def draw(options: argparse.Namespace) -> tuple[list[Point], list[Point]]:
    """Points on either side of one plane, a tenth of them mislabelled, so that learning is real work."""
    noise = random.Random(options.worker)
    plane = [noise.gauss(0, 1) for _ in range(FEATURES)]

    def point() -> Point:
        features = [noise.gauss(0, 1) for _ in range(FEATURES)]
        above = sum(w * x for w, x in zip(plane, features, strict=True)) > 0
        return features, int(above != (noise.random() < 0.1))

    points = [point() for _ in range(options.items)]
    held_out = [point() for _ in range(HELD_OUT)]
    if options.fail_at is not None and options.worker == options.fail_worker:
        position = min(max(options.fail_at, 1), options.items) - 1
        points[position] = (points[position][0], "damaged label")
    return points, held_out


def predict(weights: list[float], features: list[float]) -> float:
    total = weights[-1] + sum(w * x for w, x in zip(weights, features, strict=False))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def learn(weights: list[float], features: list[float], label: float) -> None:
    """One step down the gradient of the cross-entropy."""
    error = predict(weights, features) - label
    for index, x in enumerate([*features, 1.0]):
        weights[index] -= LEARNING_RATE * error * x


def judge(weights: list[float], held_out: list[Point]) -> tuple[float, float]:
    """Cross-entropy and accuracy on points that were never trained on."""
    loss, right = 0.0, 0
    for features, label in held_out:
        chance = predict(weights, features)
        loss -= math.log(chance if label else 1 - chance)
        right += (chance > 0.5) == bool(label)
    return loss / len(held_out), right / len(held_out)


def due(done: int, items: int) -> bool:
    """Whether this batch crossed into another fifth of the run."""
    before = max(0, done - BATCH)
    return done == items or done * CHECKPOINTS // items > before * CHECKPOINTS // items


def save(options: argparse.Namespace, step: int, weights: list[float], loss: float) -> None:
    """Whole or not at all: a reader never finds half a checkpoint under its final name."""
    name = f"checkpoint_worker_{options.worker}_step_{step}.json"
    path = os.path.join(options.out, "checkpoints", name)
    # A leading dot keeps the unfinished file out of a pattern such as checkpoint_*.
    unfinished = os.path.join(options.out, "checkpoints", f".{name}.tmp")
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump({"step": step, "weights": weights, "loss": loss}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    say(f"Saved checkpoint {name}")


def pause(seconds: float) -> bool:
    """Sleep the rest of a slot; True when SIGTERM asked for an end meanwhile."""
    return signal.sigtimedwait({signal.SIGTERM}, max(0.0, seconds)) is not None


def say(text: str, level: str = "INFO") -> None:
    print(time.strftime("%Y-%m-%d %H:%M:%S"), level, text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
