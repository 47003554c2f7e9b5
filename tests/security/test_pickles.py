"""A checkpoint that would run a program when it is loaded is named as such, and is not loaded to find out."""

from __future__ import annotations

import collections
import io
import os
import pickle
import zipfile
from pathlib import Path

import pytest


class Runs:
    """Pickled, it is a call of os.system."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


class Evaluates:
    def __reduce__(self):
        return eval, ("1 + 1",)


def torch_file(path: Path, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/data/0", b"\0" * 64)
        archive.writestr("archive/version", b"3\n")
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", [Runs, Evaluates])
def test_what_loading_would_run_is_named(dogwatch, tmp_path: Path, protocol: int, kind: type) -> None:
    """In every form that pickle has had; nothing of it is run."""
    mark = tmp_path / "ran"
    bad = Runs(f"touch {mark}") if kind is Runs else Evaluates()
    content = pickle.dumps({"model": collections.OrderedDict(a=1), "x": [bad, bad]}, protocol)
    done = dogwatch("check", torch_file(tmp_path / "model.pt", content))
    assert ("system" if kind is Runs else "eval") in done.stdout
    assert "do not load it" in done.stdout
    (tmp_path / "plain.pkl").write_bytes(content)
    assert "do not load it" in dogwatch("check", tmp_path / "plain.pkl").stdout
    assert not mark.exists()


def test_an_ordinary_checkpoint_gets_no_warning(dogwatch, tmp_path: Path) -> None:
    """Dictionaries, sets and numbers need no risky name."""
    held = io.BytesIO()
    pickle.dump({"step": 3, "seen": {1, 2}, "order": collections.OrderedDict(a=1.5)}, held, 2)
    done = dogwatch("check", torch_file(tmp_path / "model.pt", held.getvalue()))
    assert done.returncode == 0, done.stdout
    assert "do not load" not in done.stdout


@pytest.mark.parametrize(
    "filler",
    [b"]" * 8_000_000, b"B" + (40 << 20).to_bytes(4, "little") + bytes(40 << 20)],
)
def test_what_was_not_looked_at_is_told(dogwatch, tmp_path: Path, filler: bytes) -> None:
    """A name behind millions of instructions, or behind a long text, costs no minutes and is not passed over."""
    content = b"\x80\x03" + filler + b"cposix\nsystem\n."
    for path in (torch_file(tmp_path / "model.pt", content), tmp_path / "plain.pkl"):
        if path.suffix == ".pkl":
            path.write_bytes(content)
        done = dogwatch("check", path)
        assert "do not load it" in done.stdout
        assert len(done.stdout) < 2000
