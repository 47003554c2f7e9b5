"""The "common issues" of the design document (003, §5.1) that take minutes, provoked for real on a sped-up clock. Slow
progress, five minutes without any, and a stall timeout that was given: test_stall_and_slow."""

import contextlib

import pytest

from tests.gpus.rig import GB, H100, Rig, build
from tests.support import jobs, wait_until

# Goes on with its items until told otherwise: a file "still" keeps its output from growing, "hang" stops everything but
# the process.
STEADY = """
from os.path import exists
with open(output, "a") as file:
    for step in range(1, 100000):
        while exists("hang"):
            time.sleep(1)
        time.sleep(2)
        say(f"Processed {step * 10}/100000 items")
        if not exists("still"):
            print('{"item": %d}' % step, file=file, flush=True)
"""


@pytest.fixture
def steady(crew, spawn, letters, fast, dogwatch):
    """One worker that counts, watched with mail, until its first items were seen."""

    def start(name, *flags, env=None):
        crew.environment.update(env or {})
        crew.start(f"{name}.py", 1, "output_worker_%d.jsonl", text=STEADY)
        mail = ["--alert-email", "user@example.com", "--output-pattern", "output_worker_*.jsonl"]
        watch = spawn(
            "watch", "--job-name", name, "--num-workers", 1, *crew.flags(), "--check-interval", 30, *mail, *flags
        )
        with fast(20):
            wait_until(lambda: name in (found := jobs(dogwatch)) and found[name]["progress"], pause=0.2)
        return watch

    return start


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def rig(tmp_path, libraries, crew):
    """A machine with one H100 that does as it is told."""
    directory = tmp_path / "rig"
    directory.mkdir()
    made = Rig(directory, libraries)
    crew.environment["PATH"] = f"{directory}:{crew.environment['PATH']}"
    crew.environment["LD_LIBRARY_PATH"] = str(directory)
    return made


@contextlib.contextmanager
def soon(fast, rate=250):
    """Many seconds in one, and what is waited for has a minute of real ones."""
    with fast(rate):
        yield lambda predicate: wait_until(predicate, timeout=40.0)


def of(level, letters, *words):
    return [letter for letter in letters() if level in letter and all(word in letter for word in words)]


def test_output_stalled(steady, fast, crew, letters, dogwatch):
    """The process runs and its log goes on, but the outputs no longer grow: a warning that says since when."""
    steady("embeds")
    with soon(fast) as until:
        until(lambda: (crew.outputs / "output_worker_0.jsonl").read_text().count("\n") > 60)
        (crew.place / "still").touch()
        until(lambda: of("WARNING", letters, "output files have not grown"))
    assert jobs(dogwatch)["embeds"]["state"] == "running"
    assert not of("CRITICAL", letters)


def test_gpu_hang(steady, fast, crew, rig, letters, dogwatch):
    """A GPU at 100 % while log and outputs stand still is a hang, not work: critical, with the GPU in the words."""
    rig.library([{**H100, "percent": 100}])
    steady("spins", "--gpu-ids", 0)
    ours = f"process 0 {jobs(dogwatch)['spins']['workers'][0]['pid']} {50 * GB} 0 0"
    rig.library([{**H100, "percent": 100}], ours)
    with soon(fast) as until:
        until(lambda: (crew.logs / "worker_0.log").read_text().count("\n") > 60)
        (crew.place / "hang").touch()
        until(lambda: of("CRITICAL", letters, "GPU"))


def test_data_loading_bottleneck(steady, fast, crew, rig, letters, dogwatch):
    """The job goes on while its GPU is hardly used: a warning that names the GPU and says to look at the data."""
    rig.library([{**H100, "percent": 97}])
    steady("starves", "--gpu-ids", 0)
    ours = f"process 0 {jobs(dogwatch)['starves']['workers'][0]['pid']} {50 * GB} 0 0"
    rig.library([{**H100, "percent": 97}], ours)
    with soon(fast) as until:
        until(lambda: (crew.logs / "worker_0.log").read_text().count("\n") > 20)
        rig.library([{**H100, "percent": 8}], ours)
        until(lambda: of("WARNING", letters, "GPU 0", "data"))
    assert jobs(dogwatch)["starves"]["state"] == "running"
