"""Installing Dogwatch as people do: the built wheels, by pip, uv and pipx, on every Python at hand, with no compiler;
an upgrade under a running daemon; leaving again."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch import __version__
from tests.conftest import _end, kill_recorded
from tests.support import wait_until

ROOT = Path(__file__).parent.parent.parent
WHEELS = Path(sys.prefix, "wheels")  # what Dogwatch depends on; `make setup` fetched it
TRIXIE = Path(sys.prefix, "trixie")  # a Debian 13; `make dist` makes it
NEXT = "99.0.0"
# Programs that a job or an installer may want; no compiler is among them.
PROGRAMS = ("sh", "env", "sleep", "cat", "echo", "uname", "id", "ps", "ssh")
COMPILERS = ("cc", "gcc", "clang", "c99", "tcc")


def ran(*words: object, env: dict[str, str], timeout: float = 120) -> str:
    """What a program printed; it must end well."""
    done = subprocess.run(list(map(str, words)), env=env, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the archive and both wheels: those of `make dist`, or fresh ones."""
    if not any(WHEELS.glob("msgspec-*")):
        pytest.skip("the wheels of the dependencies are not in .venv/wheels; `make setup` fetches them")
    given = os.environ.get("DOGWATCH_DIST")
    if given:
        return Path(given)
    if shutil.which("cc") is None:
        pytest.skip("needs cc, which is not installed")
    made = tmp_path_factory.mktemp("dist")
    ran(sys.executable, ROOT / "tools" / "dist.py", made, env=dict(os.environ))
    return made


@pytest.fixture(scope="module")
def pure(dist: Path) -> Path:
    return next(dist.glob("*-py3-none-any.whl"))


@pytest.fixture(scope="module")
def compiled(dist: Path) -> Path:
    return next(dist.glob("*manylinux*.whl"))


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody without a compiler, in a home of their own, whose pip asks no network."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    home = tmp_path / "newcomer"
    home.mkdir()
    state = tmp_path / "state"
    yield {
        "HOME": str(home),
        "PATH": str(programs),
        "LANG": "C.UTF-8",
        "DOGWATCH_HOME": str(state),
        **{"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        **{"PIP_CONFIG_FILE": os.devnull, "PIP_ONLY_BINARY": ":all:", "PIP_NO_COMPILE": "1"},
        **{"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(WHEELS), "UV_NO_CONFIG": "1"},
        **{"UV_PYTHON_DOWNLOADS": "never", "UV_CACHE_DIR": str(tmp_path / "uv-cache"), "UV_LINK_MODE": "copy"},
    }
    kill_recorded(state)


def first_minute(program: Path, env: dict[str, str]) -> None:
    """The version, an empty list, a small job to its end, and that it is on the list then."""
    assert [name for name in COMPILERS if shutil.which(name, path=env["PATH"])] == []
    assert ran(program, "--version", env=env).split() == ["dogwatch", __version__]
    assert ran(program, "ls", env=env) == ""
    words = ("run", "--name", "small", "--", "sh", "-c", "echo step 1/2; echo step 2/2")
    ran(program, *words, env=env)
    (job,) = json.loads(ran(program, "ls", "--all", "--json", env=env))["jobs"]
    assert (job["name"], job["state"], job["exit_code"]) == ("small", "ended", 0)


def python(version: str) -> str:
    """A Python of this version, wherever it may be, or a skip."""
    name = f"python{version}"
    own = Path.home() / ".pyenv" / "versions"
    there = [shutil.which(name), *map(str, own.glob(f"{version}.*/bin/{name}"))]
    for path in filter(None, there):
        # A shim of pyenv is there also for a Python that is not switched on, and works in its owner's shell only.
        asked = subprocess.run([path, "-c", "import sys, venv; print(sys.executable)"], capture_output=True, text=True)
        if asked.returncode == 0:
            return asked.stdout.strip()
    pytest.skip(f"needs {name}, which is not installed")


def fresh(tmp_path: Path, env: dict[str, str], interpreter: str, *what: Path) -> Path:
    """A virtual environment with a wheel in it, by pip; its bin."""
    made = tmp_path / "venv"
    ran(interpreter, "-m", "venv", "--without-pip", made, env=env)
    pip(made / "bin", env, "install", *what)
    return made / "bin"


def pip(there: Path, env: dict[str, str], *words: object) -> None:
    """The pip of the tests on another environment: making one of its own there takes longer than all the rest."""
    ran(sys.executable, "-m", "pip", "--python", there / "python", words[0], "-q", *words[1:], env=env)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_compiled_wheel_installs_on_each_python(version, tmp_path, newcomer, compiled):
    """No compiler is needed, and the compiled part is there and used."""
    uv, there = Path(sys.executable).parent / "uv", tmp_path / "venv" / "bin"
    ran(uv, "venv", "-q", "--python", python(version), there.parent, env=newcomer)
    ran(uv, "pip", "install", "-q", "--python", there / "python", compiled, env=newcomer)
    first_minute(there / "dogwatch", newcomer)
    asked = "from dogwatch.logs import native; print(native.library() is not None)"
    assert ran(there / "python", "-c", asked, env=newcomer) == "True\n"


def test_the_wheel_for_every_machine_installs_by_pip(tmp_path, newcomer, pure):
    """It has no compiled part and does the same."""
    there = fresh(tmp_path, newcomer, sys.executable, pure)
    first_minute(there / "dogwatch", newcomer)
    asked = "from dogwatch.logs import native; print(native.library() is None)"
    assert ran(there / "python", "-c", asked, env=newcomer) == "True\n"


def test_uv_installs_it_as_a_tool(tmp_path, newcomer, compiled):
    """`uv tool install` puts the command where uv puts commands."""
    uv = Path(sys.executable).parent / "uv"
    ran(uv, "tool", "install", "--python", sys.executable, compiled, env=newcomer)
    command = Path(newcomer["HOME"], ".local", "bin", "dogwatch")
    first_minute(command, newcomer)
    assert "uv tool uninstall dogwatch" in ran(command, "uninstall", env=newcomer)


def test_pipx_installs_it(tmp_path, newcomer, pure):
    """`pipx install` does too."""
    ran(sys.executable, "-m", "pipx", "install", "--python", sys.executable, pure, env=newcomer)
    command = Path(newcomer["HOME"], ".local", "bin", "dogwatch")
    first_minute(command, newcomer)
    assert "pipx uninstall dogwatch" in ran(command, "uninstall", env=newcomer)


@pytest.mark.needs_root
@pytest.mark.needs_tool("unshare", "chroot")
def test_debian_13_takes_the_compiled_wheel(newcomer, compiled):
    """On a Debian trixie with its own Python 3.13, another C library than the one it was compiled with, and no
    compiler."""
    if not (TRIXIE / "usr/bin/python3.13").exists():
        pytest.skip("needs a Debian 13 in .venv/trixie; `make dist` makes it")
    inside = TRIXIE / "srv" / "dogwatch"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    for wheel in (compiled, *WHEELS.iterdir()):
        shutil.copy(wheel, inside)
    script = f"""set -e
    cd /srv/dogwatch && export HOME=/srv/dogwatch DOGWATCH_HOME=/srv/dogwatch/state
    ! command -v cc
    python3 -m venv venv && venv/bin/pip install -q --no-index --find-links . {compiled.name}
    venv/bin/python -c 'from dogwatch.logs import native; assert native.library() is not None'
    venv/bin/dogwatch --version && venv/bin/dogwatch ls
    venv/bin/dogwatch run --name small -- sh -c 'echo step 1/2; echo step 2/2' >&2
    venv/bin/dogwatch ls --all --json --brief"""
    # The mounts are of this namespace alone, and gone with it.
    mounts = f"mount --bind /proc {TRIXIE}/proc && mount --bind /dev {TRIXIE}/dev && exec chroot {TRIXIE} sh -c"
    words = ("unshare", "--mount", "--propagation", "private", "sh", "-c", f'{mounts} "$0"', script)
    told = ran(*words, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"})
    shutil.rmtree(inside)
    assert told.startswith(f"dogwatch {__version__}\n")
    assert '["small","succeeded",100' in told.splitlines()[-1]


@pytest.fixture(scope="module")
def next_wheel(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same program under a later version."""
    scratch = tmp_path_factory.mktemp("next")
    archive = next(dist.glob("*.tar.gz"))
    with tarfile.open(archive) as opened:
        opened.extractall(scratch, filter="data")
    source = scratch / archive.name.removesuffix(".tar.gz")
    (source / "PKG-INFO").unlink()  # or the builder believes its version
    about = source / "src" / "dogwatch" / "__init__.py"
    about.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{NEXT}"', about.read_text()))
    words = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", scratch)
    subprocess.run(list(map(str, words)), cwd=source, env={**os.environ, "DOGWATCH_C": "no"}, check=True, timeout=60)
    return next(scratch.glob("*.whl"))


def test_a_daemon_goes_on_as_the_version_that_was_installed_under_it(tmp_path, newcomer, pure, next_wheel):
    """It restarts itself: same process id, its lease kept or taken anew, the job watched to its end. Uninstalled, it
    leaves and says so."""
    there = fresh(tmp_path, newcomer, sys.executable, pure)
    go = tmp_path / "go"
    waits = ("sh", "-c", f"until [ -e {go} ]; do sleep 1; done")
    ran(there / "dogwatch", "run", "--detach", "--name", "long", "--", *waits, env=newcomer)
    told = tmp_path / "daemon.err"
    with told.open("w") as err:
        daemon = subprocess.Popen([there / "dogwatch", "daemon"], env=newcomer, stderr=err, text=True)
    try:
        wait_until(lambda: "watching" in told.read_text())
        pip(there, newcomer, "install", next_wheel)
        wait_until(lambda: told.read_text().count("watching; ") == 2, timeout=60)
        assert f"dogwatch {NEXT} was installed" in told.read_text()
        go.touch()
        ran(there / "dogwatch", "wait", "long", "--timeout", "30", env=newcomer)
        watch = json.loads(ran(there / "dogwatch", "ls", "--json", "--no-poll", env=newcomer))["watch"]
        assert (watch["who"], watch["pid"]) == ("daemon", daemon.pid)
        assert "Traceback" not in told.read_text()
        pip(there, newcomer, "uninstall", "-y", "dogwatch")
        assert daemon.wait(timeout=60) == 0
        assert "was uninstalled" in told.read_text()
        assert "Traceback" not in told.read_text()
    finally:
        _end(daemon)


def test_uninstall_says_what_stays_and_how_to_remove_it(environment, dogwatch, home, spawn):
    """The running job, the watcher, the state and the configuration are named, with the command for each; nothing of
    them is touched."""
    ref = dogwatch("run", "--detach", "--name", "long", "--", "sleep", "600").stdout.strip()
    daemon = spawn("daemon")
    wait_until(lambda: json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["watch"]["alive"])
    config = Path(home.parent, "config")
    (config / "dogwatch").mkdir(parents=True)
    (config / "dogwatch" / "config.toml").write_text("bundles = true\n")
    said = dogwatch("uninstall", env={"XDG_CONFIG_HOME": str(config)})
    assert said.returncode == 0, said.stderr
    assert "1 job is still running" in said.stdout
    assert f"kill {daemon.pid}" in said.stdout
    assert f"rm -r {home}" in said.stdout
    assert f"rm {config}/dogwatch/config.toml" in said.stdout
    assert "pip uninstall dogwatch" in said.stdout
    assert daemon.poll() is None
    told = json.loads(dogwatch("uninstall", "--json", env={"XDG_CONFIG_HOME": str(config)}).stdout)
    assert told["running"] == [ref]
    assert told["watcher_pid"] == daemon.pid
    assert told["home"] == str(home)
    daemon.send_signal(signal.SIGTERM)
    daemon.wait(timeout=20)


def test_uninstall_where_nothing_was_ever_done_leaves_nothing(environment, dogwatch, home):
    """It makes no state of its own only to name it."""
    never = home.parent / "never"
    said = dogwatch("uninstall", env={"DOGWATCH_HOME": str(never), "XDG_CONFIG_HOME": str(home.parent)})
    assert said.returncode == 0, said.stderr
    assert not never.exists()
    assert "rm " not in said.stdout
