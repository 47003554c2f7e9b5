"""The program, its Python, its packages and variables, found by the very interpreter that will run it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.preflight.conftest import PYTHON, Preflight, program


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with nothing in it but a torch of no weight, built for CUDA 12.4."""
    path = tmp_path_factory.mktemp("fresh") / "env"
    venv.create(path, with_pip=False, symlinks=True)
    (site,) = path.glob("lib/python3*/site-packages")
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object')\n")
    (site / "torch" / "version.py").write_text("__version__ = '2.5.1+cu124'\ncuda: str = '12.4'\nhip = None\n")
    (site / "torch-2.5.1.dist-info").mkdir()
    (site / "torch-2.5.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1\n")
    (site / "slow_one").mkdir()
    (site / "slow_one" / "__init__.py").write_text("import time\ntime.sleep(600)\n")
    return path


def test_packages_are_looked_for_by_the_interpreter_of_the_command(preflight: Preflight, fresh: Path) -> None:
    """What our own Python has does not count, and finding a package does not import it."""
    told = preflight("--require", "torch", "pytest", "slow_one", "--", fresh / "bin" / "python", "-c", "pass")
    assert told.of("package torch") == ("pass", "2.5.1")
    assert told.of("package pytest") == ("fail", f"is not installed for {fresh}/bin/python")
    assert told.verdict("package slow_one") == "pass"
    assert told.of("interpreter")[1].endswith(f", environment {fresh}")
    assert told.code == 1


def test_an_import_is_tried_when_asked_and_has_a_deadline(preflight: Preflight, fresh: Path) -> None:
    """What fails says why; what hangs costs its own line and those after it, and leaves no process behind."""
    words = ("--try-import", "--most", "4s", "--require", "json", "torch", "slow_one")
    told = preflight(*words, "--", fresh / "bin" / "python", "-c", "pass")
    assert told.of("package json")[0] == "pass"
    why = "cannot be imported: ImportError: libcudart.so.12: cannot open shared object"
    assert told.of("package torch") == ("fail", why)
    assert told.of("package slow_one")[1].startswith("could not be checked: did not answer in")
    running = subprocess.run(["pgrep", "-f", f"^{fresh}/bin/python"], capture_output=True, text=True)
    assert running.stdout == ""


def test_a_script_brings_its_interpreter_and_the_packages_beside_it(preflight: Preflight, fresh: Path) -> None:
    """By its first line, and from its own directory, as when it is started."""
    script = program(fresh / "train.py", f"#!{fresh}/bin/python\nimport beside\n")
    (fresh / "beside.py").touch()
    told = preflight("--require", "beside", "torch", "--", script)
    assert (told.verdict("package beside"), told.verdict("package torch")) == ("pass", "pass")
    assert told.of("interpreter")[1].startswith(f"{fresh}/bin/python is Python ")


def test_an_environment_that_is_active_and_not_used_is_told(preflight: Preflight, fresh: Path) -> None:
    """The usual slip: activated one, started another."""
    told = preflight("--", "/usr/bin/env", "python3", "-c", "pass", env={"VIRTUAL_ENV": str(fresh)})
    verdict, text = told.of("interpreter")
    assert verdict == "warn"
    assert text.endswith(f"while {fresh} is active")
    used = preflight(
        "--", "python", "-c", "pass", env={"VIRTUAL_ENV": str(fresh), "PATH": f"{fresh}/bin:/usr/bin:/bin"}
    )
    assert used.verdict("interpreter") == "pass"


def test_a_script_that_is_not_there_and_a_program_that_is_not_executable(preflight: Preflight, tmp_path: Path) -> None:
    """Found before anything is started."""
    told = preflight("--", PYTHON, "missing.py")
    assert told.of("script") == ("fail", f"{tmp_path}/start/missing.py is not there")
    (tmp_path / "start" / "run.sh").write_text("#!/bin/sh\n")
    assert preflight("--", "./run.sh").of("command") == ("fail", "./run.sh is there and is not executable")
    assert preflight("--", "no-such-program").of("command") == ("fail", "no-such-program was not found")


def test_a_launcher_is_looked_through_to_its_script(preflight: Preflight, tmp_path: Path, bin_dir: Path) -> None:
    """torchrun is a script of its own Python, and what it starts is the one to look at."""
    torchrun = program(bin_dir / "torchrun", f"#!{PYTHON}\n")
    (tmp_path / "start" / "train.py").write_text("import signal\nsignal.signal(signal.SIGTERM, print)\n")
    words = ("--signal", "TERM", "--", torchrun, "--nproc-per-node", "8")
    told = preflight(*words, "train.py", "--lr", "0.1")
    assert told.of("signal TERM") == ("pass", f"handled at line 2 of {tmp_path}/start/train.py")
    assert preflight(*words, "trian.py").of("script") == ("fail", f"{tmp_path}/start/trian.py is not there")
    assert preflight("--", PYTHON, "-m", "torch.distributed.run", "trian.py").verdict("script") == "fail"


def test_an_interpreter_that_hangs_does_not_hang_the_checklist(
    preflight: Preflight, bin_dir: Path, on_path: dict[str, str]
) -> None:
    """A Python on a dead mount looks like this; the rest is judged."""
    program(bin_dir / "python9", "#!/bin/sh\nexec sleep 600\n")
    told = preflight("--most", "3s", "--log-dir", bin_dir, "--", "python9", "-c", "pass", env=on_path)
    assert told.of("interpreter")[0] == "fail"
    assert "did not answer" in told.of("interpreter")[1]
    assert told.verdict("log directory") == "pass"


@pytest.mark.parametrize(
    ("words", "env", "verdict"),
    [
        (("python3", "-u", "-c", "pass"), {}, "pass"),
        (("python3", "-Iu", "-c", "pass"), {}, "pass"),
        (("python3", "-c", "pass"), {}, "warn"),
        (("python3", "-c", "pass"), {"PYTHONUNBUFFERED": "1"}, "pass"),
        (("env", "PYTHONUNBUFFERED=1", "python3", "-c", "pass"), {}, "pass"),
        (("stdbuf", "-oL", "cat"), {}, "pass"),
        (("cat",), {}, "warn"),
    ],
)
def test_output_that_is_held_back_is_warned_of(
    preflight: Preflight, words: tuple[str, ...], env: dict[str, str], verdict: str
) -> None:
    """A log that stays empty for an hour is how a healthy job looks dead."""
    assert preflight("--", *words, env=env).verdict("logging") == verdict


def test_variables_are_those_that_the_job_will_have(preflight: Preflight) -> None:
    """Set here, or for it; empty is not set."""
    told = preflight(
        "--env", "HF_HOME", "EMPTY", "--env", "MODE=x", "MODE", "--", "true", env={"HF_HOME": "/x", "EMPTY": ""}
    )
    assert told.of("variables") == ("fail", "not set or empty where it will run: EMPTY")


def test_core_dumps_are_as_asked(preflight: Preflight) -> None:
    """By the limit that the job will inherit."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

    assert preflight("--core-dumps", "off", "--", "true", preexec_fn=limited).verdict("core dumps") == "pass"
    assert preflight("--core-dumps", "on", "--", "true", preexec_fn=limited).verdict("core dumps") == "fail"


def test_a_signal_that_the_job_would_ignore_from_birth_fails(preflight: Preflight, tmp_path: Path) -> None:
    """nohup and & leave their mark on whatever is started under them."""
    script = program(tmp_path / "train.py", f"#!{sys.executable}\nimport signal\nsignal.signal(signal.SIGHUP, print)\n")
    assert preflight("--signal", "HUP", "--", script).verdict("signal HUP") == "pass"
    ignored = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-m", "dogwatch", "preflight"]
    env = {**os.environ, "DOGWATCH_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [*ignored, "--signal", "HUP", "--", str(script)], env=env, capture_output=True, text=True, timeout=60
    )
    assert "fail  signal HUP: is ignored by the parent process" in done.stdout
