"""`python -m bench.line_by_line FILE…`: the same patterns as anybody would write it down, line by line with `re`."""

from __future__ import annotations

import re
import sys

from dogwatch.diagnosis.table import stems
from dogwatch.logs.formats import shipped


def main(*paths: str) -> None:
    """All formats as one alternation per format, and the literals of the causes as one."""
    formats = [fmt.hint or b"|".join(map(re.escape, fmt.needles)) for fmt in shipped()]
    errors = b"|".join(re.escape(stem).encode() for stem in stems())
    patterns = [re.compile(pattern).search for pattern in (*formats, errors)]
    hits = 0
    for path in paths:
        with open(path, "rb") as file:
            text = file.read().lower()
        for line in re.split(rb"[\r\n]", text):
            for search in patterns:
                if search(line):
                    hits += 1
    print(f"{hits} hits of {len(patterns)} patterns")


if __name__ == "__main__":
    main(*sys.argv[1:])
