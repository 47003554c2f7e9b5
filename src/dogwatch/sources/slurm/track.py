"""What is kept with a Slurm job to know it again, and notes of ours from one poll to the next."""

from __future__ import annotations

from msgspec import Struct

from dogwatch.wire.tracks import Tracks


class SlurmTrack(Struct, omit_defaults=True):
    """Nobody gave an `unnamed` job a name; then `name` is Slurm's own. `missing_since` is since when the accounting
    answers without its ending, `ended` (word → task ids) are tasks of an array that have left the queue, `first_start`
    is of an array, and `run_polls` counts the polls since it was put back in the queue in which the accounting was
    asked about the run before; None: no more."""

    user: str | None = None
    submit: float | None = None
    cluster: str | None = None
    log_given: bool = False
    unnamed: bool = False
    name: str | None = None
    missing_since: float | None = None
    ended: dict[str, str] = {}
    first_start: float | None = None
    run_polls: int | None = None


tracks = Tracks(SlurmTrack)
