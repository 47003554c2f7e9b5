"""Packages put on a path of their own, as an installer leaves them: the module and its *.dist-info."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).parent
Install = Callable[..., dict[str, str]]


def lay_out(site: Path, name: str, version: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """The *.dist-info of a package in a folder of packages."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    rows = [f"[{group}]\n" + "".join(f"{key} = {to}\n" for key, to in named.items()) for group, named in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(rows))


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Install example packages by name; the environment in which a program finds them."""
    site = tmp_path / "site"

    def put(*names: str) -> dict[str, str]:
        for name in names:
            project = tomllib.loads((HERE / name / "pyproject.toml").read_text())["project"]
            lay_out(site, name, project["version"], project["entry-points"])
            for module in (HERE / name).glob("*.py"):
                shutil.copy(module, site)
        return {"PYTHONPATH": str(site)}

    return put


@pytest.fixture
def install_text(tmp_path: Path) -> Install:
    """Install a package of one module with this text and entry point."""
    site = tmp_path / "site"

    def put(name: str, group: str, entry: str, text: str) -> dict[str, str]:
        module = name.replace("-", "_")
        lay_out(site, name, "0.1", {group: {entry: f"{module}:PLUGIN"}})
        (site / f"{module}.py").write_text(text)
        return {"PYTHONPATH": str(site)}

    return put
