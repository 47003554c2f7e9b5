"""`dogwatch __names jobs|hosts|channels`: the names that completion offers, from the store as it is. It never polls,
and prints nothing where there is nothing to read."""

from __future__ import annotations

from dogwatch.errors import FINE, DogwatchError

MOST = 500


def run(words: list[str]) -> int:
    """One name per line, the newest first."""
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.text import plain

    if assemble.home_if_there() is None:
        return FINE
    try:
        with assemble.store(readonly=True) as store:
            names = queries.known_names(store, words[0] if words else "jobs")
    except (DogwatchError, OSError):
        return FINE
    for name in dict.fromkeys(names[:MOST]):
        if name == plain(name, 200):  # what a terminal would obey is not offered
            print(name)
    return FINE
