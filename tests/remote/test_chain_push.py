"""What a machine sends when its chain is over: with whatever it has to send with, once, and never a secret in sight."""

from __future__ import annotations

import base64
import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogwatch.wire.chain import Push
from tests.remote.chain_machine import Machine
from tests.support import wait_until


class Receiver:
    """A web server on loopback that answers as it is told, and keeps what it was sent."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        outer = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append({"path": self.path, "headers": dict(self.headers), "body": body, "argv": arguments()})
                self.send_response(outer.statuses.pop(0) if outer.statuses else 200)
                self.end_headers()

            def log_message(self, *words: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def url(self, path: str = "", user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.server.server_port}/{path}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def arguments() -> bytes:
    """The command lines of everything that runs on this machine now, as every user can read them."""
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes()
        except OSError:
            continue
    return found


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def pushed(machine: Machine, *stages: str, push: Push) -> dict[str, Any]:
    machine.start(*stages, push=push)
    wait_until(lambda: machine.read("pushed.json"), timeout=40)
    return machine.read("pushed.json")


@pytest.mark.parametrize("program", ["curl", "python3", "wget"])
def test_each_program_that_can_post_posts_the_same(tmp_path: Path, receiver: Receiver, program: str):
    """The body is one JSON document; the address and the password in it are nobody's argument."""
    machine = Machine(tmp_path, "dash", (program,))
    url = receiver.url("hook/s3cretword?x=%41", user="me:pa%24word@")
    result = pushed(machine, "echo 'say \"hi\" \\ there'; echo last; exit 4", push=Push("webhook", url=url))
    machine.kill_all()
    assert (result["ok"], result["way"]) == (True, "webhook")
    (one,) = receiver.got
    document = json.loads(one["body"])
    assert document["lines"] == ['say "hi" \\ there', "last"]
    assert (document["why"], document["code"], document["stage"], document["attempt"]) == ("failed", 4, "s0", 1)
    assert document["text"].endswith('say "hi" \\ there\nlast\n')
    assert one["path"] == "/hook/s3cretword?x=%41"
    assert one["headers"]["Authorization"] == "Basic " + base64.b64encode(b"me:pa$word").decode()
    assert one["headers"]["Content-Type"] == "application/json"
    assert one["headers"]["Idempotency-Key"] == "r-000000:1"
    assert b"s3cretword" not in one["argv"]
    assert b"pa%24word" not in one["argv"]
    left = {path.name for path in (machine.runs / "r-000000").iterdir()}
    assert not left & {"push.body", "push.more", "push.url", "push.lines", "push.subject", "reserve"}


def test_ntfy_gets_a_title_and_the_last_lines(tmp_path: Path, receiver: Receiver):
    """Its headers hold ASCII only; a failure is urgent."""
    machine = Machine(tmp_path, "dash", ("curl",))
    result = pushed(machine, "echo done é", push=Push("ntfy", url=receiver.url("topic")))
    machine.kill_all()
    assert result["ok"]
    (one,) = receiver.got
    assert one["headers"]["Title"].startswith("r: done on ")
    assert "Priority" not in one["headers"]
    assert b"done" in one["body"]


def test_what_is_refused_for_good_is_not_tried_again(tmp_path: Path, receiver: Receiver):
    """404 is an answer; what came of it is written down without the address."""
    receiver.statuses = [404]
    machine = Machine(tmp_path, "dash", ("curl",))
    result = pushed(machine, "true", push=Push("webhook", url=receiver.url("s3cretword")))
    assert (result["ok"], result["detail"]) == (False, "the server answered 404")
    wait_until(lambda: "the supervisor ends" in (machine.runs / "r-000000" / "supervisor.log").read_text())
    assert len(receiver.got) == 1
    files = [path for path in (machine.runs / "r-000000").iterdir() if path.is_file() and path.name != "push.conf"]
    assert not [path.name for path in files if "s3cretword" in path.read_text()]


def test_an_ending_is_never_pushed_twice(tmp_path: Path, receiver: Receiver):
    """A supervisor that is killed while it pushes may have been heard: a resume says so and sends nothing."""
    receiver.statuses = [503]
    machine = Machine(tmp_path, "dash", ("curl",))
    machine.start("true", push=Push("webhook", url=receiver.url()))
    wait_until(lambda: receiver.got)
    os.kill(machine.read("lock/owner.json")["pid"], 9)
    assert "all of its stages are done" in machine.resume()
    assert machine.read("pushed.json")["detail"].startswith("the supervisor was killed while it pushed")
    machine.resume()
    assert len(receiver.got) == 1
    machine.kill_all()


def test_an_ending_that_nobody_heard_of_is_pushed_later(tmp_path: Path, receiver: Receiver):
    """A supervisor that dies between the end and its push leaves it to whoever looks next."""
    machine = Machine(tmp_path, "dash", ("curl",))
    machine.start("true", push=Push("webhook", url=receiver.url()))
    machine.end()
    wait_until(lambda: machine.read("pushed.json"))
    folder = machine.runs / "r-000000"
    (folder / "pushing-1").rmdir()
    (folder / "pushed.json").unlink()
    wait_until(lambda: "all of its stages are done" in machine.resume())
    wait_until(lambda: machine.read("pushed.json").get("ok"))
    assert len(receiver.got) == 2


def test_mail_goes_through_the_mail_command_of_the_machine(tmp_path: Path):
    """sendmail gets the whole letter on stdin."""
    machine = Machine(tmp_path, "dash", ("curl",))
    sendmail = tmp_path / "bin" / "sendmail"
    sendmail.write_text('#!/bin/sh\necho "$@" >~/letter\ncat >>~/letter\n')
    sendmail.chmod(0o755)
    result = pushed(machine, "echo acc 0.9", push=Push("mail", to="me@example.org"))
    assert (result["ok"], result["way"]) == (True, "mail")
    letter = (tmp_path / "letter").read_text()
    assert letter.startswith("-oi -t\nTo: me@example.org\nSubject: r: done on ")
    assert letter.endswith("acc 0.9\n")


def test_trackio_that_is_not_there_is_said(tmp_path: Path):
    """The python3 of the machine has to have it; the chain has ended all the same."""
    machine = Machine(tmp_path, "dash", ("python3",))
    result = pushed(machine, "true", push=Push("trackio", project="p"))
    assert (result["ok"], result["detail"]) == (False, "the python3 of this machine has no trackio")
    assert machine.end()["why"] == "done"
