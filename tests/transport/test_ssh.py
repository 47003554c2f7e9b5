"""Ssh comes back in time with a whole answer or with Unreachable and the right reason, and leaves nothing running
anywhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogwatch.errors import UsageError
from dogwatch.model import Unreachable
from dogwatch.transport.interface import Answer, Transport
from dogwatch.transport.ssh import Ssh
from dogwatch.transport.target import Target
from dogwatch.wire.json_value import JsonObject
from tests.support import wait_until
from tests.transport.sshd import Link, Sshd, descendants, make_key, name_of, probes

LONG = 60.0  # a deadline that only a broken test meets


@pytest.fixture
def link(sshd: Sshd) -> Iterator[Link]:
    """The sshd is running, and the way to it leads through this."""
    sshd.start()
    one = Link(sshd.port)
    sshd.trust(one.port)
    sshd.write_config(port=one.port)
    yield one
    one.close()


def unreachable(answer: Answer | Unreachable) -> Unreachable:
    assert isinstance(answer, Unreachable), answer
    return answer


def whole(answer: Answer | Unreachable) -> Answer:
    assert isinstance(answer, Answer), answer
    return answer


def no_child_is_left() -> bool:
    """No ssh of ours, alive or waiting to be reaped; what sshd starts plays another machine."""
    return [pid for pid in descendants(os.getpid()) if name_of(pid) == "ssh"] == []


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_one_connection_brings_a_whole_answer(sshd: Sshd, transport: Ssh) -> None:
    """The body is the probe's, under the name of the place, with the host's own clock; nothing stays behind."""
    sshd.start()
    asked: Transport = transport
    answer = whole(asked.ask({"process": {}, "disks": ["/"]}, LONG))
    assert answer.place == "lab"
    assert answer.body["process"]["ok"] is True
    assert answer.body["disks"]["disks"]["/"]["total"] > 0
    assert abs(answer.body["clock"]["wall"] - answer.at) < 60
    assert no_child_is_left()


def test_megabytes_go_both_ways(sshd: Sshd, transport: Ssh, tmp_path: Path) -> None:
    """A request and an answer much larger than any pipe."""
    sshd.start()
    (tmp_path / "big.log").write_bytes(b"\0\xff" * 1_500_000)
    globs = [str(tmp_path / "big.log")] + [f"/none/{'x' * 200}{number}" for number in range(5000)]
    answer = whole(transport.ask({"logs": {"job": {"globs": globs, "max": 4 << 20}}}, LONG))
    assert len(answer.body["logs"]["job"]["missing"]) == 5000
    assert len(answer.body["logs"]["job"]["files"][globs[0]]["text"]) == 3_000_000


NOISE = """\
echo 'Welcome! {"nonce": "x"}'
for n in 1 2 3; do echo "DOGWATCH-END 00ff $n"; done
echo 'module: command not found' >&2
printf 'no newline at the end: '
"""


def test_what_a_login_prints_is_not_the_answer(sshd: Sshd, transport: Ssh) -> None:
    """Noise of .bashrc on both streams, even on the answer's own line, and noise after it, change nothing."""
    (sshd.home / ".bashrc").write_text(NOISE)
    wrap = script(sshd.directory / "wrap", '#!/bin/bash\n. ~/.bashrc\nbash -c "$SSH_ORIGINAL_COMMAND"\necho bye\n')
    sshd.start(f"ForceCommand {wrap}")
    assert whole(transport.ask({"disks": ["/"]}, LONG)).body["disks"]["ok"] is True


@pytest.mark.parametrize("shell", ["bash", "dash", "tcsh", "fish", "zsh", "ksh"])
def test_any_login_shell_will_do(sshd: Sshd, transport: Ssh, shell: str, request: pytest.FixtureRequest) -> None:
    """The one line that a shell sees is the same to all of them."""
    found = subprocess.run(["sh", "-c", f"command -v {shell}"], capture_output=True, text=True).stdout.strip()
    if not found:
        pytest.skip(f"needs {shell}, which is not installed")
    sshd.start(shell=found)
    assert whole(transport.ask({}, LONG)).body["host"] == os.uname().nodename


@pytest.mark.parametrize("shell", ["bash", "dash", "tcsh", "fish"])
def test_a_host_without_python3_says_so(sshd: Sshd, transport: Ssh, shell: str) -> None:
    """Whatever words the shell has for it."""
    found = subprocess.run(["sh", "-c", f"command -v {shell}"], capture_output=True, text=True).stdout.strip()
    if not found:
        pytest.skip(f"needs {shell}, which is not installed")
    empty = sshd.directory / "empty"
    empty.mkdir()
    sshd.start(shell=found, env=f"PATH={empty}")
    answer = unreachable(transport.ask({}, LONG))
    assert (answer.kind, answer.why) == ("refused", "no python3 on PATH there")


def test_a_changed_host_key_is_a_hard_stop(sshd: Sshd, transport: Ssh) -> None:
    """Nothing is sent to a host that shows another key, and the reason says what happened."""
    make_key(sshd.directory / "host")
    sshd.start()
    answer = unreachable(transport.ask({}, LONG))
    assert answer.kind == "host_key"
    assert answer.why.startswith("the host key of lab has changed")


def test_an_unknown_host_key_is_not_taken(sshd: Sshd, transport: Ssh) -> None:
    """Also when the user's configuration would take any."""
    sshd.known_hosts.write_text("")
    sshd.write_config("StrictHostKeyChecking no")
    sshd.start()
    answer = unreachable(transport.ask({}, LONG))
    assert answer.kind == "host_key"
    assert "is not known here" in answer.why
    assert sshd.known_hosts.read_text() == ""


def test_a_refused_key_is_told_as_such(sshd: Sshd, transport: Ssh) -> None:
    """No password is asked for, and the kind is one that nobody hammers at."""
    sshd.write_config(key="stranger")
    sshd.start()
    answer = unreachable(transport.ask({}, LONG))
    assert answer.kind == "auth"
    assert "Permission denied (publickey)" in answer.why


def test_nobody_listening_is_unreachable(transport: Ssh) -> None:
    """Connection refused."""
    answer = unreachable(transport.ask({}, LONG))
    assert (answer.kind, answer.why) == ("unreachable", "lab refused the connection: no sshd listens there")


def test_a_name_that_nobody_knows_is_unreachable(sshd: Sshd) -> None:
    """A host that cannot be resolved."""
    answer = unreachable(Ssh("lab", "no-such-host.invalid", str(sshd.config)).ask({}, LONG))
    assert answer.kind == "unreachable"
    assert "could not be resolved" in answer.why


def test_a_stopped_sshd_is_late_and_then_unreachable(sshd: Sshd, transport: Ssh) -> None:
    """The kernel takes the connection and no banner comes: our deadline or ssh's own, whichever is first."""
    sshd.start()
    sshd.stop()
    answer = unreachable(transport.ask({}, 1.0))
    assert (answer.kind, answer.why) == ("late", "lab did not answer in 1 s")
    assert no_child_is_left()
    answer = unreachable(transport.ask({}, LONG))
    assert (answer.kind, answer.why) == ("unreachable", "lab accepted the connection but sent nothing")


def test_a_command_that_hangs_is_late(sshd: Sshd, transport: Ssh) -> None:
    """A login that never comes to its end costs the deadline and no more."""
    sshd.start("ForceCommand exec sleep 600")
    answer = unreachable(transport.ask({}, 2.0))
    assert answer.kind == "late"
    assert no_child_is_left()


def test_endless_output_is_cut_off(sshd: Sshd, transport: Ssh) -> None:
    """More than 100 MB and no answer in it."""
    sshd.start("ForceCommand exec yes 'DOGWATCH-END 00 12'")
    answer = unreachable(transport.ask({}, LONG))
    assert (answer.kind, answer.why) == ("garbled", "it sent more than 100 MB and no end")
    assert no_child_is_left()


@pytest.mark.parametrize(
    ("command", "kind", "why"),
    [
        ("true", "garbled", "the session on lab ended without an answer, exit code 0"),
        ("echo broken >&2; exit 3", "garbled", "the session on lab ended without an answer, exit code 3 (broken)"),
        ("kill -9 $$", "garbled", "the session on lab ended without an answer"),
        ("echo This account is not available.; exit 1", "garbled", "ended without an answer, exit code 1"),
        ("echo This account is not available. >&2; exit 1", "refused", "refuses commands"),
        ("printf '\\033]0;x\\007bad\\n' >&2; exit 9", "garbled", "exit code 9 (bad)"),
    ],
)
def test_a_session_without_an_answer_is_dark(sshd: Sshd, transport: Ssh, command: str, kind: str, why: str) -> None:
    """Its last words are quoted, fit for a terminal."""
    wrap = script(sshd.directory / "wrap", f"#!/bin/sh\n{command}\n")
    sshd.start(f"ForceCommand exec {wrap}")
    answer = unreachable(transport.ask({}, LONG))
    assert answer.kind == kind
    assert why in answer.why


def forged(sshd: Sshd, body: str) -> None:
    """A host whose python3 is a program of the test's own; `nonce` holds the request's."""
    directory = sshd.directory / "bin"
    directory.mkdir()
    text = (
        f"#!{sys.executable}\nimport os, re, sys\n"
        'nonce = re.search(rb\'"nonce": "(\\w+)"\', sys.stdin.buffer.read()).group(1).decode()\n'
    )
    script(directory / "python3", text + body + "\n")
    sshd.start(env=f"PATH={directory}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('print(\'{"nonce":"%s"\' % nonce)', "garbled"),
        ('print(\'{"nonce":"%s"}\' % nonce)', "garbled"),
        ("print('{}\\nDOGWATCH-END', nonce, 3000)", "garbled"),
        ("print('{}\\nDOGWATCH-END', nonce, 'x')", "garbled"),
        ("print('{}\\nDOGWATCH-END', nonce, 2)", "garbled"),
        ("print('{x\\nDOGWATCH-END', nonce, 2)", "garbled"),
        ("print('{}\\nDOGWATCH-END', nonce[:-1], 2)", "garbled"),
        (
            'text = \'{"nonce":"%s","error":"no"}\' % nonce\nprint(text + \'\\nDOGWATCH-END\', nonce, len(text))',
            "refused",
        ),
    ],
)
def test_an_answer_that_is_not_whole_is_void(sshd: Sshd, transport: Ssh, body: str, kind: str) -> None:
    """No sentinel, a wrong one, a wrong length, another question: unreachable as a whole."""
    forged(sshd, body)
    assert unreachable(transport.ask({}, LONG)).kind == kind


def test_a_cut_link_is_dark_wherever_it_is_cut(link: Link, transport: Ssh, tmp_path: Path) -> None:
    """After any number of bytes: Unreachable, unless the whole answer was through already; never half of one."""
    (tmp_path / "some.log").write_bytes(os.urandom(60_000))
    request: dict[str, Any] = {"logs": {"job": {"globs": [str(tmp_path / "some.log")]}}}
    answer = whole(transport.ask(request, LONG))
    enough = link.carried
    text = answer.body["logs"]["job"]["files"][str(tmp_path / "some.log")]["text"]
    cuts = [0, 1, 21, 40, 500, 1500, 2200, 2700, 3000, 3400, 3800, 4200, 5000, 20_000, enough // 2]
    cuts += [enough - 20_000, enough - 5000, enough - 1000, enough - 600, enough - 300]
    kinds = set()
    for cut in cuts:
        link.cut_after = cut
        found = transport.ask(request, LONG)
        if isinstance(found, Unreachable):
            kinds.add(found.kind)
        else:
            assert cut > enough // 2
            assert found.body["logs"]["job"]["files"][str(tmp_path / "some.log")]["text"] == text
    assert kinds == {"unreachable", "garbled"}
    wait_until(lambda: not probes())


SLOW = "#!/bin/sh\necho $$ >>{note}\nsleep 600 &\necho $! >>{note}\nwait\n"


def cut_when(link: Link, note: Path, lines: int) -> None:
    wait_until(lambda: note.read_text().count("\n") == lines)
    link.cut()


def test_nothing_is_left_there_after_twenty_cut_probes(link: Link, transport: Ssh, tmp_path: Path) -> None:
    """The link is cut while the scheduler hangs: probe, reader, command and the command's child are all gone."""
    note = tmp_path / "note"
    note.touch()
    script(tmp_path / "squeue", SLOW.format(note=note))
    request: JsonObject = {"commands": {"list": {"argv": ["squeue", "-h"], "path": [str(tmp_path)]}}, "disks": ["/"]}
    for number in range(1, 21):
        cutter = threading.Thread(target=cut_when, args=(link, note, 2 * number))
        cutter.start()
        assert unreachable(transport.ask(request, LONG)).kind == "unreachable"
        cutter.join()
    pids = [int(word) for word in note.read_text().split()]
    assert len(pids) == 40
    wait_until(lambda: not probes() and not any(os.path.exists(f"/proc/{pid}") for pid in pids))
    assert no_child_is_left()


@pytest.mark.parametrize("sent", [3500, 20_000])
def test_a_link_that_falls_silent_leaves_nothing_there_either(link: Link, transport: Ssh, sent: int) -> None:
    """Neither end is told: the program on the other side, whole or not, ends by its own alarm."""
    link.silent_after = sent
    assert unreachable(transport.ask({}, 2.0)).kind == "late"
    link.silent_after = None
    wait_until(lambda: not probes(), timeout=15)


def test_a_host_that_is_late_ends_its_own_commands(sshd: Sshd, transport: Ssh, tmp_path: Path) -> None:
    """The scheduler hangs: the answer comes in time and says so, and the command is gone with its child."""
    note = tmp_path / "note"
    script(tmp_path / "squeue", SLOW.format(note=note))
    sshd.start()
    request: JsonObject = {"commands": {"list": {"argv": ["squeue", "-h"], "path": [str(tmp_path)]}}, "disks": ["/"]}
    answer = whole(transport.ask(request, 8.0))
    assert answer.body["commands"]["ran"]["list"]["why"] == "late"
    assert answer.body["disks"]["ok"] is True
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in map(int, note.read_text().split())))


def test_a_jump_host_is_used_as_the_config_says(sshd: Sshd, transport: Ssh) -> None:
    """ProxyJump: the same sshd by way of itself."""
    sshd.start()
    sshd.write_config(alias="box far")
    sshd.config.write_text("Host far\n  ProxyJump box\n" + sshd.config.read_text())
    far = Ssh("far", "far", str(sshd.config))
    assert whole(far.ask({"disks": ["/"]}, LONG)).body["disks"]["ok"] is True
    assert (sshd.directory / "sshd.log").read_text().count("Accepted publickey") == 2
    wait_until(no_child_is_left)


def test_an_ssh_that_hangs_is_killed_with_all_it_started(sshd: Sshd, tmp_path: Path) -> None:
    """It ignores signals, has a child that keeps its pipes open, and delays nobody."""
    note = tmp_path / "pids"
    fake = script(tmp_path / "ssh", f"#!/bin/sh\ntrap '' TERM HUP INT\nsleep 600 &\necho $$ $! >{note}\nwait\n")
    transport = Ssh("lab", "box", str(sshd.config), ssh=str(fake))
    assert unreachable(transport.ask({}, 1.5)).kind == "late"
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in note.read_text().split()))
    transport.close()


def test_an_ssh_that_is_not_there_is_a_reason(sshd: Sshd) -> None:
    """Not an exception."""
    answer = unreachable(Ssh("lab", "box", str(sshd.config), ssh="/none/ssh").ask({}))
    assert answer.kind == "refused"
    assert "could not be started" in answer.why


def test_many_failures_leak_neither_descriptors_nor_zombies(sshd: Sshd, transport: Ssh) -> None:
    """Ten refused connections later there are as many open files as before, and no child."""
    unreachable(transport.ask({}, LONG))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        unreachable(transport.ask({}, LONG))
    assert len(os.listdir("/proc/self/fd")) == before
    assert no_child_is_left()


def test_a_killed_asker_leaves_nothing_there(sshd: Sshd, tmp_path: Path) -> None:
    """SIGKILL of the watcher and its ssh while the other side is busy."""
    note = tmp_path / "note"
    script(tmp_path / "squeue", SLOW.format(note=note))
    sshd.start()
    request: JsonObject = {"commands": {"list": {"argv": ["squeue", "-h"], "path": [str(tmp_path)]}}}
    code = f"from dogwatch.transport.ssh import Ssh\nSsh('lab', 'box', {str(sshd.config)!r}).ask({request!r}, 60)"
    asker = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        wait_until(lambda: note.exists() and note.read_text().count("\n") == 2)
        children = descendants(asker.pid)
    finally:
        asker.kill()
        asker.wait()
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not probes() and not any(os.path.exists(f"/proc/{pid}") for pid in note.read_text().split()))


@pytest.mark.parametrize(
    "alias",
    [
        "-oProxyCommand=touch {note}",
        "-oProxyCommand=touch\t{note}",
        "host;touch {note}",
        "$(touch {note})",
        "`touch {note}`",
        "box && touch {note}",
        "box\ntouch {note}",
        "box -F/x",
        "%h",
        "",
        "box'",
        'a"b',
        "é",
        "a" * 64,
        "root@-oProxyCommand=x",
        "-lroot@box",
        "$USER@box",
        "ro ot@box",
        "a@b@box",
        "@box",
        "box@",
        "ssh://box",
        "[::1]",
        "fe80::1%eth0",
    ],
)
def test_a_host_that_could_be_an_option_or_a_shells_word_is_refused_by_name(tmp_path: Path, alias: str) -> None:
    """Nothing is run, and the message shows what was refused."""
    note = tmp_path / "note"
    with pytest.raises(UsageError) as refused:
        Ssh("lab", alias.format(note=note))
    assert "'" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not note.exists()


@pytest.mark.parametrize("alias", ["box", "gpu-01.cluster.example", "10.0.0.7", "::1", "alice@box", "_svc@a_b", "1"])
def test_an_ordinary_host_is_taken(alias: str) -> None:
    """Aliases, names, addresses, and a user before them; always behind the two dashes."""
    argv = Target(alias).argv("true")
    assert argv[-3:] == ["--", alias, "true"]


def test_what_a_request_holds_is_never_a_shells_word(sshd: Sshd, transport: Ssh, tmp_path: Path) -> None:
    """Quotes, newlines and code in keys and paths come back as the text that they are."""
    sshd.start()
    note = tmp_path / "note"
    nasty = f"'\"\n;touch {note};$(touch {note})`touch {note}`\\\x00\u2028é"
    answer = whole(transport.ask({"files": {nasty: {"outputs": [f"/x{nasty}"]}}}, LONG))
    assert nasty in answer.body["files"]
    assert not note.exists()
