"""SHA-256 without OpenSSL: the same function, and a watcher that does not load the other."""

from __future__ import annotations

import hashlib
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.digest import key_of, sha256


@given(st.binary())
def test_a_digest_is_the_one_that_hashlib_gives(text):
    """Chains of events that were written with one are checked with the other."""
    assert sha256(text) == hashlib.sha256(text).digest()


def test_a_key_depends_on_every_part_and_on_where_it_ends():
    """Two alerts never share a key because their parts were joined."""
    assert len({key_of("a", "b"), key_of("ab"), key_of("a", "b", ""), key_of("b", "a")}) == 4
    assert len(key_of("\ud800")) == 32  # half a letter out of a job's name


def test_openssl_is_not_loaded():
    """It takes more memory than all the digests of a watcher are worth."""
    code = "import sys, dogwatch.digest; print(*[name for name in ('hashlib', '_hashlib') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not ran.stdout.strip()
