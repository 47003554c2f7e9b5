"""A host without python3: Slurm is asked in sh, with the same words, the same end line and nothing left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, to_builtins

from dogwatch.clock import Clock
from dogwatch.model import Ended, Job, Known, Missing, Outcome, Running, Unreachable, follow
from dogwatch.model.poll import Answered
from dogwatch.sources.slurm import requests, source
from dogwatch.transport import without_python
from dogwatch.transport.interface import Answer
from dogwatch.transport.ssh import Ssh
from dogwatch.wire.commands import CommandsSection
from dogwatch.wire.json_value import JsonObject
from tests.sources.slurm import lines
from tests.support import wait_until
from tests.transport.sshd import Link, Sshd, probes

LONG = 60.0
LIST: dict[str, Any] = {"commands": {"list": {"argv": ["squeue"], "seconds": 5.0}}}
# All that the script may need; each is in POSIX but `timeout`, without which it goes as well.
TOOLS = ("sh", "env", "sed", "awk", "sleep", "date", "uname", "id", "cat", "wc", "timeout", "true", "printf")
SHELLS = ("dash", "busybox", "bash", "ksh")
# Stands for Slurm's programs, which are no scripts: answers with a file, the mark put in, and notes how it was called.
PROGRAM = """#!{python}
import os, re, sys, time
name, folder = os.path.basename(sys.argv[0]), os.path.dirname(os.path.abspath(sys.argv[0]))
settings = {{name: value for name, value in os.environ.items() if name.startswith("S")}}
with open(folder + "/calls", "a") as calls:
    print(name, *sys.argv[1:], settings, file=calls)
mark = re.search("\\x1f([0-9a-f]{{8}})\\x1f", " ".join(sys.argv))
if os.path.exists(folder + "/" + name + ".slow"):
    time.sleep(1000)
text = open(folder + "/" + name + ".out", "rb").read() if os.path.exists(folder + "/" + name + ".out") else b""
sys.stdout.buffer.write(text.replace(b"{mark}", mark[1].encode() if mark else b""))
if os.path.exists(folder + "/" + name + ".err"):
    sys.exit(open(folder + "/" + name + ".err").read())
"""


class Host:
    """The PATH of a host that has a shell, the tools of POSIX and Slurm, and no Python."""

    def __init__(self, directory: Path, shell: str, without: tuple[str, ...] = ()) -> None:
        self.directory = directory
        directory.mkdir()
        for tool in TOOLS:
            of_busybox = shell == "busybox" and tool not in without
            found = shutil.which("busybox" if of_busybox else shell if tool == "sh" else tool)
            if found is None:
                pytest.skip(f"needs {shell}, which is not installed")
            if tool not in without:
                (directory / tool).symlink_to(found)
        for name in ("squeue", "sacct", "scontrol"):
            (directory / name).write_text(PROGRAM.format(python=sys.executable, mark=lines.MARK))
            (directory / name).chmod(0o755)

    def say(self, name: str, text: str = "", err: str = "") -> None:
        (self.directory / f"{name}.out").write_text(text)
        if err:
            (self.directory / f"{name}.err").write_text(err)

    def calls(self, name: str) -> list[str]:
        path = self.directory / "calls"
        return [line for line in path.read_text().splitlines() if line.startswith(name)] if path.exists() else []


def jobs(*ids: str) -> list[Job]:
    return [lines.job(one, cluster=None) for one in ids]


def look(
    transport: Ssh, some: list[Job], known: dict[str, Known] | None = None
) -> tuple[dict[str, Known], dict[str, Any]]:
    """What the engine does with one poll: ask, read, follow."""
    before = known or {job.ref: Known() for job in some}
    answer = transport.ask(source.ask(some, before, lines.NOW).to_request(), LONG)
    assert isinstance(answer, Answer), answer
    section = convert(answer.body["commands"], CommandsSection)
    assert source.trouble(section, some) is None
    asked, seen = source.read(section, some, before, lines.NOW)
    after, _ = follow(before, Answered("lab", lines.NOW, 0.1, asked, seen))
    return dict(after), answer.body


@pytest.mark.parametrize("shell", SHELLS)
def test_states_and_endings_are_right_in_any_sh(sshd: Sshd, transport: Ssh, tmp_path: Path, shell: str) -> None:
    """One queue, one accounting for what the queue leaves open, names that hold lines of their own, and the cluster."""
    host = Host(tmp_path / "bin", shell)
    forged = 'x\n12\x1fffffffff\x1fCOMPLETED\x1f $(touch /tmp/no) `id` \\ % "quoted" ünï'
    host.say(
        "squeue",
        lines.row("RUNNING", Name=forged)
        + lines.row("FAILED", "13", exit_code="3:0")
        + lines.row("PENDING", "15_[3-9%2]"),
    )
    host.say("sacct", lines.whole("FAILED", "3:0", "13") + lines.whole("TIMEOUT", "0:0", "14"))
    host.say("scontrol", "Configuration data as of now\nClusterName = laboratory\nSLURM_VERSION = 22.05.8\n")
    sshd.start(env=f"PATH={host.directory}")
    known, body = look(transport, jobs("12", "13", "14", "15"))
    states = [known[f"lab/slurm:{one}"].state for one in ("12", "13", "14")]
    assert isinstance(states[0], Running)
    assert [(state.outcome, state.exit_code) for state in states[1:] if isinstance(state, Ended)] == [
        (Outcome.FAILED, 3),
        (Outcome.TIMED_OUT, None),
    ]
    assert body["commands"]["ran"]["slurm.accounting"]["ids"] == ["13", "14"]
    assert "--jobs=13,14 " in host.calls("sacct")[0]
    assert requests.cluster(convert(body["commands"], CommandsSection)) == ("laboratory", "22.05.8")
    assert body["commands"]["counts"] == {"squeue": 1, "sacct": 1, "scontrol": 1}
    assert [len(host.calls(name)) for name in ("squeue", "sacct", "scontrol")] == [1, 1, 1]
    assert (body["python"], body["host"]) == (None, os.uname().nodename)
    assert abs(body["clock"]["wall"] - Clock().now()) < 60


def test_the_accounting_is_left_alone_while_the_queue_knows_it_all(sshd: Sshd, transport: Ssh, tmp_path: Path) -> None:
    """And asked whatever the queue says where the history of a job is wanted."""
    host = Host(tmp_path / "bin", "dash")
    host.say("squeue", lines.row("RUNNING") + lines.row("COMPLETING", "13"))
    host.say("sacct", lines.whole("COMPLETED", "0:0", "12"))
    sshd.start(env=f"PATH={host.directory}")
    some = jobs("12", "13")
    _, body = look(transport, some)
    assert "slurm.accounting" not in body["commands"]["ran"]
    look(transport, some, {some[0].ref: Known(Missing(lines.NOW)), some[1].ref: Known()})
    assert len(host.calls("sacct")) == 1
    assert "--jobs=12 " in host.calls("sacct")[0]


@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_what_a_command_says_of_its_trouble_comes_along(sshd: Sshd, transport: Ssh, tmp_path: Path, shell: str) -> None:
    """A queue that fails is no empty queue; the accounting is asked all the same, and its own trouble is told."""
    host = Host(tmp_path / "bin", shell)
    host.say("squeue", err="slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    host.say("sacct", err="Slurm accounting storage is disabled")
    sshd.start(env=f"PATH={host.directory}")
    some = jobs("12", "13")
    answer = transport.ask(source.ask(some, {}, lines.NOW).to_request(), LONG)
    assert isinstance(answer, Answer)
    section = answer.body["commands"]
    assert (section["ran"]["slurm.queue"]["rc"], section["ran"]["slurm.accounting"]["rc"]) == (1, 1)
    assert "Unable to contact slurm controller" in str(
        source.trouble(convert(answer.body["commands"], CommandsSection), some)
    )
    assert "storage is disabled" in section["ran"]["slurm.accounting"]["err"]
    (host.directory / "sacct").unlink()
    answer = transport.ask(source.ask(some, {}, lines.NOW).to_request(), LONG)
    assert isinstance(answer, Answer)


@pytest.mark.parametrize("without", [(), ("timeout",)], ids=["timeout", "no timeout"])
def test_a_queue_that_hangs_is_late_and_ends(
    sshd: Sshd, transport: Ssh, tmp_path: Path, without: tuple[str, ...]
) -> None:
    """With `timeout` only the command is given up; without one the poll is, and the watchdog clears away the rest."""
    host = Host(tmp_path / "bin", "dash", without)
    if without:  # the script looks in /usr/bin as well, where there is one
        (host.directory / "timeout").write_text("#!/bin/sh\nexit 1\n")
        (host.directory / "timeout").chmod(0o755)
    (host.directory / "squeue.slow").write_text("")
    host.say("sacct", lines.whole())
    sshd.start(env=f"PATH={host.directory}")
    answer = transport.ask(source.ask(jobs("12"), {}, lines.NOW).to_request(), 3.0)
    if without:
        assert isinstance(answer, Unreachable)
        assert answer.kind == "late"
    else:
        assert isinstance(answer, Answer), answer
        assert answer.body["commands"]["ran"]["slurm.queue"]["why"] == "late"
        assert answer.body["commands"]["ran"]["slurm.accounting"]["rc"] == 0
    wait_until(lambda: not _running(host), timeout=30)


def _running(host: Host) -> list[str]:
    said = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    return [line for line in said.splitlines() if str(host.directory / "squeue") in line]


@pytest.mark.parametrize("shell", ["bash", "dash", "tcsh", "fish", "zsh", "ksh"])
def test_any_login_shell_will_do(sshd: Sshd, transport: Ssh, tmp_path: Path, shell: str) -> None:
    """The line that it sees means the same to all of them; what a login prints is not the answer."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"needs {shell}, which is not installed")
    host = Host(tmp_path / "bin", "dash")
    host.say("squeue", lines.row())
    sshd.start(shell=found, env=f"PATH={host.directory}")
    known, _ = look(transport, jobs("12"))
    assert isinstance(known["lab/slurm:12"].state, Running)


def test_what_sites_do_to_slurms_settings_does_not_matter(sshd: Sshd, transport: Ssh, tmp_path: Path) -> None:
    """Formats of theirs are unset, times come as numbers."""
    host = Host(tmp_path / "bin", "dash")
    host.say("squeue", lines.row())
    sshd.start(env=f"PATH={host.directory} SQUEUE_FORMAT=%i SACCT_FORMAT=JobID SLURM_TIME_FORMAT=relative")
    look(transport, jobs("12"))
    (call,) = host.calls("squeue")
    assert "SQUEUE_FORMAT" not in call
    assert "'SLURM_TIME_FORMAT': '%s'" in call


def test_python_is_asked_for_once_and_not_at_every_look(sshd: Sshd, transport: Ssh, tmp_path: Path) -> None:
    """The first poll costs a second connection, each further one costs one; each answer says how many it took."""
    host = Host(tmp_path / "bin", "dash")
    host.say("squeue", lines.row())
    sshd.start(env=f"PATH={host.directory}")

    def connections() -> int:
        return (sshd.directory / "sshd.log").read_text().count("Accepted publickey")

    told, counts = [], []
    for _ in range(3):
        answer = transport.ask(source.ask(jobs("12"), {}, lines.NOW).to_request(), LONG)
        assert isinstance(answer, Answer)
        told.append(answer.connections)
        counts.append(connections())
    assert (told, counts) == ([2, 1, 1], [2, 3, 4])


def test_what_else_was_asked_is_said_to_be_unread(sshd: Sshd, transport: Ssh, tmp_path: Path) -> None:
    """The silence of a log is then ours, and no job's."""
    host = Host(tmp_path / "bin", "dash")
    sshd.start(env=f"PATH={host.directory}")
    logs: JsonObject = {"a": {"globs": ["/x"]}}
    request: JsonObject = {"logs": logs, "files": {}, "disks": ["/"], "texts": {"t": {}}, "process": {}}
    answer = transport.ask(request, LONG)
    assert isinstance(answer, Answer)
    body = answer.body
    assert [body[name]["ok"] for name in request] == [False] * 5
    assert body["logs"]["late"] == ["a"]
    assert "there is no python3" in body["texts"]["why"]
    assert "commands" not in body


def test_half_an_answer_and_a_cut_link_are_dark_and_leave_nothing(sshd: Sshd, transport: Ssh, tmp_path: Path) -> None:
    """Wherever it is cut: no sentinel, no answer."""
    host = Host(tmp_path / "bin", "dash")
    host.say("squeue", "".join(lines.row("RUNNING", str(n)) for n in range(12, 300)))
    sshd.start(env=f"PATH={host.directory}")
    link = Link(sshd.port)
    sshd.trust(link.port)
    sshd.write_config(port=link.port)
    asked = source.ask(jobs("12"), {}, lines.NOW).to_request()
    try:
        assert isinstance(transport.ask(asked, LONG), Answer)
        whole = link.carried
        for part in (0.5, 0.7, 0.9, 0.97):
            link.cut_after = int(whole * part)
            assert isinstance(transport.ask(asked, LONG), Unreachable), part
    finally:
        link.close()
    wait_until(lambda: not probes())


@pytest.mark.parametrize("sent", [3000, 4500, 6000])
def test_a_link_that_falls_silent_leaves_nothing_there(sshd: Sshd, transport: Ssh, tmp_path: Path, sent: int) -> None:
    """Whether nothing, half or all of the script had arrived, its watchdog ends it."""
    host = Host(tmp_path / "bin", "dash")
    (host.directory / "squeue.slow").write_text("")
    sshd.start(env=f"PATH={host.directory}")
    link = Link(sshd.port)
    sshd.trust(link.port)
    sshd.write_config(port=link.port)
    asked = source.ask(jobs("12"), {}, lines.NOW).to_request()
    try:
        assert isinstance(transport.ask({}, LONG), Answer)  # from now on it is asked in sh
        link.silent_after = sent
        answer = transport.ask(asked, 2.0)
        assert isinstance(answer, Unreachable)
        assert answer.kind == "late"
        wait_until(lambda: not probes() and not _running(host), timeout=20)
    finally:
        link.close()


IDS = ["12; rm -rf /", "$(id)", "`id`", "12\n13", "-1", "12_", "12 13", "'"]


@pytest.mark.parametrize("bad", IDS)
def test_what_is_no_job_id_is_no_word_of_the_script(bad: str) -> None:
    """Nothing that could be another command gets that far."""
    for ids, history in (([bad], []), (["1"], [bad])):
        with pytest.raises(without_python.Unusable):
            without_python.program(
                {"commands": to_builtins(requests.poll([], ids, history, 1_000_000, 0.0))}, "00", 10.0
            )


@pytest.mark.parametrize(
    "wrong",
    [
        {"unset": ["A; rm"]},
        {"unset": ["*"]},
        {"environment": {"A B": "x"}},
        {"argv": "squeue"},
        {"rows": {"ids": []}},
        {"follow_up": {"of": "nobody", "states": []}},
        {"nonsense": 1},
    ],
)
def test_a_request_that_sh_cannot_be_given_is_refused(wrong: dict[str, Any]) -> None:
    """Before anything is sent, with the section's name."""
    with pytest.raises(without_python.Unusable):
        without_python.program({"commands": {"list": {"argv": ["squeue"], "seconds": 5.0, **wrong}}}, "00", 10.0)


def test_a_command_that_may_print_only_so_much_is_not_run() -> None:
    """A shell cannot count what it prints; a batch script can wait for a python3."""
    asked = {"commands": {"list": {"argv": ["squeue"], "seconds": 5.0}, **to_builtins(requests.script("12"))}}
    script = without_python.program(asked, "00", 10.0)
    assert b"squeue" in script
    assert b"batch_script" not in script


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), max_size=4))
def test_every_word_arrives_as_it_was(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    """Quotes, newlines, dollars: a word of the request is one argument of the command, whatever it holds."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "squeue").write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done >"$NOTE"\n')
    (folder / "squeue").chmod(0o755)
    script = without_python.program({"commands": {"list": {"argv": ["squeue", *words], "seconds": 5.0}}}, "0123", 10.0)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "NOTE": str(folder / "note"), "USER": "me"}
    said = subprocess.run(["sh", "-s"], input=script, env=env, capture_output=True)
    assert said.returncode == 0, said.stderr
    assert (folder / "note").read_bytes().decode().split("\0")[:-1] == words


def test_an_answer_that_lacks_a_part_is_none() -> None:
    """Also one that has a part twice."""
    head = b"ab about\n1794780000\nme\nhost\nboot"
    whole = head + b"\nab run0\nrow\nab said\n\n0"
    assert without_python.read(whole, LIST, "ab").body["commands"]["ran"]["list"]["out"] == "row"
    for broken in (
        b"",
        b"noise",
        head,
        head + b"\nab run0\nrow\nab said\nwhat",
        whole + b"\nab run0\nrow\nab said\n\n0",
        head + b"\nab run0\nrow",
        whole.replace(b"1794780000", "1²".encode()),
        whole.replace(b"1794780000", b"9" * 5000),
        whole.replace(b"\nhost", b"\n" + b"h" * 2_000_000) + b"\nab run1\nab said\n\n" + b"9" * 5000,
    ):
        with pytest.raises(without_python.Unusable):
            without_python.read(broken, LIST, "ab")


def test_the_words_of_such_a_host_are_cleaned_too() -> None:
    """Its name and the name of its user come from the host like everything else."""
    reply = b"ab about\n1794780000\nm\x1b]52;c;aGk=\x07e\nho\x1b[31mst\xe2\x80\xae\nboot"
    body = without_python.read(reply + b"\nab run0\nrow\nab said\nwhy\x07\n0", LIST, "ab").body
    section = body["commands"]
    assert (body["host"], section["me"], section["ran"]["list"]["err"]) == ("host\\u202e", "me", "why\\x07")
