"""What is refused, what is never executed, and what a directory must hold."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import zipfile

import pytest

from tests.integrity.samples import MAKERS


class Boom:
    """Unpickled, it would leave a file behind."""

    def __reduce__(self):
        return os.mkdir, (os.environ["BOOM"],)


@pytest.mark.parametrize("name", ["model.pkl", "model.pt", "model.bin", "inside.pt", "objects.npy"])
def test_what_is_pickled_is_never_executed(judge, tmp_path, monkeypatch, name):
    """It cannot be judged, or is judged by what is round it."""
    monkeypatch.setenv("BOOM", str(tmp_path / "boom"))
    bomb = pickle.dumps(Boom())
    path = tmp_path / name
    if name == "inside.pt":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("m/data.pkl", bomb)
    elif name == "objects.npy":
        head = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bomb)
    else:
        path.write_bytes(bomb)
    row = judge(path)
    assert row["verdict"] == ("intact" if name == "inside.pt" else "cannot tell")
    assert not (tmp_path / "boom").exists()


def test_fifos_devices_and_links_that_lead_out_are_refused(judge, judge_all, tmp_path):
    """By name, without opening them."""
    tree = tmp_path / "out"
    tree.mkdir()
    (tmp_path / "secret.json").write_text("{}")
    os.mkfifo(tree / "pipe.json")
    (tree / "link.json").symlink_to("../secret.json")
    (tree / "zero.json").symlink_to("/dev/zero")
    (tree / "gone.json").symlink_to("nowhere.json")
    (tree / "fine.json").write_text("{}")
    (tree / "inner.json").symlink_to("fine.json")
    rows = {os.path.basename(row["file"]): (row["verdict"], row["why"]) for row in judge_all(tree)}
    assert rows == {
        "fine.json": ("intact", ""),
        "gone.json": ("damaged", "is a link to something that is not there"),
        "link.json": ("cannot tell", "is a link that leads out of the directory"),
        "pipe.json": ("cannot tell", "is not a regular file"),
        "zero.json": ("cannot tell", "is a link that leads out of the directory"),
    }
    assert judge(tree / "pipe.json")["verdict"] == "cannot tell"
    assert "name that instead" in judge(tree / "link.json")["why"]


def test_a_zip_bomb_is_refused_before_it_is_unpacked(judge, tmp_path):
    """By its ratio, and by entries that share their bytes."""
    path = tmp_path / "bomb.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("zeros", "w") as out,
    ):
        for _ in range(1100):
            out.write(bytes(1 << 20))
    assert "bomb" in judge(path)["why"]
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("a", b"x" * 1000)
        archive.filelist.append(archive.filelist[0])
    assert "overlap" in judge(tmp_path / "twice.zip")["why"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.json", b"[" * 1_000_000),
        ("long.jsonl", b'{"a": "' + b"x" * 3_000_000 + b'"}\n'),
        ("many.csv", b"a,b\n" * 100_000),
        ("huge.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"),
        ("huge.safetensors", (1 << 62).to_bytes(8, "little") + b"{}"),
        ("huge.gguf", b"GGUF\x03\0\0\0" + b"\xff" * 16),
        ("odd.parquet", b"PAR1" + b"\x19\xfc" * 40 + (80).to_bytes(4, "little") + b"PAR1"),
        ("odd.arrow", b"\xff\xff\xff\xff\x10\0\0\0" + b"\xff" * 16),
        ("odd.tar", b"x" * 257 + b"ustar" + b"9" * 1000),
        ("odd.h5", b"\x89HDF\r\n\x1a\n\x02" + b"\xff" * 50),
        ("odd.gif", b"GIF89a" + b"\xff" * 900),
        ("odd.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 50),
    ],
)
def test_nonsense_is_an_answer_and_not_a_crash(judge, tmp_path, name, text):
    """Whatever stands in a file, there is one verdict and one reason."""
    (tmp_path / name).write_bytes(text)
    assert judge(tmp_path / name)["verdict"] in ("damaged", "cannot tell", "intact")


def test_what_was_left_behind_unfinished_is_not_sound(judge, tmp_path):
    """A name that says so, however whole the file is."""
    for name in ("model.safetensors.tmp", "rows.jsonl.part", "x.incomplete", "tmp-checkpoint-500.json"):
        (tmp_path / name).write_bytes(MAKERS["model.safetensors"][0]())
        assert judge(tmp_path / name)["why"] == "was left behind unfinished, by its name"


def test_a_missing_shard_is_found(judge_all, tmp_path):
    """By the others' numbers, and by an index that names it."""
    whole = MAKERS["model.safetensors"][0]()
    for n in (1, 2, 4):
        (tmp_path / f"model-{n:05d}-of-00004.safetensors").write_bytes(whole)
    index = {"weight_map": {"a": "model-00001-of-00004.safetensors", "b": "model-00003-of-00004.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    wrong = sorted(row["why"] for row in judge_all(tmp_path) if row["verdict"] != "intact")
    assert wrong == ["is not there, and model.safetensors.index.json names it", "lacks part 3 of 00004"]


def test_a_file_of_no_format_says_nothing_of_its_directory(judge_all, tmp_path):
    """Alone it cannot be judged; among others it is passed over, as is an empty marker."""
    (tmp_path / "README").write_text("hello")
    (tmp_path / "_SUCCESS").write_text("")
    assert [row["why"] for row in judge_all(tmp_path)] == ["contains no file of a known format"]
    (tmp_path / "scores.json").write_text("[1]")
    assert [row["verdict"] for row in judge_all(tmp_path)] == ["intact"]


def dogwatch(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dogwatch", "check", *words], capture_output=True, text=True, timeout=60
    )


def test_what_to_do_is_said_below_what_is_not_sound(tmp_path):
    """One line of advice under each, and none under what is intact; scripts read it nowhere but in the text."""
    (tmp_path / "fine.jsonl").write_text("{}\n")
    (tmp_path / "cut.jsonl").write_text('{}\n{"a"')
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "loose.json").symlink_to("gone.json")
    told = dogwatch(*(str(tmp_path / name) for name in ("fine.jsonl", "cut.jsonl", "gone", "links"))).stdout
    lines = told.splitlines()
    assert [line.startswith(" ") for line in lines] == [False, False, True, False, True, False, True], told
    assert lines[0].endswith("(jsonl, 3 B, 1 record)")
    assert "make it again from the last checkpoint" in lines[2]
    assert "correct the path" in lines[4]
    assert "the target of the link is gone" in lines[6]


def test_the_exit_code_says_it(tmp_path):
    """0 intact, 1 damaged, 3 cannot be judged; the worst of several, and what is not there is damaged."""
    (tmp_path / "fine.json").write_text("{}")
    (tmp_path / "cut.json").write_text("{")
    (tmp_path / "notes.txt").write_text("x")
    fine, cut, notes = (str(tmp_path / name) for name in ("fine.json", "cut.json", "notes.txt"))
    assert dogwatch(fine).returncode == 0
    assert dogwatch(fine, notes).returncode == 3
    assert dogwatch(notes, cut, fine).returncode == 1
    assert dogwatch(str(tmp_path / "gone")).returncode == 1
    assert dogwatch("--most", "never", fine).returncode == 2
    row = json.loads(dogwatch("--json", cut).stdout)
    assert row == {
        "file": cut,
        "format": "json",
        "verdict": "damaged",
        "why": "ends in the middle of a value",
        "size": 1,
        "records": None,
    }


def test_names_with_escapes_do_no_harm(tmp_path):
    """On a terminal a name is text and nothing else."""
    (tmp_path / "a\x1b[31m\n.json").write_text("{}")
    told = dogwatch(str(tmp_path))
    assert "\x1b" not in told.stdout
    assert len(told.stdout.splitlines()) == 1
