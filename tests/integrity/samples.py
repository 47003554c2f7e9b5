"""One small real file of every format that `dogwatch check` knows, made by the library that owns the format."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import gguf
import h5py
import numpy
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import safetensors.numpy
import zstandard
from PIL import Image

numbers = numpy.random.default_rng(7)


def _table() -> pyarrow.Table:
    words = [f"row {n}" for n in range(300)]
    return pyarrow.table({"n": numbers.integers(0, 1 << 40, 300), "x": numbers.random(300), "word": words})


def _parquet() -> bytes:
    sink = io.BytesIO()
    options: Any = {"write_page_checksum": True, "use_dictionary": False, "write_statistics": False}
    pyarrow.parquet.write_table(_table(), sink, row_group_size=120, **options)
    return sink.getvalue()


def _arrow_file() -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_file(sink, _table().schema) as writer:
        writer.write_table(_table(), max_chunksize=100)
    return sink.getvalue()


def _arrow_stream() -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, _table().schema) as writer:
        writer.write_table(_table(), max_chunksize=100)
    return sink.getvalue()


def _feather() -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(_table(), sink, compression="uncompressed")
    return sink.getvalue()


def _npy() -> bytes:
    sink = io.BytesIO()
    numpy.save(sink, numbers.random((40, 30)))
    return sink.getvalue()


def _npz() -> bytes:
    sink = io.BytesIO()
    numpy.savez_compressed(sink, a=numbers.random((20, 30)), b=numbers.integers(0, 9, 500))
    return sink.getvalue()


def _hdf5(libver: str) -> bytes:
    sink = io.BytesIO()
    with h5py.File(sink, "w", libver=libver) as file:
        file["weights"] = numbers.random((50, 20))
    return sink.getvalue()


def _safetensors() -> bytes:
    tensors = {"w": numbers.random((30, 20)).astype("f4"), "b": numbers.random(20).astype("f2")}
    return safetensors.numpy.save(tensors, {"step": "100"})


def _torch() -> bytes:
    """As `torch.save` lays it out: stored, not deflated, one entry for each storage."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("model/data.pkl", b"\x80\x02}q\x00." + b"x" * 300)
        archive.writestr("model/byteorder", b"little")
        for n in range(4):
            archive.writestr(f"model/data/{n}", numbers.bytes(900))
        archive.writestr("model/version", b"3\n")
    return sink.getvalue()


def _gguf() -> bytes:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_context_length(512)
        writer.add_token_list([f"token{n}" for n in range(200)])
        writer.add_tensor("a", numbers.random((16, 32)).astype("f4"))
        writer.add_tensor("b", numbers.random((8, 32)).astype("f2"))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def _tar(mode: str = "w") -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode=mode) as archive:  # type: ignore[call-overload]
        for n in range(5):
            entry = tarfile.TarInfo(f"{n:05d}." + "long-name-" * (12 if n == 3 else 1) + "json")
            text = numbers.bytes(700 * n)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return sink.getvalue()


def _image(kind: str) -> bytes:
    sink = io.BytesIO()
    Image.fromarray(numbers.integers(0, 255, (40, 50, 3), dtype="u1")).save(sink, kind)
    return sink.getvalue()


def _jsonl() -> bytes:
    return "".join(json.dumps({"id": n, "text": "é" * (n % 9)}) + "\n" for n in range(200)).encode()


def _csv() -> bytes:
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(["step", "loss", "note"])
    writer.writerows([n, 1 / (n + 1), 'said "so", and\nwent on'] for n in range(100))
    return sink.getvalue().encode()


def _zstd() -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True, write_content_size=True).compress(
        _jsonl() + numbers.bytes(999)
    )


# name → (file, format, records)
MAKERS: dict[str, tuple[Callable[[], bytes], str, int | None]] = {
    "result.json": (
        lambda: json.dumps([{"task": n, "score": [n / 7, None, "x"]} for n in range(60)]).encode(),
        "json",
        60,
    ),
    "rows.jsonl": (_jsonl, "jsonl", 200),
    "log.csv": (_csv, "csv", 100),
    "rows.parquet": (_parquet, "parquet", 300),
    "file.arrow": (_arrow_file, "arrow", None),
    "stream.arrow": (_arrow_stream, "arrow", None),
    "frame.feather": (_feather, "arrow", None),
    "array.npy": (_npy, "npy", 40),
    "arrays.npz": (_npz, "npz", 2),
    "old.h5": (lambda: _hdf5("earliest"), "hdf5", None),
    "new.h5": (lambda: _hdf5("latest"), "hdf5", None),
    "model.safetensors": (_safetensors, "safetensors", 2),
    "model.pt": (_torch, "torch", 4),
    "model.gguf": (_gguf, "gguf", 2),
    "rows.jsonl.gz": (lambda: gzip.compress(_jsonl()), "gzip", None),
    "rows.bz2": (lambda: bz2.compress(_jsonl()), "bzip2", None),
    "rows.xz": (lambda: lzma.compress(_jsonl()), "xz", None),
    "rows.zst": (_zstd, "zstd", None),
    "shard.tar": (_tar, "tar", 5),
    "shard.tar.gz": (lambda: _tar("w:gz"), "tar.gz", 5),
    "plot.png": (lambda: _image("PNG"), "png", None),
    "plot.jpg": (lambda: _image("JPEG"), "jpeg", None),
    "plot.gif": (lambda: _image("GIF"), "gif", None),
    "plot.bmp": (lambda: _image("BMP"), "bmp", None),
    "plot.webp": (lambda: _image("WEBP"), "webp", None),
}
