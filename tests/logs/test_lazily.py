"""Tests of patterns that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from dogwatch.logs.lazily import lazily


def test_a_lazy_pattern_finds_what_a_compiled_one_finds() -> None:
    """Text and bytes, with flags, for each use that is made of one."""
    text, written = "Step 12, step 7", r"step (\d+)"
    lazy, compiled = lazily(written, re.IGNORECASE), re.compile(written, re.IGNORECASE)
    assert lazy.findall(text) == compiled.findall(text) == ["12", "7"]
    assert [found[1] for found in lazy.finditer(text)] == ["12", "7"]
    assert lazy.sub("-", text) == compiled.sub("-", text)
    assert lazy.pattern == written
    assert lazily(rb"a|b").search(b"xb") is not None


def test_a_wrong_pattern_is_told_at_its_first_use() -> None:
    """Nothing is compiled before, so nothing is noticed before; each shipped pattern is used by a test of its own."""
    lazy = lazily("(")
    with pytest.raises(re.error):
        lazy.search("")
