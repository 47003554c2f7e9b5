"""All questions about jobs that change nothing."""

from __future__ import annotations

from dogwatch.clock import stamp
from dogwatch.errors import NoSuchJob, UsageError
from dogwatch.store import DAEMON
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import events as event_rows
from dogwatch.store.rows import jobs as job_rows
from dogwatch.store.rows import places
from dogwatch.store.rows import watch as watchers
from dogwatch.text import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dogwatch.model import Place
    from dogwatch.store.interface import Store
    from dogwatch.wire.documents.job import BriefJob, JobDocument
    from dogwatch.wire.documents.watch import EventDocument, ListingDocument, PlaceDocument, WatchDocument


MOST_NEAR = 1000


def brief(store: Store, everything: bool = False) -> list[BriefJob]:
    """The jobs that have not ended, or all, with just what a list shows."""
    return [job for job in job_rows.brief(store, everything=everything) if everything or job["state"] != "ended"]


def listing(store: Store, everything: bool = False) -> ListingDocument:
    """The jobs in full, with whether anybody is watching them."""
    return {
        "jobs": [
            job for job in job_rows.documents(store, everything=everything) if everything or job["state"] != "ended"
        ],
        "places": places.places(store),
        "watch": watching(store),
    }


def listing_places(store: Store) -> list[PlaceDocument]:
    """The places, each with when it last answered and why it does not."""
    return places.places(store)


def place(store: Store, name: str) -> Place:
    """A place with the way to it; one that was removed has none."""
    for found in places.known_places(store):
        if found.name == name:
            return found
    raise UsageError(f"the host {name} was removed; `dogwatch host add {name}` adds it again")


def find(store: Store, words: Sequence[str], say: Callable[[str], None] | None = None) -> str:
    """The one ref that `words` mean. A name that several jobs have means the newest that has not ended, or else the
    newest, and `say` is told so; in any other case, or without `say`, NoSuchJob names the choices."""
    refs = job_rows.resolve(store, " ".join(words))
    if not refs:
        near = _nearest(store, " ".join(words))
        hint = f"did you mean {near!r}?" if near else "`dogwatch ls --all` lists every one"
        raise NoSuchJob(f"no job named {' '.join(words)!r}; {hint}")
    if len(refs) > 1 and say is not None and _one_name(store, refs, " ".join(words)):
        say(f"{plain(' '.join(words), 80)}: {len(refs)} jobs have this name; showing the newest, {plain(refs[0], 120)}")
        return refs[0]
    if len(refs) > 1:
        some = ", ".join(refs[:5]) + (" …" if len(refs) > 5 else "")
        raise NoSuchJob(f"{' '.join(words)!r} could be any of {len(refs)} jobs ({some}); choose one")
    return refs[0]


def _one_name(store: Store, refs: Sequence[str], name: str) -> bool:
    return all(job["name"] == name for job in documents(store, refs[:MOST_NEAR]))


def _nearest(store: Store, text: str) -> str:
    """The name or ref that is spelt most like it, among the newest."""
    import difflib

    newest = job_rows.brief(store, everything=True)[:MOST_NEAR]
    known = dict.fromkeys(str(job[key]) for key in ("name", "ref") for job in newest)
    return next(iter(difflib.get_close_matches(text[:200], list(known), n=1, cutoff=0.7)), "")


def find_each(store: Store, refs: Sequence[str], say: Callable[[str], None] | None = None) -> list[str]:
    """One ref for each of the words given, in order, each once; see `find`."""
    return list(dict.fromkeys(find(store, [ref], say) for ref in refs))


def documents(store: Store, refs: Sequence[str]) -> list[JobDocument]:
    """These jobs in full, in the order asked for."""
    found = {job["ref"]: job for job in job_rows.documents(store, everything=True, refs=list(refs))}
    return [found[ref] for ref in refs if ref in found]


def still_watched(store: Store, refs: Sequence[str]) -> list[JobDocument]:
    """These jobs without those that somebody has forgotten before they ended: nothing will be known of their end."""
    jobs = documents(store, refs)
    lost = job_rows.forgotten(store, [job["ref"] for job in jobs if not is_over(job)])
    left = [job for job in jobs if job["ref"] not in lost]
    if lost and not left:
        who = plain(jobs[0]["name"], 80) if len(jobs) == 1 else f"each of these {len(jobs)} jobs"
        raise NoSuchJob(f"{who} was forgotten (`dogwatch forget`) and is no longer watched")
    return left


def real_folders(job: JobDocument) -> dict[str, str]:
    """Where the folders of a job's files were at first sight, as a question about them has it."""
    return {row["path"]: row["real"] for row in job.get("folders") or ()}


def names(store: Store) -> dict[str, str]:
    """What each job is called, by its ref: its name, with its id where several jobs have that name."""
    jobs = job_rows.brief(store, everything=True)
    return dict(zip((job["ref"] for job in jobs), told_apart([(job["name"], job["id"]) for job in jobs]), strict=True))


def known_names(store: Store, kind: str) -> list[str]:
    """What can be named on a command line: jobs, hosts or channels."""
    if kind == "hosts":
        return [place.name for place in places.known_places(store) if place.kind != "here"]
    if kind == "channels":
        return [row.name for row in channel_rows.channels(store)]
    return [job["name"] or job["ref"] for job in job_rows.brief(store, everything=True)]


def told_apart(jobs: Sequence[tuple[str, str]]) -> list[str]:
    """Of each (name, id) its name; where several have that name, what tells them apart and every command takes too."""
    times: dict[str, int] = {}
    for name, _ in jobs:
        times[name] = times.get(name, 0) + 1
    return [
        name or native_id if times[name] == 1 else native_id if native_id.startswith(name) else f"{name} {native_id}"
        for name, native_id in jobs
    ]


def events(store: Store, since: int = 0, limit: int | None = None, ref: str | None = None) -> list[EventDocument]:
    """The history after event `since`, oldest first; with a limit, the newest of it."""
    return event_rows.read(store, since=since, limit=limit, ref=ref, newest=limit is not None)


def events_of_kinds(store: Store, kinds: Sequence[str], ref: str | None = None) -> list[EventDocument]:
    """Everything in the history of these kinds, oldest first."""
    return event_rows.read(store, ref=ref, kinds=kinds)


def watched(store: Store) -> bool:
    """Whether somebody watches this store now, and nothing more of it."""
    return store.location.held()


def unpolled(store: Store, now: float) -> dict[str, float | None]:
    """The places with jobs that have not ended whose last poll is older than their floor, and when that was."""
    return places.unpolled(store, now)


def has_daemon(store: Store) -> bool:
    """Whether a daemon watches, or waits to take over from whoever does."""
    return store.location.held(DAEMON)


def unheard(store: Store) -> list[str]:
    """The channels on which alerts do not arrive: the newest message tried on each was not taken."""
    return sorted(channel_rows.refusing(store)[0])


def watching(store: Store) -> WatchDocument:
    """Whether somebody watches this store now, who, and when it last finished a useful tick."""
    holder = store.location.holder()
    last = watchers.last(store)
    return {
        "alive": holder is not None,
        "who": None if holder is None else holder.who,
        "pid": None if holder is None else holder.pid,
        "last_tick": stamp(last.last_tick) if last is not None else None,
    }


def is_over(job: JobDocument) -> bool:
    """Whether a job has ended and nothing that is checked then still waits for an answer."""
    decided = job["state"] == "ended" and job["outcome"] is not None
    return decided and not any(check["word"] == "pending" for check in job["checks"])


def ended_well(jobs: Sequence[JobDocument]) -> bool:
    """Whether every one of these jobs ended well, by the one table of outcomes (docs/outcomes.md)."""
    from dogwatch.model.outcome import GOOD

    return all(job["outcome"] in GOOD for job in jobs)
