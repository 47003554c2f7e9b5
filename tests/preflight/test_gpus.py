"""GPUs through an nvidia-smi and a rocm-smi that say what a test wants, hang or crash; and a real libcuda.so.1."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.preflight.conftest import Preflight, program

CARD = (
    "{n}, GPU-{n}0000000-1111-2222-3333-444444444444, NVIDIA H100 80GB HBM3, 00000000:{n}B:00.0, {busy}, {used}, 81559,"
    " 70.1, 31, 550.54.15, 700.00, 345, 1980, 0x0000000000000001, 0, Disabled"
)
BANNER = "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |"


def smi(bin_dir: Path, cards: list[str], users: list[str] | None = None, banner: str = BANNER) -> None:
    """A tool that answers what is asked of it."""
    for name, lines in (("cards", cards), ("users", users or []), ("banner", [banner])):
        (bin_dir / name).write_text("".join(f"{line}\n" for line in lines))
    text = f"""#!/bin/sh
case "$*" in
    *query-gpu*) cat {bin_dir}/cards ;;
    *query-compute-apps*) cat {bin_dir}/users ;;
    *) cat {bin_dir}/banner ;;
esac
"""
    program(bin_dir / "nvidia-smi", text)


def card(n: int, used: int | str = 4, busy: int | str = 0) -> str:
    return CARD.format(n=n, used=used, busy=busy)


def test_free_gpus_pass_and_another_s_process_fails(
    preflight: Preflight, bin_dir: Path, on_path: dict[str, str]
) -> None:
    """Each GPU that was asked for; the process on it is named with its owner."""
    init = "1"
    smi(bin_dir, [card(0), card(1, 61000, 98)], [f"GPU-10000000-1111-2222-3333-444444444444, {init}, 60990"])
    told = preflight("--gpu-ids", "0", "--", "true", env=on_path)
    assert told.of("gpus") == ("pass", "free: 0 (NVIDIA H100 80GB HBM3)")
    told = preflight("--gpu-ids", "0", "1", "--workers", 2, "--", "true", env=on_path)
    verdict, text = told.of("gpu 1")
    assert verdict == "fail"
    assert "(pid 1" in text
    assert told.of("workers") == ("pass", "2 workers, 2 GPUs")
    assert told.code == 1


def test_a_gpu_that_is_not_there_fails_by_name(preflight: Preflight, bin_dir: Path, on_path: dict[str, str]) -> None:
    """By number or UUID, also when the environment is what names it."""
    smi(bin_dir, [card(0)])
    told = preflight("--gpu-ids", "0", "3", "--", "true", env=on_path)
    text = "not there: 3; there is 0 (NVIDIA H100 80GB HBM3)"
    assert ("fail", text) in [(line["verdict"], line["text"]) for line in told.lines]
    hidden = preflight("--", "true", env={**on_path, "CUDA_VISIBLE_DEVICES": "5"})
    assert any(line["text"].startswith("not there: 5") for line in hidden.lines)
    assert preflight("--gpu-ids", "GPU-00000000", "--", "true", env=on_path).verdict("gpus") == "pass"


def test_memory_that_nobody_owns_up_to_is_not_free(
    preflight: Preflight, bin_dir: Path, on_path: dict[str, str]
) -> None:
    """In a container the processes of others are not shown, and their memory is; what is not known counts as free."""
    smi(bin_dir, [card(0, 30000), card(1, "[N/A]", "[N/A]")])
    told = preflight("--gpu-ids", "0", "1", "--", "true", env=on_path)
    assert told.of("gpu 0") == ("fail", "is not free: 29.3 GiB of its memory are used by other processes")
    assert "gpu 1" not in told.about()


def test_a_batch_is_held_against_the_memory_that_is_free(
    preflight: Preflight, bin_dir: Path, on_path: dict[str, str]
) -> None:
    """What the model takes and what each item takes; the remedy is the batch that fits."""
    smi(bin_dir, [card(0)])
    words = ("--gpu-ids", "0", "--gpu-memory", "16GiB", "--memory-per-item", "1GiB")
    assert preflight(*words, "--batch-size", 32, "--", "true", env=on_path).verdict("gpu memory") == "pass"
    told = preflight(*words, "--batch-size", 128, "--", "true", env=on_path)
    text = "needs 144.0 GiB, GPU 0 has 79.6 GiB free for batches of 128"
    assert told.of("gpu memory") == ("fail", text)
    assert [line["remedy"] for line in told.lines if line["what"] == "gpu memory"] == ["a batch of 63 would fit"]


@pytest.mark.parametrize(
    ("script", "part"),
    [
        ("exec sleep 600", "cannot be asked: nvidia-smi did not answer in"),
        ("echo 'NVIDIA-SMI has failed: driver not loaded'; exit 9", "ended with 9: NVIDIA-SMI has failed"),
        ("kill -SEGV $$", "ended with -11"),
    ],
)
def test_a_tool_that_hangs_or_fails_blocks_nothing(
    preflight: Preflight, bin_dir: Path, on_path: dict[str, str], script: str, part: str
) -> None:
    """It fails where GPUs are needed, and only warns where none were asked for."""
    program(bin_dir / "nvidia-smi", f"#!/bin/sh\n{script}\n")
    told = preflight("--most", "4s", "--gpu-ids", "0", "--", "true", env=on_path)
    assert told.verdict("gpus") == "fail"
    assert part in told.of("gpus")[1]
    assert preflight("--most", "4s", "--", "true", env=on_path).verdict("gpus") == "warn"


@pytest.fixture
def torch_for(tmp_path: Path):
    """A torch of no weight that says what it was built for."""

    def make(cuda: str | None) -> Path:
        where = tmp_path / f"torch-for-{cuda}"
        (where / "torch").mkdir(parents=True)
        (where / "torch" / "__init__.py").touch()
        (where / "torch" / "version.py").write_text(f"__version__ = '2.5.1'\ncuda = {cuda!r}\nhip = None\n")
        return where

    return make


@pytest.fixture
def libcuda(tmp_path: Path):
    """The driver's library as far as it says what it runs, built from C."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")

    def make(version: int) -> Path:
        where = tmp_path / "driver"
        where.mkdir(exist_ok=True)
        source = where / "cuda.c"
        source.write_text(f"int cuDriverGetVersion(int *version) {{ *version = {version}; return 0; }}\n")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", where / "libcuda.so.1", source], check=True)
        return where

    return make


@pytest.mark.parametrize(
    ("built", "driver", "verdict"),
    [
        ("12.4", 12040, "pass"),
        ("11.8", 12040, "pass"),
        ("12.6", 12040, "warn"),
        ("13.0", 12080, "fail"),
        (None, 12040, "fail"),
    ],
)
def test_torch_and_the_driver_must_fit(
    preflight: Preflight, bin_dir: Path, on_path: dict[str, str], torch_for, libcuda, built, driver, verdict
) -> None:
    """By what torch says it was built for, without importing it, and what the driver's library says it runs."""
    smi(bin_dir, [card(0)])
    env = {**on_path, "PYTHONPATH": str(torch_for(built)), "LD_LIBRARY_PATH": str(libcuda(driver))}
    told = preflight("--gpu-ids", "0", "--", "python3", "-c", "pass", env=env)
    assert told.verdict("driver") == verdict, told.lines


def test_a_driver_whose_library_does_not_load_fails(
    preflight: Preflight, bin_dir: Path, on_path: dict[str, str]
) -> None:
    """nvidia-smi works and CUDA would not: a container without its mounts."""
    smi(bin_dir, [card(0)])
    told = preflight("--gpu-ids", "0", "--", "python3", "-c", "pass", env=on_path)
    verdict, text = told.of("driver")
    assert verdict == "fail"
    assert "libcuda.so.1 does not load" in text


def test_amd_gpus_are_asked_by_their_own_tool(preflight: Preflight, bin_dir: Path, on_path: dict[str, str]) -> None:
    """As JSON, with warnings before it."""
    row = {"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": "206141652992", "GPU use (%)": "0"}
    cards = {"card0": {**row, "VRAM Total Used Memory (B)": "297000000"}}
    cards["card1"] = {**row, "VRAM Total Used Memory (B)": "100297000000"}
    answer = json.dumps({**cards, "system": {"Driver version": "6.7.0"}})
    program(bin_dir / "rocm-smi", f"#!/bin/sh\necho 'WARNING: low power state'\necho '{answer}'\n")
    told = preflight("--gpu-ids", "0", "1", "--", "true", env=on_path)
    assert told.of("gpu 1")[0] == "fail"
    assert preflight("--gpu-ids", "0", "--", "true", env=on_path).of("gpus") == (
        "pass",
        "free: 0 (AMD Instinct MI300X)",
    )
