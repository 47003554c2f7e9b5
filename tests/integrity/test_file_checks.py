"""What the travelling program says of checkpoints, outputs and texts that grow."""

from __future__ import annotations

import base64
import json
import os
import socket
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.api.check import check, exit_code, remedy
from dogwatch.remote import EXTRA_PROBES, extra_probe
from dogwatch.transport.local import Here
from tests.integrity.samples import MAKERS

NAMES: dict[str, Any] = {"__name__": "extra_probe"}
exec(zlib.decompress(base64.b64decode(extra_probe("integrity"))), NAMES)  # noqa: S102
TENSORS, TORCH, PARQUET = (MAKERS[name][0]() for name in ("model.safetensors", "model.pt", "rows.parquet"))


def budget(seconds: float = 5.0, amount: int = 1 << 30) -> Any:
    return NAMES["Budget"](seconds, amount)


def checkpoint(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = NAMES["check_checkpoint"](str(path), budget())
    return found


def judged(*paths: Path, left: Mapping[str, float | None] | None = None) -> dict[str, tuple[str, str]]:
    call = {"paths": list(map(str, paths)), "left": left or {}, "seconds": 5.0, "bytes": 1 << 30}
    rows = NAMES["extra_probe"](call)["files"]
    return {os.path.basename(row["file"]): (row["verdict"], row["why"]) for row in rows}


def sharded(folder: Path, count: int = 3) -> Path:
    folder.mkdir()
    names = [f"model-{n + 1:05d}-of-{count:05d}.safetensors" for n in range(count)]
    for name in names:
        (folder / name).write_bytes(TENSORS)
    index = {"metadata": {}, "weight_map": {f"w{n}": name for n, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "trainer_state.json").write_text('{\n  "epoch": 2.5,\n  "global_step": 1500,\n  "log_history": []\n}')
    return folder


def test_a_sharded_checkpoint_is_sound_with_all_its_parts_and_says_its_step(tmp_path: Path) -> None:
    """What is written in it beats its name."""
    found = checkpoint(sharded(tmp_path / "checkpoint-9"))
    assert (found["verdict"], found["iteration"]) == ("intact", 1500)


@pytest.mark.parametrize("how", ["missing", "cut", "empty", "zeros"])
def test_a_checkpoint_with_one_bad_part_is_not_sound_and_names_it(tmp_path: Path, how: str) -> None:
    """Whichever way it went bad."""
    folder = sharded(tmp_path / "checkpoint-9")
    part = folder / "model-00002-of-00003.safetensors"
    if how == "missing":
        part.unlink()
    else:
        part.write_bytes({"cut": TENSORS[:-7], "empty": b"", "zeros": bytes(len(TENSORS))}[how])
    found = checkpoint(folder)
    assert found["verdict"] == "damaged"
    assert "model-00002-of-00003.safetensors" in found["why"] or "lacks part 2 of" in found["why"]
    assert remedy(found["verdict"], found["why"])


def test_ranks_that_lack_and_distributed_parts_without_their_list_are_not_sound(tmp_path: Path) -> None:
    """DeepSpeed's parts of ranks 0, 1 and 3; torch's distributed parts before `.metadata` was written."""
    deep, spread = tmp_path / "global_step40", tmp_path / "step_50"
    deep.mkdir()
    for rank in (0, 1, 3):
        (deep / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt").write_bytes(TORCH)
    assert "of rank 2" in checkpoint(deep)["why"]
    (deep / "bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt").write_bytes(TORCH)
    (tmp_path / "latest").write_text("global_step40")
    assert (checkpoint(deep)["verdict"], checkpoint(deep)["latest"]) == ("intact", "global_step40")
    spread.mkdir()
    for rank in range(2):
        (spread / f"__{rank}_0.distcp").write_bytes(b"parts" * 100)
    assert "lacks .metadata" in checkpoint(spread)["why"]
    (spread / ".metadata").write_bytes(b"\x80\x04list")
    assert checkpoint(spread)["verdict"] == "cannot tell"


def test_a_single_file_and_an_empty_directory_are_judged_too(tmp_path: Path) -> None:
    """A header may hold the step; a pickle is never opened for it."""
    one = tmp_path / "model.safetensors"
    one.write_bytes(TENSORS)
    assert (checkpoint(one)["verdict"], checkpoint(one)["iteration"]) == ("intact", 100)
    old = tmp_path / "epoch_1.pt"
    old.write_bytes(b"\x80\x02}q\x00.cos\nsystem\n")
    assert (checkpoint(old)["verdict"], checkpoint(old)["iteration"]) == ("cannot tell", None)
    (tmp_path / "step_1").mkdir()
    assert checkpoint(tmp_path / "step_1")["why"] == "is an empty directory"
    assert checkpoint(tmp_path / "gone")["verdict"] == "damaged"


@given(st.binary(max_size=300))
def test_any_note_beside_a_checkpoint_is_a_number_or_nothing(text: bytes) -> None:
    """Notes are hostile, too."""
    found = NAMES["SAYS"].search(text + b'"step": 12}')
    assert found is not None
    assert int(found.group(1)) >= 0


def test_outputs_are_judged_as_finished_with_what_lacks_and_what_was_left_behind(tmp_path: Path) -> None:
    """Each with a verdict of its own, and what to do."""
    for part in (1, 2, 4):
        (tmp_path / f"out-{part:05d}-of-00004.parquet").write_bytes(PARQUET)
    (tmp_path / "out-00002-of-00004.parquet").write_bytes(PARQUET[:-30])
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"a"')
    (tmp_path / "rows.jsonl.tmp").write_text('{"a": 1}\n')
    (tmp_path / "notes.jsonl.tmp").write_text("not of this job")
    os.utime(tmp_path / "notes.jsonl.tmp", (1000.0, 1000.0))
    left = {f"{tmp_path}/*.{ending}": 2000.0 for ending in ("parquet", "jsonl")}
    found = judged(*sorted(tmp_path.glob("*.parquet")), tmp_path / "rows.jsonl", left=left)
    assert {name: verdict for name, (verdict, _) in found.items()} == {
        "out-00001-of-00004.parquet": "intact",
        "out-00002-of-00004.parquet": "damaged",
        "out-00004-of-00004.parquet": "intact",
        "rows.jsonl": "damaged",
        "out*.parquet": "damaged",
        "rows.jsonl.tmp": "damaged",
    }
    assert found["out*.parquet"][1] == "lacks part 3 of 00004"
    assert all(remedy(verdict, why) for verdict, why in found.values() if verdict == "damaged")


def test_files_named_one_by_one_tell_of_parts_that_lack_and_of_what_lies_beside_them(tmp_path: Path) -> None:
    """As whoever has listed the outputs already asks it, in one call."""
    paths = [tmp_path / f"out-{part:05d}-of-00003.parquet" for part in (1, 3)]
    for path in paths:
        path.write_bytes(PARQUET)
    (tmp_path / "out-00002-of-00003.parquet.tmp").write_bytes(PARQUET[:50])
    found = judged(*paths, left={f"{tmp_path}/*.parquet": None})
    assert [(name, verdict) for name, (verdict, _) in found.items()] == [
        ("out-00001-of-00003.parquet", "intact"),
        ("out-00003-of-00003.parquet", "intact"),
        ("out*.parquet", "damaged"),
        ("out-00002-of-00003.parquet.tmp", "damaged"),
    ]


def test_a_link_that_leads_elsewhere_a_fifo_and_a_socket_are_not_opened(tmp_path: Path) -> None:
    """A FIFO would wait for ever, and what a link leads to is not the job's."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.json").write_text("{}")
    (inside / "a.json").symlink_to(outside / "secret.json")
    os.mkfifo(inside / "b.json")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(inside / "c.json"))
        found = judged(*(inside / f"{name}.json" for name in "abc"))
    assert {name: verdict for name, (verdict, _) in found.items()} == dict.fromkeys(
        ("a.json", "b.json", "c.json"), "cannot tell"
    )


def test_the_whole_way_to_a_place_and_back(tmp_path: Path) -> None:
    """As `dogwatch check` asks it."""
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("{")
    here = Here()
    try:
        rows = check(here, str(tmp_path), 5.0)
    finally:
        here.close()
    assert {row["file"]: row["verdict"] for row in rows} == {
        f"{tmp_path}/a.json": "intact",
        f"{tmp_path}/b.json": "damaged",
    }
    assert set(rows[0]) == {"file", "format", "verdict", "why", "size", "records"}
    assert exit_code({row["verdict"] for row in rows}) == 1


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"x", b"\n")), max_size=12))
def test_lines_count_once_in_whatever_pieces_they_come(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    """With an allowance that ends anywhere between."""
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    known: list[int] = []
    path.write_bytes(b"")
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        known = NAMES["count_lines"](str(path), known, budget(amount=5))["known"]
    for _ in range(3):
        known = NAMES["count_lines"](str(path), known, budget())["known"]
    whole = b"".join(pieces)
    assert known[1:] == [len(whole), whole.count(b"\n")]


def test_checkpoints_are_guessed_by_name_and_time_only_and_within_bounds(tmp_path: Path) -> None:
    """Old ones, hidden ones and what lies behind a link are left alone."""
    (tmp_path / "a" / "checkpoint-10").mkdir(parents=True)
    (tmp_path / "b" / "c" / "d" / "e" / "global_step4").mkdir(parents=True)
    (tmp_path / "old" / "epoch_1").mkdir(parents=True)
    os.utime(tmp_path / "old" / "epoch_1", (1000.0, 1000.0))
    (tmp_path / ".cache" / "step_1").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "b" / "c" / "d" / "e")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "model_0010.pt").write_bytes(b"x")
    (tmp_path / "w" / "train.py").write_text("")
    found = NAMES["guess_checkpoints"]([str(tmp_path), "/no/such"], 2000.0, 5.0)
    assert sorted(found) == [f"{tmp_path}/a/checkpoint-*", f"{tmp_path}/w/*.pt"]
    assert NAMES["guess_checkpoints"]([str(tmp_path)], 2000.0, 0.0) == []


def test_parts_of_a_program_that_travels_have_names_of_their_own() -> None:
    """All of them share one text: the second of two would take the place of the first."""
    import ast

    from dogwatch import remote

    for name, parts in EXTRA_PROBES.items():
        seen: dict[str, str] = {}
        for part in parts:
            tree = ast.parse((Path(remote.__file__).parent / name / f"{part}.py").read_text())
            tops = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            for node in tree.body:
                targets = node.targets if isinstance(node, ast.Assign) else []
                targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
                tops += [target.id for target in targets if isinstance(target, ast.Name)]
            for top in tops:
                assert top == "TYPE_CHECKING" or seen.setdefault(top, part) == part, (top, part, seen[top])
