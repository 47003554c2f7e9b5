"""What a command's words say by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.api.preflight.plan import size_of, understood
from dogwatch.errors import UsageError


@pytest.mark.parametrize(
    ("line", "words", "set_", "unbuffered"),
    [
        ("python train.py", "python train.py", {}, ""),
        ("nohup nice -n 5 python train.py", "python train.py", {}, ""),
        ("env -u X A=1 B= python t.py", "python t.py", {"A": "1", "B": ""}, ""),
        ("timeout -k 5 3600 stdbuf -oL ./run.sh", "./run.sh", {}, "stdbuf -oL"),
        ("stdbuf -o 0 ./run.sh", "./run.sh", {}, "stdbuf -o 0"),
        ("/usr/bin/env python3 t.py", "python3 t.py", {}, ""),
        ("torchrun --nproc-per-node 8 t.py", "torchrun --nproc-per-node 8 t.py", {}, ""),
    ],
)
def test_what_only_starts_another_program_is_taken_off(line, words, set_, unbuffered):
    """The program that counts is the one behind nohup, env, timeout and the like."""
    found = understood(line.split())
    assert (" ".join(found.words), dict(found.set), found.unbuffered) == (words, set_, unbuffered)


@pytest.mark.parametrize(
    ("line", "every"),
    [
        ("python t.py --save_steps 500", ("--save_steps", "500")),
        ("python t.py --save-interval=1000", ("--save-interval", "1000")),
        ("python t.py trainer.save_freq=20", ("trainer.save_freq", "20")),
        ("python t.py --checkpoint-every 30m", ("--checkpoint-every", "30m")),
        ("python t.py --train.ckpt_interval 5", ("--train.ckpt_interval", "5")),
        ("python t.py --logging_steps 10 --eval-interval 5", None),
        ("python t.py --save_dir out", None),
    ],
)
def test_how_often_it_saves_is_read_off_its_options(line, every):
    """As the trainers of today spell it; where it saves is not how often."""
    assert understood(line.split()).every == every


@pytest.mark.parametrize(
    ("text", "size"),
    [("40GB", 40_000_000_000), ("40GiB", 40 << 30), ("24G", 24 << 30), ("512MiB", 512 << 20), ("1.5k", 1536), ("7", 7)],
)
def test_sizes_are_as_people_write_them(text, size):
    """With the decimal B and the binary iB; a bare letter is how memory is counted."""
    assert size_of(text, "--gpu-memory") == size


@given(st.lists(st.text(max_size=20), max_size=8))
def test_any_words_are_understood_somehow(words):
    """Nothing that can stand on a command line breaks the reading of it."""
    assert len(understood(words).words) <= len(words)


@given(st.from_regex(r"\s*[^0-9\s].{0,20}", fullmatch=True) | st.sampled_from(["", "0", "0GB", "-1G", "1e9", "4XB"]))
def test_what_is_no_size_is_refused_in_a_sentence(text):
    """Whatever does not begin with a number above nothing."""
    with pytest.raises(UsageError, match="--gpu-memory takes a size"):
        size_of(text, "--gpu-memory")
