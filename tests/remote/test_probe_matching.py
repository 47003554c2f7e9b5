"""Which command lines a job name means, by the rule of matching.py."""

from __future__ import annotations

import pytest

from dogwatch.remote.probe.matching import Match, argv_means, chosen, numbers_of

YES = [
    "python train.py",
    "python -u /home/ann/train.py --lr 3",
    "/usr/bin/python3.11 -m train",
    "python -m pkg.train --steps 3",
    "torchrun --nproc_per_node 4 src/train.py",
    "python worker.py train 0",
    "python worker.py --job-name train",
    "python worker.py --job-name=train",
    "python run.py experiment=train",
    "./train",
    "/opt/bin/train --fast",
    "bash train.sh",
    "sh /opt/train",
    "timeout 60 python train.py",
]
NO = [
    "python pretrain.py",
    "python train_eval.py",
    "python train2.py",
    "python worker.py --data /data/train",
    "python worker.py --data /data/train/part-0",
    "python worker.py --out trained",
    "bash -c python train.py",
    "bash launch.sh train",
    "vim train.py",
    "/usr/bin/vim.basic train.py",
    "emacs train",
    "tail -f train",
    "grep train",
    "less train.py",
    "tmux new -s train",
    "ssh host train",
    "dogwatch watch --job-name train",
    "python -m dogwatch watch --job-name train",
]


@pytest.mark.parametrize("line", YES)
def test_whole_arguments_and_names_of_scripts_mean_a_process(line: str) -> None:
    """The name is an argument, or what is run."""
    assert argv_means(line.split(), "train")


@pytest.mark.parametrize("line", NO)
def test_parts_of_words_and_onlookers_do_not(line: str) -> None:
    """The name is in another word, or somebody only reads, edits or launches what has it."""
    assert not argv_means(line.split(), "train")


def test_code_given_as_a_text_has_no_name() -> None:
    """What stands behind -c is what a program does."""
    assert not argv_means(["python", "-c", "train"], "train")
    assert argv_means(["python", "-c", "import time", "train"], "train")


def test_a_title_counts_by_its_words() -> None:
    """A process may write its own command line anew."""
    assert argv_means(["train: worker 3"], "train")
    assert not argv_means(["pretrain: worker 3"], "train")


def test_one_argument_may_hold_blanks() -> None:
    """A name of several words is also one word with blanks in it, as a script or as an argument."""
    name = "my job (v2) [a+b]*"
    assert argv_means(["python", f"/home/ann/{name}.py"], name)
    assert argv_means(["python", "worker.py", "--job-name", name], name)
    assert not argv_means(["python", f"/home/ann/not {name}.py"], name)


def test_several_words_are_several_arguments_in_a_row() -> None:
    """So one run of a script is told from another."""
    line = ["python", "/x/train.py", "--fold", "3", "--lr", "1"]
    assert argv_means(line, "train.py --fold 3")
    assert not argv_means(line, "train.py --fold 4")
    assert not argv_means(line, "--fold 3 train.py")


def test_a_script_with_its_directory_is_that_one() -> None:
    """Two projects may have a train.py each."""
    assert argv_means(["python", "/home/ann/a/train.py"], "a/train.py")
    assert not argv_means(["python", "/home/ann/b/train.py"], "a/train.py")


def process(pid: int, parent: int, line: str) -> Match:
    return Match(pid, parent, pid, 0, line.split())


def pids(some: list[Match]) -> list[int]:
    return [one.pid for one in some]


def test_forks_belong_to_their_worker() -> None:
    """Loaders that a worker forked have its command line: two workers of four with two loaders each are two."""
    found = [process(10, 1, "python train.py 0"), process(20, 1, "python train.py 1")]
    found += [process(pid + k, pid, f"python train.py {pid // 10 - 1}") for pid in (10, 20) for k in (1, 2)]
    assert pids(chosen(found, 4)[0]) == [10, 20]
    assert pids(chosen(found, 2)[0]) == [10, 20]


def test_a_launcher_is_no_worker_while_its_workers_come() -> None:
    """Of torchrun and two of four ranks, the ranks are taken."""
    found = [process(10, 1, "torchrun train.py")] + [process(11 + k, 10, f"python train.py {k}") for k in (0, 1)]
    assert pids(chosen(found, 4)[0]) == [11, 12]


def test_more_than_expected_is_a_question() -> None:
    """Nobody is chosen."""
    found = [process(10 + k, 1, "python train.py") for k in range(28)]
    workers, unsure = chosen(found, 4)
    assert (workers, len(unsure)) == ([], 28)


def test_without_a_number_all_must_run_the_same() -> None:
    """A training and an evaluation that names it are not two workers."""
    found = [process(10, 1, "python train.py"), process(11, 1, "python eval.py --model train")]
    assert chosen(found, None) == ([], found)
    assert pids(chosen([found[0], process(12, 1, "python train.py")], None)[0]) == [10, 12]


def test_workers_have_the_numbers_that_they_were_given() -> None:
    """Whatever the order in which they were started, and also where one of them is missing."""
    found = [process(10 + k, 1, f"python worker.py --worker-id {3 - k} train") for k in range(4)]
    assert numbers_of(found, 4) == [3, 2, 1, 0]
    assert numbers_of(found[:2], 4) == [3, 2]
    assert numbers_of([*found[:3], process(13, 1, "python worker.py --worker-id=3 train")], 4) is None
    assert numbers_of([process(10 + k, 1, f"python w.py --rank {k + 1} train") for k in range(4)], 4) == [0, 1, 2, 3]
    assert numbers_of([process(10, 1, "python w.py train")], 1) is None
