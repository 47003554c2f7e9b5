"""A mix of logs as a group's jobs leave them: many formats, each with its chatter, its pauses and now and then
its end in a traceback. The same size gives the same bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

JOB = 16 << 20  # bytes of one log, about
SHARES = (
    "tqdm bars with \\r 20 %, Megatron 10, mmengine 10, Hugging Face dicts among bars 10, Lightning 10, JSONL 10, "
    "logging chatter 10, coloured Ray workers 5, printed steps 5, a serving engine 5, NCCL's own words 5"
)
NOUNS = (
    *("amber", "anchor", "apex", "atlas", "bamboo", "basin", "beacon", "birch", "breeze", "canyon", "cedar", "cobalt"),
    *("comet", "coral", "crane", "delta", "dune", "ember", "falcon", "fern", "fjord", "flint", "forge", "garnet"),
    *("glacier", "grove", "harbor", "hazel", "heron", "indigo", "iris", "island", "jasper", "juniper", "kestrel"),
    *("lagoon", "lantern", "lichen", "lotus", "maple", "marble", "meadow", "mesa", "mint", "moss", "nectar", "nova"),
    *("oak", "ocean", "olive", "onyx", "opal", "orchid", "osprey", "pebble", "pine", "plume", "prairie", "quartz"),
    *("raven", "reef", "ridge", "river", "robin", "saffron", "sage", "slate", "spruce", "summit", "thistle", "tide"),
)


class Words:
    """Numbers and names for lines, drawn from one seed; and a job's settings, the same whenever it starts."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.real = self.rng.random
        self._settings = self.rng

    def begin(self, settings: int) -> None:
        self._settings = random.Random(settings)

    def set(self, low: int, high: int) -> int:
        """A number of the job's settings."""
        return self._settings.randrange(low, high)

    def loss(self, part: float) -> float:
        return 0.9 + 8.0 * (1.0 - part) ** 3 + 0.05 * self.real()

    def whole(self, low: int, high: int) -> int:
        return low + int(self.real() * (high - low))

    def name(self) -> str:
        return f"{NOUNS[self.whole(0, len(NOUNS))]}_{NOUNS[self.whole(0, len(NOUNS))]}{self.whole(0, 999)}"

    def clock(self, second: int) -> str:
        return f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


Kind = Callable[[Words], Iterator[str]]


def write(directory: Path, size: int) -> list[Path]:
    """Logs of so many bytes together, each in a file of its own."""
    directory.mkdir()
    words, left = Words(20), size
    paths: list[Path] = []
    while left > 0:
        text = log(PLAN[len(paths) % len(PLAN)], words, min(left, words.whole(JOB // 2, JOB * 3 // 2)))
        paths.append(directory / f"{len(paths):04d}.log")
        paths[-1].write_bytes(text)
        left -= len(text)
    return paths


def log(kind: Kind, words: Words, size: int) -> bytes:
    """The log of a job, cut at this size; one that ends sooner is started again, as jobs are."""
    parts: list[bytes] = []
    length, settings = 0, words.whole(0, 1 << 20)
    while length < size:
        words.begin(settings)
        parts.append(_run(kind, words, size - length))
        length += len(parts[-1])
    return b"".join(parts)[:size]


def _run(kind: Kind, words: Words, most: int) -> bytes:
    parts, length = list(_start(words)), 0
    for part in kind(words):
        parts.append(part)
        length += len(part)
        if length >= most:
            break
    else:
        parts += _end(words)
    return "".join(parts).encode()


def _start(words: Words) -> Iterator[str]:
    yield f"/opt/conda/lib/python3.11/site-packages/torch/distributed/launch.py:{words.whole(90, 300)}: FutureWarning: "
    yield "the module is deprecated and will be removed in a future release; use torchrun\n  warnings.warn(\n"
    for key in ("data", "model", "optim", "train", "parallel"):
        for _ in range(6):
            yield f"  {key}.{words.name()} ............................. {words.whole(1, 4096)}\n"
    yield _bar("Loading checkpoint shards: ", 8, 8, 1.0 + words.real()) + "\n"


def _end(words: Words) -> list[str]:
    """Half of the jobs that end say so, the others fail."""
    if words.real() < 0.5:
        return [f"[rank0] Training completed in {words.whole(2, 90)} h, wrote /data/runs/{words.name()}/final\n"]
    frames = [
        f'  File "/workspace/{words.name()}/{words.name()}.py", line {words.whole(10, 900)}, in {words.name()}\n'
        f"    {words.name()} = self.{words.name()}({words.name()}, {words.name()})\n"
        for _ in range(words.whole(4, 14))
    ]
    why = (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has 79.15 GiB in all",
        "RuntimeError: NCCL error in: ../csrc/ProcessGroupNCCL.cpp:1970, unhandled system error",
        "OSError: [Errno 28] No space left on device: '/scratch/checkpoint.tmp'",
        f"KeyError: '{words.name()}'",
    )[words.whole(0, 4)]
    return ["Traceback (most recent call last):\n", *frames, why + "\n", "slurmstepd: error: task 3: Exited 1\n"]


def _bar(label: str, at: int, total: int, rate: float, more: str = "") -> str:
    full, spent, left = at * 10 // total, int(at / rate), int((total - at) / rate)
    drawn = "█" * full + ("▍" if full < 10 else "") + " " * (9 - full)
    times = f"{spent // 3600:d}:{spent // 60 % 60:02d}:{spent % 60:02d}<{left // 60:02d}:{left % 60:02d}"
    return f"{label}{100 * at // total:3d}%|{drawn}| {at}/{total} [{times}, {rate:5.2f}it/s{more}]"


def tqdm_bars(words: Words) -> Iterator[str]:
    """Epochs of one bar each, a validation bar that is wiped out, and a line of results."""
    total, shown = words.set(2000, 9000), words.set(80, 400)
    for epoch in range(1, 41):
        for at in range(0, total + 1):
            yield "\r" + _bar("", at, total, 3 + words.real(), f", loss={words.loss(at / total):.4f}")
        yield "\n"
        for at in range(0, shown, 3):
            yield "\r" + _bar("validating: ", at, shown, 9 + words.real())
        yield f"\r\nepoch {epoch} of 40: train loss {words.loss(epoch / 40):.4f} val loss {words.loss(0.5):.4f}\n"


def megatron(words: Words) -> Iterator[str]:
    total, batch = words.set(20, 90) * 1000, 1024
    for at in range(10, total, 10):
        stamp = f"2026-11-{1 + at // 4000 % 28:02d} {words.clock(at)}.{words.whole(0, 999999):06d}"
        yield (
            f" [{stamp}] iteration {at:8d}/{total:8d} | consumed samples: {at * batch:12d} | "
            f"elapsed time per iteration (ms): {900 + 90 * words.real():.1f} | "
            f"throughput per GPU (TFLOP/s/GPU): {390 + 9 * words.real():.1f} | "
            f"learning rate: {3e-4 * words.real():.6E} | global batch size: {batch:5d} | "
            f"lm loss: {words.loss(at / total):.6E} | loss scale: 1.0 | grad norm: {words.real():.3f} | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        )
        if at % 1000 == 0:
            yield f"saving checkpoint at iteration {at:7d} to /data/ckpt/{words.name()} in torch_dist format\n"
            yield f"  successfully saved checkpoint from iteration {at:7d} to /data/ckpt [ t 1/2, p 1/4 ]\n"
            yield "(min, max) time across ranks (ms):\n"
            yield f"    save-checkpoint ..........: ({7000 + 900 * words.real():.2f}, {8000 * words.real():.2f})\n"
            yield f"validation loss at iteration {at} | lm loss value: {words.loss(0.6):.6E} | lm loss PPL: 1.2E+01 |\n"


def mmengine(words: Words) -> Iterator[str]:
    inner = words.set(1500, 7500)
    for epoch in range(1, 25):
        for at in range(50, inner, 50):
            yield (
                f"{words.whole(10, 28)}/11 {words.clock(at)} - mmengine - INFO - "
                f"Epoch(train)  [{epoch}][{at:4d}/{inner}]  base_lr: {2e-2 * words.real():.4e} "
                f"lr: {2e-2 * words.real():.4e}  eta: 1 day, {words.clock(inner - at)}  "
                f"time: {0.3 + 0.1 * words.real():.4f}  data_time: {0.01 * words.real():.4f}  memory: 10427  "
                f"grad_norm: {9 * words.real():.4f}  loss: {words.loss(epoch / 24):.4f}  "
                f"loss_cls: {words.real():.4f}  loss_bbox: {words.real():.4f}\n"
            )
        yield f"{words.whole(10, 28)}/11 {words.clock(epoch)} - mmengine - INFO - Saving checkpoint at {epoch} epochs\n"
        for at in range(50, 625, 50):
            yield f"28/11 {words.clock(at)} - mmengine - INFO - Epoch(val)  [{epoch}][{at:3d}/625]    eta: 0:00:21\n"
        for size in ("   all", " small", "medium", " large"):
            what = f"[ IoU=0.50:0.95 | area={size} | maxDets=100 ]"
            yield f" Average Precision  (AP) @{what} = {0.2 + 0.3 * words.real():.3f}\n"


def hugging_face(words: Words) -> Iterator[str]:
    total = words.set(8000, 60000)
    for at in range(1, total):
        yield "\r" + _bar("", at, total, 1 + words.real())
        if at % 10 == 0:
            rate = round(2e-5 * (1 - at / total), 16)
            row = {"loss": round(words.loss(at / total), 4), "grad_norm": round(words.real(), 7), "learning_rate": rate}
            yield f"\n{ {**row, 'epoch': round(3 * at / total, 2)} }\n"
        if at % 1000 == 0:
            yield "\n***** Running Evaluation *****\n  Num examples = 2048\n  Batch size = 16\n"
            row = {"eval_loss": round(words.loss(0.7), 4), "eval_runtime": 31.2, "eval_samples_per_second": 65.6}
            yield f"{ {**row, 'epoch': round(3 * at / total, 2)} }\nSaving model checkpoint to /data/checkpoint-{at}\n"


def lightning(words: Words) -> Iterator[str]:
    total = words.set(800, 4000)
    for epoch in range(100):
        for at in range(0, total + 1):
            more = f", v_num={words.whole(1, 9)}, train_loss_step={words.loss(epoch / 100):.3f}, train_loss_epoch=1.250"
            yield "\r" + _bar(f"Epoch {epoch}: ", at, total, 8 + words.real(), more)
        for at in range(0, 40):
            yield "\r" + _bar("Validation DataLoader 0: ", at, 40, 20 + words.real())
        yield f"\nEpoch {epoch}, global step {(epoch + 1) * total}: 'val_loss' was not in top 3\n"


def json_lines(words: Words) -> Iterator[str]:
    total = words.set(20000, 90000)
    for at in range(1, total):
        row = {
            "ts": 1.79e9 + at,
            "step": at,
            "total_steps": total,
            "loss": round(words.loss(at / total), 5),
            "lr": 1e-4 * words.real(),
            "tokens_per_second": round(41000 + 900 * words.real(), 1),
            "host": "node-07",
        }
        yield json.dumps(row) + "\n"


def printed(words: Words) -> Iterator[str]:
    total = words.set(20000, 90000)
    for at in range(total):
        loss = words.loss(at / total)
        more = f"lr {6e-4 * words.real():.3e}, {250 + 9 * words.real():.2f}ms, mfu 41.20%"
        yield f"step {at}/{total}: train loss {loss:.4f}, {more}\n"
        if at % 500 == 0:
            yield f"step {at}: train loss {loss:.4f}, val loss {loss + 0.1:.4f}\nsaving checkpoint to out/{at}\n"


def chatter(words: Words) -> Iterator[str]:
    """A data pipeline that logs much and counts now and then."""
    says = (
        "fetched shard {0:05d} of bucket {1} in {2:.1f} ms",
        "cache miss for key {1}/{0:x}, loading from the object store",
        "worker {0} is idle, next batch is ready in queue {1}",
        "retrying request {0:x} to {1} after {2:.2f} s: temporarily unavailable",
        "connection to {1}.internal:{0} re-used ({2:.0f} requests so far)",
        "wrote /mnt/data/{1}/part-{0:06d}.parquet ({2:.1f} MB), done",
        "config value {1} has no effect and is ignored, see the documentation of version {0}",
        "garbage collection of {1} finished: {0} objects, {2:.1f} ms",
    )
    for at in range(10_000_000):
        text = says[words.whole(0, len(says))].format(words.whole(0, 99999), words.name(), 100 * words.real())
        stamp = f"2026-11-12 {words.clock(at // 20)},{words.whole(0, 999):03d}"
        yield f"{stamp} INFO {words.name()}.{words.name()}: {text}\n"
        if at % 2000 == 0:
            yield f"{stamp} INFO pipeline: Processed {at}/10,000,000 items\n"


def coloured(words: Words) -> Iterator[str]:
    total = words.set(2000, 9000)
    head = "\x1b[36m(TaskRunner pid=30112)\x1b[0m"
    names = ["actor/entropy", "actor/kl_loss", "actor/pg_loss", "actor/grad_norm", "perf/mfu/actor"]
    names += ["critic/score/mean", "critic/rewards/mean", "timing_s/gen", "timing_s/step"]
    for at in range(total):
        for worker in range(words.whole(1, 6)):
            said = f"rollout {words.name()} took {words.real():.2f} s"
            yield f"\x1b[36m(Worker pid={31000 + worker}, ip=10.0.0.{worker})\x1b[0m {said}\n"
        figures = " - ".join(f"{name}:{words.real():.4f}" for name in names)
        yield f"{head} step:{at} - {figures} - response_length/mean:612.5 - training/global_step:{at}.000\n"
        yield f"{head} \r{_bar('Training Progress: ', at, total, 0.02)}\n"


def serving(words: Words) -> Iterator[str]:
    for at in range(10_000_000):
        caller = f"10.0.{words.whole(0, 255)}.7:{words.whole(30000, 60000)}"
        yield f'INFO:     {caller} - "POST /v1/completions HTTP/1.1" 200 OK\n'
        if at % 12 == 0:
            yield (
                f"INFO 11-12 {words.clock(at)} [loggers.py:118] Engine 000: "
                f"Avg prompt throughput: {3000 * words.real():.1f} tokens/s, "
                f"Avg generation throughput: {900 * words.real():.1f} tokens/s, Running: {words.whole(0, 60)} reqs, "
                f"Waiting: {words.whole(0, 9)} reqs, GPU KV cache usage: {100 * words.real():.1f}%\n"
            )


def nccl(words: Words) -> Iterator[str]:
    while True:
        rank, node = words.whole(0, 8), words.whole(0, 64)
        head = f"node-{node:02d}:{41000 + rank}:{words.whole(42000, 43000)} [{rank}] NCCL INFO "
        for channel in range(24):
            ring = f"{rank}[{rank}] -> {(rank + 1) % 8}[{(rank + 1) % 8}]"
            yield f"{head}Channel {channel:02d}/0 : {ring} via P2P/CUMEM/read\n"
        yield f"{head}Connected all rings, use ring PXN 0 GDR 1\n"
        yield f"{head}comm 0x{words.whole(1 << 40, 1 << 44):x} rank {rank} nranks 512 - Init COMPLETE\n"


PLAN: tuple[Kind, ...] = (
    *(tqdm_bars, megatron, mmengine, hugging_face, lightning, json_lines, chatter, tqdm_bars, coloured, printed),
    *(serving, megatron, tqdm_bars, nccl, hugging_face, mmengine, lightning, chatter, tqdm_bars, json_lines),
)
