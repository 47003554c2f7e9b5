"""The commands section: programs of this host, run one after the other as the request says, each within its limits.

A command may be a follow-up: then it is run for ids that an earlier one lists, or does not list, in certain states.
"""

import itertools
import os
import re
import time

from dogwatch.remote.probe.command import login_name, run_command
from dogwatch.remote.probe.wire import Refused, mapping, number, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
        self.ran = {}  # type: dict[str, dict[str, Any]]
        self.counts = {}  # type: dict[str, int]
        self.late = set()  # type: set[str]
        self.answered = {}  # type: dict[str, bool]
        self.wanted = {}  # type: dict[str, list[str]]
        self.listed = {}  # type: dict[str, list[tuple[str, str]]]

    def run(self, name: str, spec: "dict[str, Any]") -> None:
        """One command of the request, unless what it depends on did not answer or left nothing to ask."""
        where = "commands." + name
        argv = texts(spec.get("argv"), where + ".argv")
        if not argv or not PROGRAM.match(argv[0]):
            raise Refused("%s.argv must begin with the name of a program" % where)
        after, follow_up = spec.get("after"), mapping(spec.get("follow_up"), where + ".follow_up")
        ids = self.ids(follow_up, where + ".follow_up") if follow_up else None
        rows = mapping(spec.get("rows"), where + ".rows")
        self.wanted[name] = job_ids(rows.get("ids"), where + ".rows.ids")
        self.answered[name], self.listed[name] = False, []
        if ids == [] or (after is not None and not self.earlier(self.answered, after, where + ".after")):
            return
        argv = [word.replace("{me}", self.me) for word in argv]
        if ids is not None and follow_up.get("each"):
            for one in ids[:EACH_MOST]:
                row = self.start([word.replace("{id}", one) for word in argv], spec, where)
                self.ran["%s.%s" % (name, one)] = row
            return
        if ids is not None:
            ids = as_many_as_fit(ids)
            argv = [word.replace("{ids}", ",".join(ids)) for word in argv]
        row = self.ran[name] = self.start(argv, spec, where)
        if ids is not None:
            row["ids"] = ids
        said = row["err"].lower()
        answers = texts(spec.get("answers"), where + ".answers")
        self.answered[name] = row["rc"] == 0 or (row["rc"] is not None and any(word in said for word in answers))
        if rows:
            self.listed[name] = listed_jobs(row, rows, where + ".rows")

    def start(self, argv: "list[str]", spec: "dict[str, Any]", where: str) -> "dict[str, Any]":
        """Run it within its time and size; a program that was late once is not started again for this request."""
        seconds = spec.get("seconds", 30)
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= 3600:
            raise Refused("%s.seconds must be a number up to 3600" % where)
        cap = number(spec.get("bytes", OUT_CAP), where + ".bytes", 1, OUT_CAP)
        settings = mapping(spec.get("environment"), where + ".environment")
        texts(list(settings.values()), where + ".environment")
        environment = command_environment(settings, texts(spec.get("unset"), where + ".unset"))
        search = search_path(texts(spec.get("path"), where + ".path"))
        program, now = argv[0], time.monotonic()
        until = now if program in self.late else min(self.until, now + seconds)
        if now < until:
            self.counts[program] = self.counts.get(program, 0) + 1
        row = run_command(argv, environment, search, until, cap)
        if row["why"] == "late":
            self.late.add(program)
        if spec.get("users_after"):
            row["users"] = user_names(row["out"], texts([spec["users_after"]], where + ".users_after")[0])
        return row

    def ids(self, spec: "dict[str, Any]", where: str) -> "list[str]":
        """The ids that a follow-up is about, each once."""
        wanted = self.earlier(self.wanted, spec.get("of"), where + ".of")
        always = job_ids(spec.get("always"), where + ".always")
        states = frozenset(texts(spec.get("states"), where + ".states"))
        here = {base for base, word in self.listed[spec["of"]] if word in states}
        chosen = [one for one in wanted if (one in here) == bool(spec.get("listed"))]
        return list(dict.fromkeys(chosen + always))

    def earlier(self, kept: "dict[str, Any]", name: "Any", where: str) -> "Any":
        if not isinstance(name, str) or name not in kept:
            raise Refused("%s: %.60r is no command before it" % (where, name))
        return kept[name]


def job_ids(value: "Any", where: str) -> "list[str]":
    ids = texts(value, where)
    for one in ids:
        if not JOB_ID.match(one):
            raise Refused("%s: %.60r is not a job id" % (where, one))
    return ids


def commands_section(specs: "dict[str, Any]", until: float) -> "dict[str, Any]":
    """All commands of a request, in their order."""
    began = time.monotonic()
    if len(specs) > COMMANDS_MOST:
        raise Refused("commands: at most %d at once" % COMMANDS_MOST)
    commands = Commands(until)
    for name, spec in specs.items():
        commands.run(name, mapping(spec, "commands." + name))
    answer = {"ok": True, "me": commands.me, "ran": commands.ran, "counts": commands.counts}
    answer["seconds"] = round(time.monotonic() - began, 6)
    return answer


def listed_jobs(row: "dict[str, Any]", spec: "dict[str, Any]", where: str) -> "list[tuple[str, str]]":
    """The base ids that a command lists, each with its state; none if it failed."""
    separator, mark = spec.get("separator"), spec.get("mark", "")
    if not isinstance(separator, str) or not separator:
        raise Refused("%s.separator must be a text" % where)
    at, state = (number(spec.get(name), "%s.%s" % (where, name), 0, 1000) for name in ("id", "state"))
    mark_at = number(spec.get("mark_at", 0), where + ".mark_at", 0, 1000)
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
