"""A rented box: whether what is written there survives a stop, how many files it may have, what ends the costs."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.api.checklist import Line
from dogwatch.api.preflight.facts import PASS, WARN, Facts
from dogwatch.api.preflight.plan import Plan
from dogwatch.profiles import Profile, is_kept, stop_command
from dogwatch.wire.preflight import Directory

MUCH = 0.8  # of the files that its disk may have


def judge(plan: Plan, facts: Facts) -> Iterator[Line]:
    if plan.profile is None:
        return
    for what, path in plan.directories().items():
        directory = facts.of(f"directory:{path}", Directory)
        if not isinstance(directory, str):
            yield _kept(plan.profile, what, directory.path)
            yield from _files(plan.profile, directory)
    yield Line(PASS, "stop", f"to stop paying: {stop_command(plan.profile)}")


def _kept(profile: Profile, what: str, path: str) -> Line:
    name = f"{what} directory"
    match is_kept(profile, path):
        case True:
            return Line(PASS, name, f"{path} is kept when a {profile.title} box is stopped")
        case False:
            kept = profile.kept_on_stop.value or ()
            remedy = f"write below {' or '.join(kept)}" if kept else "fetch it before the stop (dogwatch fetch)"
            return Line(WARN, name, f"{path} is lost when a {profile.title} box is stopped", remedy)
        case _:
            text = f"whether {path} is kept when a {profile.title} box is stopped is not known"
            return Line(WARN, name, text, "fetch what you need before the stop (dogwatch fetch)")


def _files(profile: Profile, directory: Directory) -> Iterator[Line]:
    cap, room = profile.inode_cap.value, directory.room
    if cap is None or not room.inodes:
        return
    used = room.inodes - room.inodes_free
    text = f"{used:,} of the {cap:,} files that a {profile.title} box may have"
    if used > MUCH * cap:
        yield Line(WARN, "inodes", text, "remove small files, or pack them (tar)")
    else:
        yield Line(PASS, "inodes", text)
