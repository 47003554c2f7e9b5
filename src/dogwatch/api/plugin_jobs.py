"""Jobs of any source that says which keys it needs: registered the same way, whichever package the source is of."""

from __future__ import annotations

from collections.abc import Mapping

from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.model import Expectation, Job
from dogwatch.plugin_config import checked, keys
from dogwatch.sources import SOURCES
from dogwatch.store.interface import Store
from dogwatch.store.rows import registration
from dogwatch.text import named, plain


def kinds() -> dict[str, str]:
    """The sources whose jobs are registered here, each with its line of help."""
    return {name: plain(plugin.help, 80) for name, plugin in SOURCES.foreign().items() if plugin.config is not None}


def why_missing(kind: str) -> str:
    """Why there is no such source, as one sentence."""
    return f"the source {plain(kind, 60)} {SOURCES.why_missing(kind)}"


def add(
    store: Store,
    clock: Clock,
    place: str,
    kind: str,
    job_id: str,
    words: Mapping[str, str],
    *,
    name: str | None,
    description: str,
    expect: Expectation,
) -> str:
    """Take a job under watch, its keys checked by what its source says of them; its ref."""
    plugin = SOURCES.find(kind)
    if plugin is None or plugin.config is None:
        raise UsageError(why_missing(kind))
    known = keys(plugin.config)
    typed = {key: known[key][1].typed(word) if key in known else word for key, word in words.items()}
    named(job_id, "the id of the job")
    job = Job(
        ref=f"{place}/{kind}:{job_id}",
        place=place,
        source=kind,
        id=job_id,
        name=job_id if name is None else named(name, "job name"),
        description=named(description, "description") if description else "",
        registered=clock.now(),
        track=checked(plugin.config, typed, f"{kind}: "),
        expect=expect,
    )
    registration.register(store, job, clock.now(), clock.mono())
    store.location.wake()
    return job.ref
