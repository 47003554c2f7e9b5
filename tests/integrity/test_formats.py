"""Every format: its whole file is intact, and a file that was cut or has a wrong bit is not."""

from __future__ import annotations

import bz2
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tests.integrity.samples import MAKERS

# The text of a table says nothing of its length: a row may be the last one or not.
NO_END = {"log.csv", "rows.jsonl"}
CHECKED = ("arrays.npz", "model.pt", "rows.parquet", "rows.jsonl.gz", "rows.bz2", "rows.xz", "rows.zst", "plot.png")
CUTS, FLIPS = 1000, 300


@pytest.mark.parametrize("name", MAKERS)
def test_a_whole_file_is_sound(judge, tmp_path, name):
    """With its format and, where that is cheap, its number of records."""
    make, kind, records = MAKERS[name]
    (tmp_path / name).write_bytes(make())
    row = judge(tmp_path / name)
    assert (row["verdict"], row["format"], row["records"]) == ("intact", kind, records), row["why"]


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in NO_END])
def test_no_truncation_goes_unnoticed(judge, tmp_path, name):
    """A thousand places to stop writing, the first and the last byte among them."""
    whole, path, chance = MAKERS[name][0](), tmp_path / name, random.Random(name)
    cuts = {0, 1, len(whole) - 1} | {chance.randrange(len(whole)) for _ in range(CUTS)}
    missed = []
    for cut in cuts:
        path.write_bytes(whole[:cut])
        if judge(path)["verdict"] != "damaged":
            missed.append(cut)
    assert missed == []


@pytest.mark.parametrize("name", sorted(NO_END))
def test_a_row_that_was_cut_is_noticed(judge, tmp_path, name):
    """Wherever it is cut, unless exactly a whole row is left."""
    whole, path, chance = MAKERS[name][0](), tmp_path / name, random.Random(name)
    for cut in {chance.randrange(1, len(whole)) for _ in range(CUTS)}:
        kept = whole[:cut]
        last = kept[kept.rfind(b"\n") + 1 :]
        path.write_bytes(kept)
        row = judge(path)
        if name == "rows.jsonl" and last and not last.endswith(b"}"):
            assert row["verdict"] == "damaged", (cut, row)
        if name == "log.csv" and kept.count(b"\n") and last.count(b",") == 1 and b"went" not in last:
            assert row["verdict"] == "damaged", (cut, row)


@pytest.mark.parametrize("name", CHECKED)
def test_no_flipped_bit_in_a_checksummed_payload_goes_unnoticed(judge, tmp_path, name):
    """Three hundred of them, each anywhere in what the checksum covers."""
    whole, path, chance = MAKERS[name][0](), tmp_path / name, random.Random(name)
    spans = [span for span in _payload(name, whole) if span[1] > span[0]]
    missed = []
    for _ in range(FLIPS):
        start, end = chance.choice(spans)
        at, bit = chance.randrange(start, end), 1 << chance.randrange(8)
        flipped = whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
        path.write_bytes(flipped)
        if judge(path)["verdict"] == "intact" and not _reads_the_same(name, flipped, whole):
            missed.append((at, bit))
    assert missed == []


def _reads_the_same(name: str, one: bytes, other: bytes) -> bool:
    """Some bits of packed data say nothing."""
    readers: dict[str, Callable[[bytes], bytes]] = {
        "rows.bz2": bz2.decompress,
        "rows.zst": zstandard.ZstdDecompressor().decompress,
        "arrays.npz": _unzipped,  # the last bits of a deflated stream only fill its last byte
    }
    return name in readers and readers[name](one) == readers[name](other)


def _unzipped(whole: bytes) -> bytes:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return b"".join(archive.read(row) for row in archive.infolist())


def _payload(name: str, whole: bytes) -> list[tuple[int, int]]:
    """Where the bytes lie that a checksum speaks for."""
    if name.endswith((".npz", ".pt")):
        import io
        import zipfile

        rows = zipfile.ZipFile(io.BytesIO(whole)).infolist()
        heads = [(row, row.header_offset) for row in rows]
        starts = [(row, at + 30 + int.from_bytes(whole[at + 26 : at + 28], "little")) for row, at in heads]
        starts = [
            (row, at + int.from_bytes(whole[row.header_offset + 28 : row.header_offset + 30], "little"))
            for row, at in starts
        ]
        return [(at, at + row.compress_size) for row, at in starts]
    if name.endswith(".parquet"):
        import io

        import pyarrow.parquet

        footer = pyarrow.parquet.ParquetFile(io.BytesIO(whole)).metadata
        chunks = [
            footer.row_group(g).column(c) for g in range(footer.num_row_groups) for c in range(footer.num_columns)
        ]
        # A page's header is not covered; these pages are far longer than theirs.
        return [(chunk.data_page_offset + 80, chunk.data_page_offset + 180) for chunk in chunks]
    if name.endswith(".png"):
        return [(16, len(whole) - 16)]
    return [(20, len(whole) - 12)]


@pytest.mark.parametrize("name", [name for name in MAKERS])
def test_an_empty_file_and_one_of_zeros_are_not_sound(judge, tmp_path, name):
    """What a full disk and a crashed node leave."""
    path, size = tmp_path / name, len(MAKERS[name][0]())
    for text in (b"", bytes(size)):
        path.write_bytes(text)
        assert judge(path)["verdict"] == "damaged"


def test_json_lines_under_the_name_of_json_are_judged_as_lines(judge, tmp_path):
    """Whole they are intact, cut they are not, and one value with something behind it is not either."""
    path = tmp_path / "rows.json"
    for text, verdict in [
        (b'{"a": 1}\n{"a": 2}\n', "intact"),
        (b'{"a": 1}\n\n{"a": 2}', "intact"),
        (b'{"a": 1}\n{"a": ', "damaged"),
        (b'{"a": 1}\nTraceback (most recent call last):\n', "damaged"),
        (b'{\n "a": 1}\n{"a": 2}\n', "damaged"),
        (b"[1]\n[2]\n", "damaged"),
    ]:
        path.write_bytes(text)
        assert judge(path)["verdict"] == verdict, text
    path.write_bytes(b'{"a": 1}\n' * 7)
    assert judge(path)["records"] == 7


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 10 << 20])
@pytest.mark.parametrize("frames", [1, 3])
def test_a_zstandard_file_whose_content_fills_the_buffer_is_intact(
    judge, tmp_path: Path, size: int, frames: int
) -> None:
    """Ten megabytes of zeros are a few hundred bytes, and unpack to whole buffers; cut by a byte, it is damaged."""
    packed = b"".join(zstandard.ZstdCompressor().compress(bytes(size)) for _ in range(frames))
    path = tmp_path / "zeros.zst"
    path.write_bytes(packed)
    assert judge(path)["verdict"] == "intact"
    path.write_bytes(packed[:-1])
    assert judge(path)["verdict"] == "damaged"
