"""The real cluster, watched by the real program in a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.plugin import calm_lab, lab
from tests.slurm.scenes import Scenes
from tests.slurm.watch import Watcher

__all__ = ["calm_lab", "lab"]


@pytest.fixture
def watch(calm_lab: Lab, dogwatch, home: Path) -> Watcher:
    """A calm cluster and a home that knows it."""
    watch = Watcher(calm_lab, dogwatch, home)
    watch.host()
    return watch


@pytest.fixture(scope="session")
def make_watch(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Watcher]:
    """A home that knows the cluster, for what several tests look at."""

    def make() -> Watcher:
        home = tmp_path_factory.mktemp("watch") / "home"
        home.mkdir(mode=0o700)
        watch = Watcher(lab, _program(home), home)
        watch.host()
        return watch

    return make


@pytest.fixture(scope="session")
def scenes(lab: Lab, make_watch: Callable[[], Watcher]) -> Scenes:
    """What takes Slurm long."""
    lab.heal()
    scenes = Scenes(make_watch())
    scenes.play()
    return scenes


def _program(home: Path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DOGWATCH_")}

    def run(*words: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "dogwatch", *map(str, words)]
        env = {**kept, "DOGWATCH_HOME": str(home)}
        return subprocess.run(argv, env=env, timeout=timeout, text=True, capture_output=True, stdin=subprocess.DEVNULL)

    return run
