"""`dogwatch add slurm` on a host that cannot be reached: what is taken all the same, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dogwatch.model import Place
from dogwatch.store.rows import registration as register
from dogwatch.store.sqlite.location import open_store


@pytest.fixture
def add(dogwatch, home: Path):
    """`add slurm --host lab …`; nobody listens where `lab` is."""
    config = home.parent / "ssh_config"
    config.write_text("Host nowhere\n  HostName 127.0.0.1\n  Port 1\n")
    with open_store(str(home)) as store:
        register.add_place(store, Place("lab", "ssh", {"ssh": "nowhere", "config": str(config)}, 60.0))
    return lambda *words: dogwatch("add", "slurm", "--host", "lab", *words)


@pytest.mark.parametrize(
    ("word", "base"), [("12", "12"), ("12_7", "12"), ("12_[3-9%2]", "12"), ("12+1", "12"), ("12.batch", "12")]
)
def test_any_part_of_a_job_is_that_job(add, word, base):
    """Arrays, heterogeneous jobs and steps are watched as the job they belong to, also while the place is
    unreachable."""
    done = add(word, "--name", "run/task/0", "--description", "a sweep", "--json")
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout)
    assert (job["ref"], job["state"], job["name"], job["description"]) == (
        f"lab/slurm:{base}",
        None,
        "run/task/0",
        "a sweep",
    )


@pytest.mark.parametrize(
    "words",
    [
        ("1;2",),
        ("$(id)",),
        ("12 --me",),
        ("0",),
        ("12_[1;2]",),
        ("１２",),
        ("7" * 40,),
        ("12\n13",),
        ("--", "-1"),
        ("--", "--all"),
        ("12", "--user", "a;b"),
        ("12", "--user=-oProxyCommand=x"),
        ("12", "--log", "train.log"),
        ("12", "--log", "/tmp/a\nb"),
        ("12", "--output-dir", "$(id)"),
    ],
)
def test_what_could_be_an_option_or_a_shells_word_is_refused_by_name(add, dogwatch, words):
    """Exit 2 with the value in the message, and nothing is added, not even what stood before it."""
    done = add(*words)
    assert done.returncode == 2
    value = words[-1].partition("=")[2] or words[-1]
    assert value.replace("\n", "\\x0a")[:40] in done.stderr
    assert json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"] == []


def test_ids_are_refused_before_any_is_taken(add, dogwatch):
    """All of them or none."""
    assert add("12", "13", "x").returncode == 2
    assert json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"] == []


def test_a_host_that_was_never_added_is_refused_by_name(add, dogwatch):
    """With the way to add it."""
    done = dogwatch("add", "slurm", "12", "--host", "-oProxyCommand=x")
    assert done.returncode == 2
    done = dogwatch("add", "slurm", "12", "--host=elsewhere")
    assert (done.returncode, "elsewhere" in done.stderr) == (2, True)
    assert add("12", "--mine").returncode == 2
    assert add("--mine").returncode == 3
