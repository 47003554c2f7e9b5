"""How people type: wrong flags, names with blanks, numbers with commas, paths with ~; one sentence when it is wrong."""

import pytest

from tests.support import jobs

COUNTS = """
for step in range(1, 11):
    time.sleep(0.15)
    say(f"Processed {step * 100}/1000 items")
with open(output, "w") as file:
    file.write("[1, 2, 3]")
"""


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--jobname", "x"], ["--jobname", "did you mean --job-name?"]),
        (["--job-name", ""], ["--job-name"]),
        (["--job-name", "x", "--num-workers", "two"], ["--num-workers", "two"]),
        (["--job-name", "x", "--num-workers", "0"], ["--num-workers", "at least 1"]),
        (["--job-name", "x", "--total-items", "0"], ["--total-items", "at least 1"]),
        (["--job-name", "x", "--total-items", "1,0,0"], ["--total-items", "1,0,0"]),
        (["--job-name", "x", "--total-items", "many"], ["--total-items", "many"]),
        (["--job-name", "x", "--check-interval", "0"], ["--check-interval", "above zero"]),
        (["--job-name", "x", "--stall-timeout", "never"], ["--stall-timeout", "15m"]),
        (["--job-name", "x", "--output-pattern", "a*"], ["--output-pattern", "--output-dir"]),
        (["--job-name", "x", "--pid", "99999999"], ["99999999"]),
        (["--job-name", "x", "--config", "none.yaml"], ["none.yaml"]),
        (["--total-items", "5"], ["--job-name"]),
    ],
)
def test_what_is_typed_wrong_is_told_in_one_sentence(dogwatch, typed, words):
    """Exit code 2, the last line says what and how, nothing is registered, and no traceback is seen."""
    refused = dogwatch("watch", *typed)
    assert refused.returncode == 2
    last = refused.stderr.strip().splitlines()[-1]
    for word in words:
        assert word in last
    assert "Traceback" not in refused.stderr
    assert jobs(dogwatch) == {}


def test_a_name_with_blanks_and_regex_signs(crew, dogwatch):
    """The name is taken letter by letter, on the command line, in the match and in every command after it."""
    name = "my job (v2) [a+b]*"
    crew.start(f"{name}.py", 2, text=COUNTS)
    watched = dogwatch("watch", "--job-name", name, "--num-workers", 2, *crew.flags(), "--check-interval", 1)
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert name in watched.stdout
    for verb in ("status", "why", "logs", "report"):
        assert dogwatch(verb, name).returncode == 0
    assert jobs(dogwatch)[name]["outcome"] == "completed"


def test_numbers_with_commas_and_paths_from_here_and_home(crew, dogwatch):
    """--total-items 2,000, a relative directory and ~ mean what they mean everywhere."""
    crew.start("typed.py", 2, text=COUNTS)
    watched = dogwatch(
        *("watch", "--job-name", "typed", "--num-workers", 2, "--total-items", "2,000", "--check-interval", 1),
        *("--log-dir", "logs", "--output-dir", "~/outputs/"),
        cwd=crew.place,
        env={"HOME": str(crew.place)},
    )
    assert watched.returncode == 0, watched.stdout + watched.stderr
    job = jobs(dogwatch)["typed"]
    assert (job["outcome"], job["progress"]["step"], job["progress"]["total"]) == ("completed", 2000, 2000)
    assert len(job["outputs"]) == 2


def test_nobody_of_that_name_comes(dogwatch, tmp_path):
    """Without --num-workers too, a job whose workers never appear is given up after the launch timeout."""
    watched = dogwatch("watch", "--job-name", "nobody_is_called_so", "--launch-timeout", 2, "--check-interval", 1)
    assert watched.returncode == 1
    assert "nobody_is_called_so" in watched.stdout
    assert "within 2 s" in watched.stdout
