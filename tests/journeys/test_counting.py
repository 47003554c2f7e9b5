"""Counting: every worker once, however many logs it writes, and the items where items are declared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Writes its lines to worker_N.log and, as logging's StreamHandler does, to stderr as well.
WORKER = """
import logging, sys, time
number, folder, total, done, form, name = sys.argv[1:7]
total, done = int(total), int(done)
handlers = [logging.FileHandler(f"{folder}/logs/{name}".replace("N", number)), logging.StreamHandler()]
logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", handlers=handlers)
time.sleep(1.5)
for part in range(1, 11):
    logging.info(form.format(done=done * part // 10, total=total, part=part))
    time.sleep(0.1)
with open(f"{folder}/out/output_worker_{number}.json", "w") as file:
    file.write("[1, 2, 3]")
"""
ITEMS = "Processed {done}/{total} items"
SEVERAL = "Epoch 4 Batch {part}/10 loss: 0.03 Processed {done}/{total} items"


@pytest.fixture
def watched(dogwatch, tmp_path: Path):
    """Start workers as a launch script does, watch them to their end, and say what was seen."""

    def start(workers: int, total: int, done: int, form: str = ITEMS, name: str = "worker_N.log", beside="_stderr"):
        for folder in ("logs", "out"):
            (tmp_path / folder).mkdir()
        script = tmp_path / "count_items.py"
        script.write_text(WORKER)
        running = []
        for number in range(workers):
            own = max(total, done) // workers
            share = [str(number), str(tmp_path), str(own), str(done // workers), form, name]
            base = name.replace("N", str(number)).rpartition(".")[0]
            with (tmp_path / "logs" / f"{base}{beside}.log").open("w") as stderr:
                running.append(subprocess.Popen([sys.executable, str(script), *share], stderr=stderr))
        seen = dogwatch(
            *("watch", "--job-name", "count_items", "--num-workers", workers, "--check-interval", 1),
            *("--log-dir", tmp_path / "logs", "--output-dir", tmp_path / "out", "--total-items", total),
            *("--log-pattern", name.replace("N", "*"), "--pid", *(one.pid for one in running)),
            timeout=120,
        )
        for one in running:
            one.wait(10)
        (job,) = json.loads(dogwatch("ls", "--all", "--json", "--no-poll").stdout)["jobs"]
        return seen, job

    return start


@pytest.mark.parametrize(
    ("workers", "name", "beside"),
    [(2, "worker_N.log", "_stderr"), (12, "worker_N.log", "_stdout"), (2, "rank-0N.log", ".err")],
)
def test_a_worker_with_two_logs_counts_once(watched, workers: int, name: str, beside: str) -> None:
    """All items done, each worker's lines in two logs: exactly as many as there are, and the job is complete."""
    seen, job = watched(workers, 12_000, 12_000, name=name, beside=beside)
    assert seen.returncode == 0, seen.stdout + seen.stderr
    assert job["progress"]["step"] == 12_000
    assert "24,000" not in seen.stdout


def test_a_part_of_the_items_in_two_logs_is_not_all_of_them(watched) -> None:
    """85,000 of 100,000, each line in two logs: incomplete, exit 1; it was once called verified."""
    seen, job = watched(4, 100_000, 85_000)
    assert seen.returncode == 1, seen.stdout
    assert job["outcome"] == "incomplete"
    assert "85,000 of 100,000 items" in seen.stdout
    assert "100 % range" not in seen.stdout


def test_the_items_are_counted_among_several_counters_of_a_line(watched) -> None:
    """With --total-items it is the counter of items that counts, not the epoch or the batch before it."""
    seen, job = watched(8, 1_000_000, 1_000_000, form=SEVERAL)
    assert seen.returncode == 0, seen.stdout
    assert job["progress"]["step"] == 1_000_000
    assert job["progress"]["unit"] == "items"


def test_more_than_everything_is_a_contradiction(watched) -> None:
    """Workers that count 150 % of what was declared prove nothing: incomplete, and it says why."""
    seen, job = watched(2, 10_000, 15_000)
    assert seen.returncode == 1, seen.stdout
    assert job["outcome"] == "incomplete"
    assert "15,000 of 10,000 items" in seen.stdout
    assert "more than there are" in seen.stdout


# Shapes that people print, each to its end: what is counted, and what becomes of a run that declared 100 items.
BAR = r"sys.stderr.write(f'\r{n}%|### | {n}/100 [00:01<00:01, 20.0it/s]')"
SHAPES = {
    "a bar without a last line end": (BAR, 100, 0, "100 of 100 items"),
    "a count without a total": ("print(f'Processed {n} items', flush=True)", 100, 0, "100 of 100 items"),
    "a count that goes beyond": ("print(f'{n} items processed', flush=True)", 150, 1, "150 of 100 items"),
    "a count that stops early": ("print(f'{n} docs done', flush=True)", 60, 1, "only 60 of 100 items"),
    "records that count two things": (
        'print(\'{"step": %d, "processed": %d, "total": 100}\' % (n // 10, n), flush=True)',
        *(100, 0, "100 of 100 items"),
    ),
    "steps without a total": (
        "print(f'iter {n // 10}: loss 0.3', flush=True)",
        *(100, 0, "10 iterations, and nothing in them counts its 100 items"),
    ),
    "batches": ("print(f'Batch {n // 10}/10 loss: 0.3', flush=True)", 100, 0, "10 of 10 batches, not its 100 items"),
}


@pytest.mark.parametrize(("line", "last", "code", "says"), SHAPES.values(), ids=SHAPES)
def test_declared_items_are_found_in_other_shapes_of_logs(dogwatch, line: str, last: int, code: int, says: str) -> None:
    """The last line counts also without a line end, a total in the log is not needed, and batches are no items."""
    program = f"import sys, time\nfor n in range(10, {last} + 1, 10):\n    {line}\n    time.sleep(0.1)\n"
    seen = dogwatch("run", "--name", "shape", "--total-items", 100, "--", sys.executable, "-c", program)
    assert seen.returncode == code, seen.stdout
    assert says in seen.stdout
    assert ("not checked" in seen.stdout) == ("of 100 items" not in says)
    assert dogwatch("wait", "shape").returncode == code
