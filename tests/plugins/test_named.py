"""Whether a package may name a plug-in: the quick search never misses what the library would find."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from dogwatch.plugins import may_be_named
from tests.plugins.conftest import lay_out

GROUP = "dogwatch.formats"


def in_a_folder(site: Path) -> Path:
    lay_out(site, "some", "0.1", {GROUP: {"some": "some:PLUGIN"}})
    return site


def in_capitals(site: Path) -> Path:
    lay_out(site, "some", "0.1", {GROUP: {"some": "some:PLUGIN"}})
    (site / "some-0.1.dist-info").rename(site / "Some-0.1.DIST-INFO")
    return site


def as_egg_info(site: Path) -> Path:
    lay_out(site, "some", "0.1", {GROUP: {"some": "some:PLUGIN"}})
    (site / "some-0.1.dist-info").rename(site / "some.egg-info")
    return site


def as_an_egg(site: Path) -> Path:
    lay_out(site / "some.egg", "some", "0.1", {GROUP: {"some": "some:PLUGIN"}})
    (site / "some.egg" / "some-0.1.dist-info").rename(site / "some.egg" / "EGG-INFO")
    return site / "some.egg"


def in_an_archive(site: Path) -> Path:
    lay_out(site, "some", "0.1", {GROUP: {"some": "some:PLUGIN"}})
    with zipfile.ZipFile(site / "some.zip", "w") as archive:
        for path in (site / "some-0.1.dist-info").iterdir():
            archive.write(path, f"some-0.1.dist-info/{path.name}")
    return site / "some.zip"


@pytest.mark.parametrize("put", [in_a_folder, in_capitals, as_egg_info, as_an_egg, in_an_archive])
def test_a_package_that_names_one_is_found_however_it_is_installed(
    put: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(put(tmp_path))])
    assert [entry.name for entry in metadata.entry_points(group=GROUP)] == ["some"]
    assert may_be_named(GROUP)


def test_packages_that_name_none_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, "other", "0.1", {"console_scripts": {"other": "other:main"}})
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "not there")])
    assert not may_be_named(GROUP)
