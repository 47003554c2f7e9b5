"""The slurm section: the queue asked once, the accounting at most once and only for what the queue leaves open."""

import itertools
import os
import re
import time

from dogwatch.aboard.probe.command import login_name, run_command
from dogwatch.aboard.probe.wire import RESERVED, Refused, mapping, number, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATIENCE = {"squeue": 30.0, "sacct": 40.0, "scontrol": 10.0}
OUT_CAP = 64 << 20
IDS_CAP = 100000  # Linux takes 128 KiB in one argument
SCRIPT_CAP = 256 << 10
SCRIPTS_MOST = 64
SLURM_BIN = ["/usr/bin", "/usr/local/bin", "/bin", "/opt/slurm/bin", "/opt/slurm/current/bin"]
SLURM_BIN += ["/opt/slurm/default/bin", "/usr/local/slurm/bin", "/usr/slurm/bin", "/cm/shared/apps/slurm/current/bin"]
# States in which a job runs no more, short and long; any other word, known or not, means that the queue still has it.
FINAL = frozenset(
    ["BF", "CA", "CD", "DL", "F", "LF", "NF", "OOM", "PR", "RV", "TO", "BOOT_FAIL", "CANCELLED", "COMPLETED"]
    + ["DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"]
)
# What would change the shape of an answer; SLURM_CONF and the like say which cluster and stay.
UNWANTED = re.compile(rb"^(SQUEUE|SACCT|SCONTROL)_|^SLURM_(CLUSTERS|JSON|YAML|DEBUG_FLAGS|FEDERATION)$")
JOB_ID = re.compile(r"^[0-9]{1,20}(_[0-9]{1,10}|\+[0-9]{1,6})?\Z")
BASE_ID = re.compile(r"[0-9]+")
PREEMPTED = ("PREEMPTED", "PR")
REQUEUE = re.compile(r" Requeue=([01]) Restarts=[0-9]+ BatchFlag=")
CANCELLED_BY = re.compile(r"CANCELLED by ([0-9]{1,10})\b")
ASKED_MOST = 16


class Scheduler:
    """The Slurm of this host, and how often each of its programs was run for this request."""

    def __init__(self, search: "list[str]") -> None:
        here = os.environ.get("PATH", "").split(":") + SLURM_BIN
        self.search = [path for path in dict.fromkeys(search or here) if path.startswith("/")]
        self.counts = dict.fromkeys(PATIENCE, 0)
        self.environment = {name: value for name, value in os.environb.items() if not UNWANTED.match(name)}
        # 0: the task list of an array in full, however long it is.
        self.environment.update({b"LC_ALL": b"C", b"SLURM_TIME_FORMAT": b"%s", b"SLURM_BITSTR_LEN": b"0"})

    def run(self, program: str, arguments: "list[str]", until: float, cap: int = OUT_CAP) -> "dict[str, Any]":
        now = time.monotonic()
        self.counts[program] += now < until
        limit = min(until, now + PATIENCE[program])
        return run_command([program] + arguments, self.environment, self.search, limit, cap)


def slurm_section(spec: "dict[str, Any]", scheduler: Scheduler, until: float) -> "dict[str, Any]":
    """Queue and accounting as they were said, asked with the arguments that came; see `queue_words` and
    `accounting_words` for what is filled in."""
    began = time.monotonic()
    me = login_name()
    wanted, history = texts(spec.get("ids"), "slurm.ids"), texts(spec.get("history"), "slurm.history")
    if not all(JOB_ID.match(one) for one in wanted + history):
        raise Refused("a job id must be digits, with _TASK or +OFFSET")
    queue = accounting = None
    active: "set[str]" = set()
    requeue: "dict[str, bool]" = {}
    if spec.get("squeue") is not None:
        queue = scheduler.run("squeue", queue_words(spec, me), until)
        listed = in_queue(queue, spec)
        active = is_live(listed, spec)
        gone = {base for base, word in listed if word in PREEMPTED}
        requeue = may_requeue([one for one in wanted if one in gone], scheduler, until)
    ids = list(dict.fromkeys([one for one in wanted if one not in active] + history))
    # What the accounting says of an ending is void as long as the queue may list the job as running.
    answered = queue is None or has_answered(queue, spec)
    if spec.get("sacct") is not None and ids and answered:
        ids = as_many_as_fit(ids)
        accounting = scheduler.run("sacct", accounting_words(spec, me, ids), until)
        accounting["ids"] = ids
    answer: "dict[str, Any]" = {"ok": True, "queue": queue, "accounting": accounting, "me": me}
    answer.update(cluster=None, version=None, answered=answered, requeue=requeue)
    answer["names"] = user_names(accounting["out"] if accounting else "")
    if spec.get("about") and answered:
        answer.update(about_slurm(scheduler, until))
    answer.update(counts=scheduler.counts, seconds=round(time.monotonic() - began, 6))
    return answer


def queue_words(spec: "dict[str, Any]", me: str) -> "list[str]":
    """squeue's arguments; `{me}` in one is this user, and `mine` adds this user to those whose jobs are listed."""
    words = [word.replace("{me}", me) for word in texts(spec["squeue"], "slurm.squeue")]
    if not spec.get("mine"):
        return words
    users = [word[len("--user=") :] for word in words if word.startswith("--user=")]
    listed = [name for name in ",".join(users).split(",") if name]
    rest = [word for word in words if not word.startswith("--user=")]
    return rest + ["--user=" + ",".join(dict.fromkeys(listed + [me]))]


def accounting_words(spec: "dict[str, Any]", me: str, ids: "list[str]") -> "list[str]":
    """sacct's arguments; a last one that stops at its `=` is completed with the ids that are open."""
    words = [word.replace("{me}", me) for word in texts(spec["sacct"], "slurm.sacct")]
    if words and words[-1].endswith("="):
        words[-1] += ",".join(ids)
    return words


def has_answered(queue: "dict[str, Any]", spec: "dict[str, Any]") -> bool:
    """Whether the controller said anything; with words in `answers` on stderr, a failure is an answer too."""
    if queue["rc"] is None:
        return False
    said = queue["err"].lower()
    return queue["rc"] == 0 or any(words in said for words in texts(spec.get("answers"), "slurm.answers"))


def as_many_as_fit(ids: "list[str]") -> "list[str]":
    """The ids that one argument holds; of more than that another part each time, as chance has it."""
    if sum(map(len, ids)) + len(ids) <= IDS_CAP:
        return ids
    first = int.from_bytes(os.urandom(4), "big") % len(ids)
    turned = ids[first:] + ids[:first]
    lengths = itertools.accumulate(len(one) + 1 for one in turned)
    return [one for one, length in zip(turned, lengths) if length <= IDS_CAP]


def is_live(listed: "list[tuple[str, str]]", spec: "dict[str, Any]") -> "set[str]":
    """The base ids that the queue lists in a state that is not final; with `active` only those words are not final."""
    live = None if spec.get("active") is None else set(texts(spec["active"], "slurm.active"))
    return {base for base, word in listed if (word not in FINAL if live is None else word in live)}


def may_requeue(ids: "list[str]", scheduler: Scheduler, until: float) -> "dict[str, bool]":
    """Of jobs that were preempted, whether Slurm may put them back in the queue: only the controller says so."""
    found = {}
    for one in ids[:ASKED_MOST]:
        ran = scheduler.run("scontrol", ["show", "job", "-o", one], until, SCRIPT_CAP)
        told = REQUEUE.findall(ran["out"])
        if ran["rc"] == 0 and told:
            found[one] = told[-1] == "1"
    return found


def user_names(said: str) -> "dict[str, str]":
    """The names of those who cancelled jobs, by uid."""
    import pwd

    found = {}
    for uid in list(dict.fromkeys(CANCELLED_BY.findall(said)))[:ASKED_MOST]:
        try:
            found[uid] = pwd.getpwuid(int(uid)).pw_name
        except (KeyError, OverflowError):
            continue
    return found


def in_queue(queue: "dict[str, Any]", spec: "dict[str, Any]") -> "list[tuple[str, str]]":
    """The base ids that the queue lists, each with its state; none if the queue did not answer. With a `mark` only
    lines that carry it in its column count, because a job's name may hold whole lines."""
    if queue["rc"] != 0:
        return []
    separator, columns = spec.get("separator", "\x1f"), mapping(spec.get("columns"), "slurm.columns")
    if not isinstance(separator, str) or not separator:
        raise Refused("slurm.separator must be a text")
    at, state = (number(columns.get(name), "slurm.columns." + name, 0, 1000) for name in ("id", "state"))
    mark, mark_at = spec.get("mark"), number(columns.get("mark", 0), "slurm.columns.mark", 0, 1000)
    found = []
    for line in queue["out"].split("\n"):
        cells = line.split(separator)
        if len(cells) <= max(at, state, mark_at) or (mark is not None and cells[mark_at] != mark):
            continue
        base, words = BASE_ID.match(cells[at].strip()), cells[state].split()
        word = words[0].rstrip("+") if words else ""
        if base and word:
            found.append((base.group(), word))
    return found


def about_slurm(scheduler: Scheduler, until: float) -> "dict[str, Any]":
    """Cluster and version by the controller's own word, and what it said instead if it did not give it."""
    ran = scheduler.run("scontrol", ["show", "config"], until)
    found = dict(re.findall(r"^(ClusterName|SLURM_VERSION)\s*=\s*(\S+)", ran["out"], re.M))
    ran["out"] = ""
    return {"cluster": found.get("ClusterName"), "version": found.get("SLURM_VERSION"), "about": ran}


def scripts_section(spec: "dict[str, Any]", scheduler: Scheduler, answered: bool, until: float) -> "dict[str, Any]":
    """Batch scripts as the controller keeps them; a controller that was late once is not asked again."""
    began = time.monotonic()
    if len(spec) > SCRIPTS_MOST:
        raise Refused("at most %d scripts at once" % SCRIPTS_MOST)
    answer: "dict[str, Any]" = {"ok": True}
    for key, row in spec.items():
        job = mapping(row, "scripts").get("id")
        if key in RESERVED or not isinstance(job, str) or not JOB_ID.match(job):
            raise Refused("scripts: %.60r: %.60r is not a job id" % (key, job))
        if not answered:
            answer[key] = {"rc": None, "out": "", "err": "", "seconds": 0.0, "why": "late"}
            continue
        answer[key] = scheduler.run("scontrol", ["write", "batch_script", job, "-"], until, SCRIPT_CAP)
        answered = answer[key]["why"] != "late"
    answer["seconds"] = round(time.monotonic() - began, 6)
    return answer
