"""`dogwatch report` of real jobs, and the bundle that a failure leaves by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCRIPT = "for i in 1 2 3 4 5; do echo step $i/5; done"


@pytest.fixture
def configured(environment: dict[str, str], tmp_path: Path):
    """A configuration file with these lines, for every command of the test."""

    def write(text: str) -> None:
        folder = tmp_path / "config" / "dogwatch"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(text)
        environment["XDG_CONFIG_HOME"] = str(tmp_path / "config")

    return write


def bundles(home: Path) -> list[Path]:
    folder = home / "bundles"
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_job_that_ended_well(dogwatch, home: Path, tmp_path: Path) -> None:
    """As text, as JSON and as a page; and no bundle is made of it."""
    run = ["run", "--name", "good", "--workers", "2", "--gpu-ids", "0", "1", "--total-items", "10"]
    assert dogwatch(*run, "--", "sh", "-c", SCRIPT).returncode == 0
    told = dogwatch("report", "good", "--price", "3")
    assert told.returncode == 0
    assert told.stdout.startswith("good (here/process:good-")
    assert "10 of 10 steps (100 %)" in told.stdout
    assert "GPU hours at 3" in told.stdout
    found = json.loads(dogwatch("report", "good", "--json").stdout)
    assert (found["outcome"], found["items"]["step"], found["gpus"]["count"]) == ("succeeded", 10, 2)
    assert found["cost"] is None
    assert found["readings"][-1]["step"] == 10
    page = tmp_path / "r.html"
    assert dogwatch("report", "good", "--html", page).returncode == 0
    assert page.read_text().startswith("<!doctype html>")
    assert dogwatch("report", "good", "--html", "-").stdout.startswith("<!doctype html>")
    assert bundles(home) == []


def test_a_failure_leaves_a_bundle_in_the_home(dogwatch, home: Path) -> None:
    """Without being asked, and the report says where."""
    script = f"{SCRIPT}; echo RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB; exit 1"
    assert dogwatch("run", "--name", "bad", "--", "sh", "-c", script).returncode == 1
    (made,) = bundles(home)
    assert "step 5/5" in (made / "logs" / "01-worker-0.log").read_text()
    found = json.loads((made / "report.json").read_text())
    assert (found["outcome"], found["diagnosis"]["cause"]) == ("failed", "cuda_oom")
    assert str(made) in dogwatch("report", "bad").stdout
    assert json.loads(dogwatch("report", "bad", "--json").stdout)["bundle"] == str(made)


def test_a_success_with_too_few_items_leaves_one_too(dogwatch, home: Path) -> None:
    """It is told as a failure by the exit code of `run`, too."""
    script = "for i in 1 2 3; do echo step $i/100; done"
    assert dogwatch("run", "--name", "short", "--total-items", "100", "--", "sh", "-c", script).returncode == 1
    assert "NOT VERIFIED" in dogwatch("report", "short").stdout
    assert len(bundles(home)) == 1


def test_bundles_can_be_turned_off_or_put_elsewhere(dogwatch, home: Path, tmp_path: Path, configured) -> None:
    """`bundles` in the configuration file is false, or a directory."""
    configured("bundles = false\nprice_per_gpu_hour = 4\n")
    assert dogwatch("run", "--name", "a", "--gpu-ids", "0", "--", "sh", "-c", "exit 1").returncode == 1
    assert bundles(home) == []
    assert "GPU hours at 4" in dogwatch("report", "a").stdout
    configured(f'bundles = "{tmp_path / "mine"}"\n')
    assert dogwatch("run", "--name", "b", "--", "sh", "-c", "exit 1").returncode == 1
    assert bundles(home) == []
    assert len(list((tmp_path / "mine").iterdir())) == 1


@pytest.mark.parametrize(
    "wrong", ['price_per_gpu_hour = "much"', "price_per_gpu_hour = -1", 'bundles = "here"', "bundles = 3"]
)
def test_a_setting_that_cannot_be_is_refused_by_name(dogwatch, configured, wrong: str) -> None:
    """In one sentence that names the file and the key."""
    configured(wrong + "\n")
    dogwatch("run", "--detach", "--name", "a", "--", "true")
    told = dogwatch("report", "a")
    assert told.returncode == 2
    assert wrong.partition(" ")[0] in told.stderr


def test_a_bundle_by_hand(dogwatch, tmp_path: Path) -> None:
    """Its path is printed; of a job without logs it says that they lack, with the exit code of what was not seen."""
    dogwatch("run", "--name", "good", "--", "sh", "-c", SCRIPT)
    told = dogwatch("report", "good", "--bundle", tmp_path / "b")
    assert told.returncode == 0
    assert (Path(told.stdout.strip()) / "README.txt").exists()
    found = json.loads(dogwatch("report", "good", "--bundle", tmp_path / "b", "--json").stdout)
    assert found["missing"] == []
    assert Path(found["path"]).parent == tmp_path / "b"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--price", "cheap"], "--price takes a number"),
        (["--json", "--html", "x"], "cannot be used together"),
        (["--html", "x", "--bundle", "y"], "cannot be used together"),
        (["--html", "/nowhere/x.html"], "cannot be written"),
        (["--bundle", "/nowhere/else/x"], "cannot be written"),
    ],
)
def test_what_cannot_be_meant_is_refused(dogwatch, flags: list[str], said: str) -> None:
    """With exit code 2 and a sentence."""
    dogwatch("run", "--detach", "--name", "a", "--", "true")
    told = dogwatch("report", "a", *flags)
    assert told.returncode == 2
    assert said in told.stderr


def test_no_such_job(dogwatch) -> None:
    """As everywhere."""
    dogwatch("run", "--detach", "--name", "a", "--", "true")
    assert dogwatch("report", "nobody").returncode == 4
