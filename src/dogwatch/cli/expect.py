"""Numbers as people write them on a command line."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError

from dogwatch.text import plain


def count(text: str) -> int:
    """A whole number as people write it: 100000, 100,000 or 100_000."""
    if not re.fullmatch(r"[-+]?\d{1,3}([,_]\d{3})+|[-+]?\d{1,18}", text, re.ASCII):
        raise ArgumentTypeError(f"{plain(text, 40)!r} is not a whole number; write it as 100000 or 100,000")
    return int(text.replace(",", ""))
