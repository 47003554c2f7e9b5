"""What is known of a kind of rented box: shown with its source, used by `host`, and a user's own wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dogwatch import profiles
from dogwatch.errors import UsageError
from tests.lab.box import Boxes


@pytest.mark.parametrize("name", profiles.NAMES)
def test_every_fact_of_ours_has_a_source_or_is_unknown(name: str) -> None:
    """A value names the page that says so; what nobody says is unknown and has no value."""
    facts = profiles.load(name).facts()
    assert facts.keys() == profiles.LABELS.keys()
    for fact in facts.values():
        assert fact.source.startswith("https://") if fact.value is not None else fact.source == "unknown"


def test_every_profile_file_is_named() -> None:
    """A file beside the others is offered, and each name has its file."""
    folder = Path(profiles.__file__).parent
    assert sorted(path.stem for path in folder.glob("*.toml")) == sorted(profiles.NAMES)


def test_a_box_is_added_with_its_profile_and_price(boxes: Boxes, dogwatch) -> None:
    """ls, test and profile show them; adding it again without them keeps them; a wrong name changes nothing."""
    boxes.start("gpu")
    added = ["host", "add", "gpu", "--ssh-config", boxes.ssh_config]
    wrong = dogwatch(*added, "--profile", "runpd")
    assert wrong.returncode == 2
    assert "did you mean runpod?" in wrong.stderr
    assert json.loads(dogwatch("host", "ls", "--json").stdout)["hosts"] == []
    assert dogwatch(*added, "--profile", "runpod", "--price-per-hour", "0.59").returncode == 0
    assert dogwatch(*added).returncode == 0
    (host,) = json.loads(dogwatch("host", "ls", "--json").stdout)["hosts"]
    assert (host["profile"], host["price_per_hour"]) == ("runpod", 0.59)
    assert "runpod 0.59/h" in dogwatch("host", "ls").stdout
    assert "runpodctl stop pod" in dogwatch("host", "test", "gpu").stdout
    words = ["--output-dir", "/tmp/out", "--checkpoint-dir", "/workspace/ckpt", "--json", "--", "true"]
    checks = json.loads(dogwatch("preflight", "--host", "gpu", *words).stdout)["checks"]
    said = {check["text"]: check["verdict"] for check in checks}
    assert said["/tmp/out is lost when a RunPod box is stopped"] == "warn"
    assert said["/workspace/ckpt is kept when a RunPod box is stopped"] == "pass"
    told = json.loads(dogwatch("host", "profile", "gpu", "--json").stdout)
    assert told["facts"]["price_per_hour"]["value"] == 0.59
    assert told["facts"]["inode_cap"] == {"value": None, "source": "unknown"}


@pytest.mark.parametrize("price", ["free", "-1", "nan", "inf"])
def test_a_price_is_an_amount(dogwatch, price: str) -> None:
    """One sentence says what it takes, before anything is contacted."""
    done = dogwatch("host", "add", "gpu", f"--price-per-hour={price}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--price-per-hour takes an amount such as 0.59" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 1", "title: expected `str`"),
        ('titel = "x"', "unknown key titel; did you mean title?"),
        ('title = "x"\nstop = "poweroff"', "stop must be a table with a value and a source"),
        ('title = "x"\n[stop]\nvalue = "poweroff"', "stop has a value but no source"),
        ('title = "x"\n[stop]\nvalu = "poweroff"', "unknown key stop.valu; did you mean value?"),
        ('title = "x"\n[data_dirs]\nvalue = ["data"]\nsource = "me"', "which is not an absolute path"),
        ('title = "x"\n[inode_cap]\nvalue = -1\nsource = "me"', "it cannot be less than 0"),
        ("title = ", "is not TOML"),
        ("[stop]", "title is missing"),
    ],
)
def test_a_mistake_in_a_profile_of_ones_own_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    """It names the file and the key, and what would be right."""
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        profiles.load("mine", str(tmp_path))
    assert said in str(refused.value)
    assert "mine.toml" in str(refused.value)


def test_a_profile_of_ones_own_wins(dogwatch, tmp_path: Path) -> None:
    """A file in the configuration directory is taken by its name, and before one of ours."""
    folder = tmp_path / "config" / "dogwatch" / "profiles"
    folder.mkdir(parents=True)
    body = '[stop]\nvalue = "lab-off gpu7"\nsource = "the wiki of the lab"\n'
    for name in ("lab", "vast"):
        (folder / f"{name}.toml").write_text(f'title = "Our {name}"\n{body}')
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert "lab-off gpu7" in dogwatch("host", "profile", "lab", env=own).stdout
    assert json.loads(dogwatch("host", "profile", "vast", "--json", env=own).stdout)["title"] == "Our vast"
    assert dogwatch("host", "profile", env=own).stdout.split() == [*profiles.NAMES, "lab"]


@pytest.mark.parametrize(
    ("name", "path", "kept"),
    [
        ("runpod", "/workspace/out", True),
        ("runpod", "/workspaces/out", False),
        ("autodl", "/data/out", True),
        ("lambda", "/data/out", None),
    ],
)
def test_what_survives_a_stop_is_known_where_somebody_says_so(name: str, path: str, kept: bool | None) -> None:
    """By whole directories; nothing is concluded where nobody says it."""
    assert profiles.is_kept(profiles.load(name), path) is kept
