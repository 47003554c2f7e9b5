"""Without Python: the commands section on a host that has no python3, in POSIX sh, and the section about runs; other
logs and files stay unread.

The request becomes the head of a script that reads nothing from its command line, with every word quoted once, here;
the answer comes in parts after lines that begin with a number nobody could know, and is made into the body that the
probe would have sent. A command that may print only so much is not run: sh cannot count.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dogwatch.remote import MARK, sh_poll
from dogwatch.transport import box_without_python
from dogwatch.wire.answer import CheckedAnswer, Malformed, checked
from dogwatch.wire.commands import MOST_BYTES, OWN_PATH, SECTION, Command, CommandsSection, FollowUp, Ran
from dogwatch.wire.json_value import JsonObject, JsonValue

LIMITS = (
    "there is no python3, so only a scheduler's jobs and runs of kind `box` can be watched there; GPU figures are not "
    "read, nor logs, files and disks of a scheduler's jobs"
)
REMEDY = "put a python3 (3.6 or newer) on the PATH that `ssh HOST python3` has there"
# See REMOTE in ssh.py for what one line may hold. The watchdog is armed before the script arrives, ends all of it when
# its time is over, and ends itself within a second of the script.
REMOTE = (
    "exec sh -c '(n=0;while [ $n -lt {:d} ];do kill -0 $$||exit;sleep 1;n=$((n+1));done;kill -9 0)"
    f"</dev/null >/dev/null 2>&1 & exec sh -s {MARK}' {MARK}"
)
KILLED, NOT_FOUND, NOT_EXECUTABLE = 137, 127, 126
ERR_TAIL = 2048
MOST_PARTS = 100
FIRST_SHARE = 0.6  # of the time, for the first of several commands
_NUMBER = re.compile(r"[0-9]{1,15}")
_JOB_ID = re.compile(r"[0-9A-Za-z]{1,20}([_+.][0-9A-Za-z]{1,40})?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FILES = ("logs", "texts", "files", "gpu_metrics", "extra_probes")


class Unusable(ValueError):
    """A request that cannot be put into words of sh, or an answer that is not one."""


def program(request: JsonObject, nonce: str, budget: float) -> bytes:
    """The script for `sh`. What would start it comes last, so that one cut short on its way does nothing."""
    commands = _commands(request)
    head = [f"nonce={shlex.quote(nonce)}", *_settings(list(commands.values()))]
    for number, command in enumerate(commands.values()):
        limit = budget * FIRST_SHARE if number == 0 and len(commands) > 1 else budget
        seconds = max(1, int(min(command.seconds, limit)))
        head.append(f"ask_{number}() {{ within {seconds} {' '.join(map(_quoted, command.argv))}; }}")
    steps = [line for number, name in enumerate(commands) for line in _step(number, commands, name)]
    head += ["commands() {", *(steps or [":"]), "}"]
    watches = bool(request.get(box_without_python.SECTION))
    head += [f"watches={'yes' if watches else ''}", *(_watched(request) if watches else ())]
    # In braces, so that nothing is done before the last line is here.
    text = "\n".join(["{", *head, ""]).encode("utf-8", "surrogateescape") + sh_poll(watches) + b"}\n"
    if b"\0" in text:
        raise Unusable("a NUL byte cannot be passed to a shell")
    return text


def _watched(request: JsonObject) -> list[str]:
    try:
        return box_without_python.lines(request)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise Unusable(f"{box_without_python.SECTION}: {error}") from None


def _commands(request: JsonObject) -> dict[str, Command]:
    """The commands that sh can run, by name."""
    try:
        given = msgspec.convert(request.get(SECTION) or {}, dict[str, Command])
    except msgspec.ValidationError as error:
        raise Unusable(f"{SECTION}: {error}") from None
    each = {name for name, command in given.items() if command.follow_up is not None and command.follow_up.each}
    return {name: command for name, command in given.items() if command.bytes >= MOST_BYTES and name not in each}


def _settings(commands: Sequence[Command]) -> Iterator[str]:
    """The environment of the commands; they share one, since a shell has no other."""
    for name in dict.fromkeys(name for command in commands for name in command.unset):
        if not _VARIABLE.fullmatch(name.removesuffix("*")):
            raise Unusable(f"{name!r} is not the name of a variable")
        if name.endswith("*"):
            names = f"$(env | sed -n 's/^\\({name[:-1]}[A-Za-z0-9_]*\\)=.*/\\1/p')"
            yield f'for name in {names}; do unset "$name"; done'
        else:
            yield f"unset {name}"
    for name, value in {name: value for one in commands for name, value in one.environment.items()}.items():
        if not _VARIABLE.fullmatch(name):
            raise Unusable(f"{name!r} is not the name of a variable")
        yield f"{name}={shlex.quote(value)}; export {name}"
    folders = dict.fromkeys(path for command in commands for path in command.path if path != OWN_PATH)
    if own := [path for path in folders if path.startswith("/")]:
        yield f'PATH="$PATH":{shlex.quote(":".join(own))}'


def _step(number: int, commands: Mapping[str, Command], name: str) -> Iterator[str]:
    """The lines that run one command, and keep what it printed for those that follow up."""
    follow_up = commands[name].follow_up
    if follow_up is None:
        yield f"run {number}"
        yield f"ran_{number}=$ran"
        return
    of = commands.get(follow_up.of)
    if of is None or of.rows is None:
        raise Unusable(f"{SECTION}.{name}.follow_up.of: {follow_up.of!r} lists no jobs")
    settings = _rows(of, follow_up)
    yield from (f"{key}={shlex.quote(value)}" for key, value in settings.items())
    yield f'follow_up {number} "$ran_{list(commands).index(follow_up.of)}"'


def _rows(of: Command, follow_up: FollowUp) -> dict[str, str]:
    assert of.rows is not None
    rows = of.rows
    return {
        "wanted": " ".join(_ids(rows.ids)),
        "always": " ".join(_ids(follow_up.always)),
        "states": " ".join(follow_up.states),
        "separator": rows.separator,
        "mark": rows.mark,
        "id_at": str(rows.id + 1),
        "mark_at": str(rows.mark_at + 1),
        "state_at": str(rows.state + 1),
    }


def _quoted(word: str) -> str:
    """One word of a shell, whatever it holds; the user's name and the ids are put in there."""
    parts = re.split(r"(\{me\}|\{ids\})", word)
    variables = {"{me}": '"$me"', "{ids}": '"$ids"'}
    return "".join(variables.get(part) or shlex.quote(part) for part in parts if part) or "''"


def read(reply: bytes, request: JsonObject, nonce: str) -> CheckedAnswer:
    """The answer as the probe would have given it; whatever was asked beside commands is said to be unread."""
    parts = _parts(reply.decode("utf-8", "replace"), nonce)
    head = parts.get("about", "").split("\n")
    if len(head) < 3 or not _NUMBER.fullmatch(head[0]):
        raise Unusable("the answer has no head")
    wall, me, host = float(head[0]), head[1], head[2]
    boot = head[3] if len(head) > 3 and head[3] else None
    about = {"nonce": nonce, "clock": {"wall": wall, "boottime": None}, "host": host, "boot": boot, "python": None}
    asked = {name: section for name, section in request.items() if section is not None}
    sections = {name: msgspec.to_builtins(_section(parts, _commands(request), me)) for name in asked if name == SECTION}
    sections |= {name: {"ok": False, "why": LIMITS, "late": _names(asked[name])} for name in _FILES if name in asked}
    sections |= {name: {"ok": False, "why": LIMITS} for name in ("process", "disks") if name in asked}
    if asked.get(box_without_python.SECTION):
        if box_without_python.SECTION not in parts:
            raise Unusable("the answer has no runs")
        try:
            part = parts[box_without_python.SECTION]
            sections |= box_without_python.sections(request, part, wall, boot)
        except (ValueError, IndexError) as error:
            raise Unusable(str(error)) from None
    try:
        return checked({**about, **sections})
    except Malformed as error:
        raise Unusable(str(error)) from None


def _names(section: JsonValue) -> list[str]:
    return list(section) if isinstance(section, Mapping) else []


def _section(parts: Mapping[str, str], commands: Mapping[str, Command], me: str) -> CommandsSection:
    ran: dict[str, Ran] = {}
    counts: dict[str, int] = {}
    asked = {f"run{number}" for number in range(len(commands))}
    if any(part.startswith("run") and part.partition(".")[0] not in asked for part in parts):
        raise Unusable("the answer has a part that was not requested")
    for number, (name, command) in enumerate(commands.items()):
        run = _run(parts, f"run{number}")
        if run is None:
            if command.follow_up is None:
                raise Unusable(f"the answer has no {name}")
            continue
        if command.follow_up is not None:
            run.ids = [job_id for job_id in parts.get(f"ids{number}", "").split(",") if job_id]
        ran[name] = run
        counts[command.argv[0]] = counts.get(command.argv[0], 0) + 1
    return CommandsSection(ok=True, me=me, ran=ran, counts=counts)


def _run(parts: Mapping[str, str], name: str) -> Ran | None:
    """What a command said, as the probe tells it; one that was ended for being late, or is not there, has no code."""
    if name not in parts:
        return None
    err, _, code = parts.get(f"{name}.said", "").rpartition("\n")
    if not _NUMBER.fullmatch(code):
        raise Unusable(f"the answer does not say how {name} ended")
    whys = {KILLED: "late", NOT_FOUND: "not found", NOT_EXECUTABLE: "not found"}
    why = whys.get(int(code))
    return Ran(rc=None if why else int(code), out="" if why else parts[name], err=err[-ERR_TAIL:], seconds=0.0, why=why)


def _parts(text: str, nonce: str) -> dict[str, str]:
    """The parts by name; what a command said beside its answer is `NAME.said`."""
    found: dict[str, str] = {}
    before = ""
    for piece in re.split(rf"(?:\A|\n){re.escape(nonce)} (?=[a-z]+[0-9]*\n)", text, maxsplit=MOST_PARTS)[1:]:
        name, _, rest = piece.partition("\n")
        key = f"{before}.said" if name == "said" else name
        if key in found:
            raise Unusable("the answer has a part twice")
        found[key] = rest
        before = name
    return found


def _ids(ids: Sequence[str]) -> Sequence[str]:
    if not all(_JOB_ID.fullmatch(one) for one in ids):
        raise Unusable("a job id must be letters and digits, with _TASK or +OFFSET")
    return ids
