"""The commands section: programs of this host, run one after the other as the request says, each within its limits.

A command may be a follow-up: then it is run for ids that an earlier one lists, or does not list, in certain states.
"""

import itertools
import os
import re
import time

from dogwatch.remote.probe.command import login_name, run_command
from dogwatch.remote.probe.wire import Fields, Refused
from dogwatch.remote.shapes import CommandsSection, Ran

OUT_CAP = 64 << 20
IDS_CAP = 100000  # Linux takes 128 KiB in one argument
EACH_MOST = 16
USERS_MOST = 16
COMMANDS_MOST = 256
OWN_PATH = "$PATH"
PROGRAM = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}\Z")
JOB_ID = re.compile(r"^[0-9A-Za-z]{1,20}([_+.][0-9A-Za-z]{1,40})?\Z")
BASE_ID = re.compile(r"[0-9A-Za-z]+")


def search_path(given: "list[str]") -> "list[str]":
    """The directories to look for a program in, our own PATH where none is given; one that is not absolute is none."""
    own = os.environ.get("PATH", "").split(":")
    paths = [path for word in given or [OWN_PATH] for path in (own if word == OWN_PATH else [word])]
    return [path for path in dict.fromkeys(paths) if path.startswith("/")]


def command_environment(settings: "dict[str, str]", unset: "list[str]") -> "dict[bytes, bytes]":
    """Our own environment without the variables `unset` (a name, or a beginning and `*`), in the C locale."""
    names = {os.fsencode(name) for name in unset if not name.endswith("*")}
    starts = tuple(os.fsencode(name[:-1]) for name in unset if name.endswith("*"))
    kept = {name: value for name, value in os.environb.items() if name not in names and not name.startswith(starts)}
    kept[b"LC_ALL"] = b"C"
    kept.update((os.fsencode(name), os.fsencode(value)) for name, value in settings.items())
    return kept


class Commands:
    """What ran for one request, by name, how often each program was started, and what the commands listed."""

    def __init__(self, until: float) -> None:
        self.until, self.me = until, login_name()
        self.ran: "dict[str, Ran]" = {}
        self.counts: "dict[str, int]" = {}
        self.late: "set[str]" = set()
        self.answered: "dict[str, bool]" = {}
        self.wanted: "dict[str, list[str]]" = {}
        self.listed: "dict[str, list[tuple[str, str]]]" = {}

    def run(self, name: str, spec: Fields) -> None:
        """One command of the request, unless what it depends on did not answer or left nothing to ask."""
        argv = spec.texts("argv")
        if not argv or not PROGRAM.match(argv[0]):
            raise Refused("%s must begin with the name of a program" % spec.path("argv"))
        follow_up, rows = spec.inner("follow_up"), spec.inner("rows")
        ids = self.ids(follow_up) if follow_up.words else None
        self.wanted[name] = job_ids(rows, "ids")
        self.answered[name], self.listed[name] = False, []
        if ids == [] or ("after" in spec and not self.answered[self.earlier(spec, "after")]):
            return
        argv = [word.replace("{me}", self.me) for word in argv]
        if ids is not None and follow_up.flag("each"):
            for job in ids[:EACH_MOST]:
                self.ran["%s.%s" % (name, job)] = self.start([word.replace("{id}", job) for word in argv], spec)
            return
        if ids is not None:
            ids = as_many_as_fit(ids)
            argv = [word.replace("{ids}", ",".join(ids)) for word in argv]
        row = self.ran[name] = self.start(argv, spec)
        if ids is not None:
            row["ids"] = ids
        complaint, answers = row["err"].lower(), spec.texts("answers")
        self.answered[name] = row["rc"] == 0 or (row["rc"] is not None and any(word in complaint for word in answers))
        if rows.words:
            self.listed[name] = listed_jobs(row, rows)

    def start(self, argv: "list[str]", spec: Fields) -> "Ran":
        """Run it within its time and size; a program that was late once is not started again for this request."""
        seconds, cap = spec.seconds("seconds", 30), spec.number("bytes", 1, OUT_CAP, OUT_CAP)
        environment = command_environment(spec.text_by_name("environment"), spec.texts("unset"))
        search = search_path(spec.texts("path"))
        program, now = argv[0], time.monotonic()
        until = now if program in self.late else min(self.until, now + seconds)
        if now < until:
            self.counts[program] = self.counts.get(program, 0) + 1
        row = run_command(argv, environment, search, until, cap)
        if row["why"] == "late":
            self.late.add(program)
        if spec.text("users_after"):
            row["users"] = user_names(row["out"], spec.text("users_after"))
        return row

    def ids(self, follow_up: Fields) -> "list[str]":
        """The ids that a follow-up is about, each once."""
        of = self.earlier(follow_up, "of")
        always, states = job_ids(follow_up, "always"), frozenset(follow_up.texts("states"))
        here = {base for base, word in self.listed[of] if word in states}
        chosen = [job for job in self.wanted[of] if (job in here) == follow_up.flag("listed")]
        return list(dict.fromkeys(chosen + always))

    def earlier(self, spec: Fields, field: str) -> str:
        """The command before this one that a field names."""
        name = spec.text(field)
        if name not in self.answered:
            raise Refused("%s: %.60r is not a command before it" % (spec.path(field), name))
        return name


def job_ids(spec: Fields, field: str) -> "list[str]":
    ids = spec.texts(field)
    for job in ids:
        if not JOB_ID.match(job):
            raise Refused("%s: %.60r is not a job id" % (spec.path(field), job))
    return ids


def commands_section(request: Fields, until: float) -> "CommandsSection":
    """All commands of a request, in their order."""
    began, specs = time.monotonic(), request.mapping("commands")
    if len(specs) > COMMANDS_MOST:
        raise Refused("commands: at most %d at once" % COMMANDS_MOST)
    commands = Commands(until)
    for name, spec in specs.items():
        commands.run(name, Fields(spec, "commands." + name))
    seconds = round(time.monotonic() - began, 6)
    return {"ok": True, "me": commands.me, "ran": commands.ran, "counts": commands.counts, "seconds": seconds}


def listed_jobs(row: "Ran", spec: Fields) -> "list[tuple[str, str]]":
    """The base ids that a command lists, each with its state; none if it failed."""
    separator, mark, mark_at = spec.text("separator"), spec.text("mark"), spec.number("mark_at", 0, 1000, 0)
    if not separator:
        raise Refused("%s must be a text" % spec.path("separator"))
    at, state = (spec.number(name, 0, 1000) for name in ("id", "state"))
    if row["rc"] != 0:
        return []
    jobs = []
    for line in row["out"].split("\n"):
        cells = line.split(separator)
        if len(cells) <= max(at, state, mark_at) or (mark and cells[mark_at] != mark):
            continue
        base, words = BASE_ID.match(cells[at].strip()), cells[state].split()
        word = words[0].rstrip("+") if words else ""
        if base and word:
            jobs.append((base.group(), word))
    return jobs


def as_many_as_fit(ids: "list[str]") -> "list[str]":
    """The ids that one argument holds; of more than that another part each time, by chance."""
    if sum(map(len, ids)) + len(ids) <= IDS_CAP:
        return ids
    first = int.from_bytes(os.urandom(4), "big") % len(ids)
    turned = ids[first:] + ids[:first]
    lengths = itertools.accumulate(len(one) + 1 for one in turned)
    return [one for one, length in zip(turned, lengths) if length <= IDS_CAP]


def user_names(out: str, before: str) -> "dict[str, str]":
    """The names of the users whose ids stand behind the text `before`."""
    import pwd

    names = {}
    uids = re.findall(re.escape(before) + r"([0-9]{1,10})\b", out)
    for uid in list(dict.fromkeys(uids))[:USERS_MOST]:
        try:
            names[uid] = pwd.getpwuid(int(uid)).pw_name
        except (KeyError, OverflowError):
            continue
    return names
