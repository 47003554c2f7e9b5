"""The types of leaves. Everything a host says has a greatest length and a range."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MOST_ROWS = 200_000

LONGEST_WORDS = 1_000_000

# What a program or the kernel said, in words; see `clean` in wire/answer.py.
Said = Annotated[str, Meta(max_length=LONGEST_WORDS)]
Name = Annotated[str, Meta(max_length=4096)]
Path = Annotated[str, Meta(max_length=8192)]
# The text of a file, or of a command's output: read as data, never shown as it is.
Content = Annotated[str, Meta(max_length=70_000_000)]
Count = Annotated[int, Meta(ge=0, lt=1 << 62)]
Whole = Annotated[int, Meta(gt=-(1 << 62), lt=1 << 62)]
Seconds = Annotated[float, Meta(gt=-1e15, lt=1e15)]
Number = Annotated[float, Meta(gt=-1e30, lt=1e30)]
# Device and inode numbers of some file systems take all 64 bits, which msgspec has no range for.
Identity = int
