"""Which processes a job name means: whole arguments and names of scripts, never a part of another word.

A process has the NAME as an argument (`worker.py NAME`, `--job-name NAME`, `--job-name=NAME`), as its program, script
or module (`NAME`, `dir/NAME.py`, `-m pkg.NAME`), or as a word of the title it gave itself. A NAME of several words is
several arguments in a row. Shells count by their script only; editors, pagers and searchers never do, nor do we.
"""

import os
import re

from dogwatch.remote.probe.processes import argv_of, owner_of, stat_fields
from dogwatch.remote.probe.wire import slurp

MARK = "dogwatch-probe"  # an argument of every probe, since its text has no path
VERBS = frozenset(
    ["run", "watch", "add", "forget", "ls", "status", "logs", "read", "why", "events", "wait", "patrol", "eta"]
    + ["backtest", "daemon", "doctor", "demo", "host", "sync", "service", "check", "preflight", "alerts", "report"]
    + ["waiters", "cancel", "fetch", "handbook", "takeover", "note"]
    + ["uninstall", "completion", "help"]
)
SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "rbash", "ash"])
# Who names a job's script or log without being the job.
ONLOOKERS = frozenset(
    ("vi", "vim", "nvim", "view", "gvim", "nano", "pico", "emacs", "emacsclient", "code", "micro", "ed", "joe", "kate")
    + ("gedit", "less", "more", "most", "cat", "bat", "tail", "head", "multitail", "grep", "egrep", "fgrep", "zgrep")
    + ("rg", "ag", "ack", "awk", "gawk", "mawk", "sed", "find", "fd", "locate", "ps", "pgrep", "pkill", "pidof")
    + ("kill", "watch", "top", "htop", "nvtop", "atop", "man", "git", "hg", "diff", "vimdiff", "tee", "tmux")
    + ("screen", "ssh", "scp", "rsync", "sftp", "mosh", "inotifywait", "strace", "ltrace", "lsof", "journalctl")
    + ("dmesg", "wc", "sort", "jq", "du", "ls", "stat", "touch", "mv", "cp", "rm", "tar", "script")
)
INTERPRETERS = ("python", "pypy", "ipython", "perl", "ruby", "node", "julia", "rscript", "lua", "torchrun", "deepspeed")
SCRIPTS = (".py", ".pyc", ".pyz", ".sh", ".bash", ".zsh", ".jl", ".r", ".pl", ".rb", ".js", ".ts", ".lua", ".m", ".exe")
OWN_NUMBER = re.compile(
    r"--?(?:worker|rank|shard|local[-_]rank|worker[-_](?:id|index|rank|num)|node[-_]rank)(?:=(\d+))?$"
)
MOST_LISTED = 40
MOST_NEAR = 3


def is_dogwatch(argv: "list[str]") -> bool:
    """Whether a command line is Dogwatch's own, also inside a wrapper's or a shell's argument."""
    words = [word for part in argv for word in part.split()]
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        if word == MARK or word.endswith("dogwatch/remote/supervisor.py"):
            return True
        if word == "-m" and after.split(".")[0] == "dogwatch":
            return True
        if word.rpartition("/")[2] == "dogwatch" and (at < 2 or after in VERBS):
            return True
    return False


def base_name(path: str) -> str:
    return path.rpartition("/")[2]


def stem_of(path: str) -> str:
    """The name of a program or script without its directory and its suffix."""
    name = base_name(path)
    head, dot, tail = name.rpartition(".")
    return head if head and dot + tail.lower() in SCRIPTS else name


def program_of(argv: "list[str]") -> str:
    """`bash` of `-bash` and /bin/bash, `vim` of vim.basic."""
    return base_name(argv[0]).lstrip("-").split(".")[0].lower()


def script_at(argv: "list[str]") -> int:
    """Where the script stands that an interpreter was given; 0 where it was given none."""
    if program_of(argv) not in SHELLS and not program_of(argv).startswith(INTERPRETERS):
        return 0
    for at in range(1, len(argv)):
        if argv[at] in ("-c", "-m"):
            return 0
        if argv[at] and not argv[at].startswith("-"):
            return at
    return 0


def is_script(word: str, at: int, argv: "list[str]") -> bool:
    """Whether the word at this place names a program: the first word, an interpreter's script, or a script's suffix."""
    return at == 0 or at == script_at(argv) or stem_of(word) != base_name(word)


def word_means(argv: "list[str]", at: int, name: str) -> bool:
    word, before = argv[at], argv[at - 1] if at else ""
    if before == "-c":  # a program as a text: what it does is not what it is called
        return False
    if word == name or word.partition("=")[2] == name:
        return True
    if before == "-m":
        return word.rpartition(".")[2] == name
    if not is_script(word, at, argv):
        return False
    return name in (base_name(word), stem_of(word)) or ("/" in name and word.endswith("/" + name.lstrip("./")))


def argv_means(argv: "list[str]", name: str) -> bool:
    """Whether a command line is that of a process of this name."""
    if not argv or not argv[0] or is_dogwatch(argv):
        return False
    program = program_of(argv)
    if program in ONLOOKERS:
        return False
    if program in SHELLS:
        at = script_at(argv)
        return at > 0 and word_means(argv, at, name)
    if len(argv) == 1 and " " in argv[0].strip():  # a title that it gave itself
        argv = [word for word in re.split(r"[\s:]+", argv[0]) if word]
    if any(word_means(argv, at, name) for at in range(len(argv))):
        return True
    wanted = name.split() or [name]
    rows = range(len(argv) - len(wanted) + 1)
    return any(all(word_means(argv, at + i, word) for i, word in enumerate(wanted)) for at in rows)


def own_number(argv: "list[str]") -> "int | None":
    """The number that a worker was given on its command line, as in --worker-id 2 or --rank=2."""
    found = set()
    for at, word in enumerate(argv):
        match = OWN_NUMBER.match(word)
        if match:
            told = match.group(1) or (argv[at + 1] if at + 1 < len(argv) else "")
            if told.isdecimal() and len(told) < 6:
                found.add(int(told))
    return found.pop() if len(found) == 1 else None


class Match:
    """One process that a name means."""

    def __init__(self, pid: int, parent: int, start: int, uid: "int | None", argv: "list[str]") -> None:
        self.pid, self.parent, self.start, self.uid, self.argv = pid, parent, start, uid, argv

    def order(self) -> "tuple[int, int]":
        return self.start, self.pid


def parent_and_start(pid: int) -> "tuple[int, int, str] | None":
    try:
        name, fields = stat_fields(slurp("/proc/%d/stat" % pid, 2048))
    except (OSError, ValueError):
        return None
    return int(fields[1]), int(fields[19]), name if fields[0] == b"D" else ""


def ancestors() -> "set[int]":
    found, pid = set(), os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        row = parent_and_start(pid)
        pid = row[0] if row else 0
    return found


def matches(name: str) -> "list[Match]":
    """Every process of this name, whoever owns it; never the asker, its parents and its children."""
    ours, found = ancestors(), []
    for entry in os.listdir("/proc"):
        pid = int(entry) if entry.isdigit() else 0
        if not pid or pid in ours:
            continue
        row = parent_and_start(pid)
        if row is None or row[0] == os.getpid():
            continue
        argv = [row[2]] if row[2] else argv_of(pid, 65536)
        if argv_means(argv, name):
            found.append(Match(pid, row[0], row[1], owner_of(pid), argv))
    return sorted(found, key=Match.order)


def generations(found: "list[Match]") -> "tuple[list[Match], list[Match], list[Match]]":
    """(those that no other match started; those that are no launcher and no fork; forks of the only root). A launcher
    has a match below it with another command line; a fork has its parent's."""
    by_pid = dict((one.pid, one) for one in found)
    roots = [one for one in found if one.parent not in by_pid]
    forks = [one for one in found if one.parent in by_pid and by_pid[one.parent].argv == one.argv]
    launchers = set(one.parent for one in found if one.parent in by_pid and one not in forks)
    workers = [one for one in found if one.pid not in launchers and one not in forks]
    below = [one for one in forks if len(roots) == 1 and one.parent == roots[0].pid]
    return roots, workers, below


def chosen(found: "list[Match]", want: "int | None") -> "tuple[list[Match], list[Match]]":
    """(the workers, nobody) or (nobody, those among which somebody must choose)."""
    roots, workers, forks = generations(found)
    if want is None:
        programs = set((program_of(one.argv), base_name(one.argv[script_at(one.argv)])) for one in roots)
        return (roots, []) if len(programs) < 2 else ([], roots)
    for some in (roots, workers, forks):
        if len(some) == want:
            return some, []
    if len(roots) > want:
        return [], roots
    return (workers, []) if len(workers) <= want else ([], workers)


def numbers_of(some: "list[Match]", want: "int | None") -> "list[int] | None":
    """The numbers that they were given, counted from 0, where each has one of its own; else None."""
    numbers = [own_number(one.argv) for one in some]
    told = [number for number in numbers if number is not None]
    if len(told) < len(some) or len(set(told)) < len(some):
        return None
    low, high = min(told), max(told)
    count = want or len(some)
    if high < count:
        return told
    return [number - 1 for number in told] if low == 1 and high == count else None


def near_misses(name: str, uid: "int | None") -> "list[tuple[int, str]]":
    """Processes of a user that have the name as a part of a word: what somebody may have meant."""
    ours, found = ancestors(), []
    for entry in os.listdir("/proc"):
        pid = int(entry) if entry.isdigit() else 0
        if not pid or pid in ours or owner_of(pid) != uid:
            continue
        argv = argv_of(pid, 4096)
        if name in " ".join(argv) and not is_dogwatch(argv) and program_of(argv) not in ONLOOKERS | SHELLS:
            found.append((pid, " ".join(argv)))
    return sorted(found)


class Named:
    """What a name means: the workers and the numbers that they were given; or why it is not known who they are, with
    the processes to choose from, or how many of other users have the name."""

    __slots__ = ("choice", "numbers", "others", "problem", "workers")

    def __init__(self, problem: str = "", others: "int | None" = None) -> None:
        self.problem, self.others = problem, others
        self.workers: "list[Match]" = []
        self.choice: "list[Match]" = []
        self.numbers: "list[int] | None" = None


def find_by_name(name: str, want: "int | None", uid: "int | None") -> Named:
    """The workers that a name means among the processes of one user; or the list to choose from, and why."""
    found = matches(name)
    workers, unsure = chosen([match for match in found if match.uid == uid], want)
    if workers:
        named, numbers = Named(), numbers_of(workers, want)
        if numbers is not None:
            workers = [match for _, match in sorted(zip(numbers, workers), key=lambda row: row[0])]
        named.workers, named.numbers = workers, numbers and sorted(numbers)
        return named
    if unsure:
        why = "several programs" if want is None else "%d processes, where %d are expected," % (len(unsure), want)
        named = Named("%s have the name %r" % (why, name))
        named.choice = unsure
        return named
    problem = "no process has the name %r" % name
    near = [] if found else near_misses(name, uid)
    if near:
        shown = ", ".join("%d %s" % (pid, line[:80]) for pid, line in near[:MOST_NEAR])
        problem += ", though %d have it inside another word (%s)" % (len(near), shown)
    if found:
        problem += " (%d of other users do: %s)" % (len(found), ", ".join(str(one.pid) for one in found[:8]))
    return Named(problem, len(found))
