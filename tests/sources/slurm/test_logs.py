"""Where a job writes, as Slurm and its own script name it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dogwatch.model import Facts, Task, Tasks
from dogwatch.sources.slurm import logs_of

FACTS = Facts(
    stdout="/home/alice/jobs/slurm-12.out",
    stderr="/home/alice/jobs/slurm-12.out",
    workdir="/home/alice/jobs",
    user="alice",
    name="train",
    nodes="gpu01",
)
SILENT = replace(FACTS, stdout="", stderr="")
ARRAY = Tasks(10, rows=(Task("3", "running"),))


@pytest.mark.parametrize(
    ("stdout", "stderr", "expected"),
    [
        ("logs/%x-%j.out", "", ["/home/alice/jobs/logs/train-12.out"]),
        ("/data/%u/%A_%N.out", "/data/%j.err", ["/data/alice/12_gpu01.out", "/data/12.err"]),
        ("/data/%5j.out", "", ["/data/00012.out"]),
        ("/data/100%%-%t.out", "", ["/data/100%-*.out"]),
        ("/data/\\%j.out", "", ["/data/%j.out"]),
        ("/dev/null", "/home/alice/e[1].txt", ["/home/alice/e[[]1].txt"]),
        ("", "", []),
    ],
)
def test_patterns_are_filled_in(stdout: str, stderr: str, expected: list[str]) -> None:
    """What differs per task or step becomes a wildcard; brackets in a name stay brackets."""
    assert logs_of(replace(FACTS, stdout=stdout, stderr=stderr), "12") == tuple(expected)


def test_the_logs_of_an_array_are_one_per_task() -> None:
    """Slurm 22.05 names a file that no task writes, so that its default is taken."""
    told = replace(FACTS, tasks=ARRAY, stdout="/l/%A_%a.out", stderr="/l/%j.err")
    assert logs_of(told, "12") == ("/l/12_*.out", "/l/*.err")
    assert logs_of(replace(told, stdout="/l/slurm-14.out", stderr=""), "12") == ("/l/slurm-12_*.out",)


SCRIPT = r"""#!/bin/bash
#SBATCH --output=logs/%j.out
# python old.py > old.log
LOG_DIR=/scratch/alice/run-${SLURM_JOB_ID}
export NAME="eval $SLURM_JOB_NAME"
python train.py --lr 3 > $LOG_DIR/train.log 2>&1 &
python eval.py 2>&1 | tee -a "$LOG_DIR/$NAME.log" | grep -v x
srun --output=steps/%j-%t.out -e steps/err.txt \
    python worker.py
python a.py >> run_$(date +%F).log 2>"errors.log"
cat > config.yaml <<END
echo not > a-file
END
cd /data/set
python b.py &> b.log
python c.py > $UNKNOWN/c.log
python d.py > d-$UNKNOWN.log
python e.py > /dev/null 2>&1
python f.py 1>&2
echo "unbalanced > g.log
"""


def test_the_script_s_own_redirections_are_found() -> None:
    """Redirections, tee and srun's files, with the variables that the script sets; nothing is run."""
    assert logs_of(SILENT, "12", SCRIPT) == (
        "/scratch/alice/run-12/train.log",
        "/scratch/alice/run-12/eval train.log",
        "/home/alice/jobs/steps/12-*.out",
        "/home/alice/jobs/steps/err.txt",
        "/home/alice/jobs/run_*.log",
        "/home/alice/jobs/errors.log",
        "/home/alice/jobs/config.yaml",
        "/data/set/b.log",
        "/data/set/d-*.log",
    )


@pytest.mark.parametrize(
    "script",
    [
        "x > $HOME/../..",
        "x > *",
        "x > ~/a.log",
        "x > /$A/b.log",
        "x > >(tee y)",
        "cd $A; x > b.log",
        "x > '\n'",
        "> ",
        "tee",
        "x > $",
        "x > ${A",
    ],
)
def test_a_file_that_could_be_anywhere_is_not_looked_for(script: str) -> None:
    """No glob begins at the root, at nothing, or at a place that nobody knows."""
    found = logs_of(SILENT, "12", script)
    assert all(path.startswith("/home/alice/jobs/") and "*" not in path.replace("[*]", "") for path in found)


def test_without_any_fact_no_log_is_known() -> None:
    """Not even where a script would write below a work directory."""
    assert logs_of(Facts(), "12") == ()
    assert logs_of(Facts(tasks=Tasks()), "12", "x > y") == ()
