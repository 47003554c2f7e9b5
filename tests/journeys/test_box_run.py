"""`dogwatch run` hands a chain of stages to a box, and what it promises holds while links, power and disks fail."""

from __future__ import annotations

import http.server
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.lab.box import Box, Boxes
from tests.support import wait_until

TWO = ("--stage", "train: echo epoch 1; echo trained >> ~/trained", "--stage", "eval: cat ~/trained; echo acc 0.91")


class Desk:
    """A person whose Dogwatch knows one box."""

    def __init__(self, boxes: Boxes, dogwatch, box: Box) -> None:
        self.boxes, self.dogwatch, self.box = boxes, dogwatch, box
        self("host", "add", box.name, "--ssh-config", boxes.ssh_config)

    def __call__(self, *words: object, code: int | None = 0, **more: Any):
        done = self.dogwatch(*words, **more)
        assert code is None or done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done

    def run(self, *words: object, code: int | None = 0, **more: Any):
        return self("run", "--on", self.box.name, "--detach", *words, code=code, **more)

    def runs(self) -> list[Path]:
        folder = self.box.home / ".dogwatch" / "runs"
        return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.exists() else []

    def chain(self) -> Chain:
        (run,) = self.runs()
        return Chain(run)


class Chain:
    """The files of a run, as the box left them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def read(self, name: str) -> dict[str, Any]:
        try:
            return json.loads((self.directory / name).read_text())
        except FileNotFoundError:
            return {}

    def wait_end(self, attempt: int = 1) -> dict[str, Any]:
        return self._of_attempt("end.json", attempt)

    def wait_start(self, stage: int, attempt: int = 1) -> dict[str, Any]:
        return self._of_attempt(f"stage-{stage}.start.json", attempt)

    def _of_attempt(self, name: str, attempt: int) -> dict[str, Any]:
        wait_until(lambda: self.read(name).get("attempt") == attempt, timeout=40)
        return self.read(name)

    def log(self, stage: int) -> str:
        return (self.directory / f"stage-{stage}.log").read_text()

    def attempts(self) -> int:
        return len(list(self.directory.glob("attempt-*.json")))


@pytest.fixture
def desk(boxes: Boxes, dogwatch) -> Desk:
    return Desk(boxes, dogwatch, boxes.start("gpu"))


def settle(box: Box) -> None:
    """Nothing of a chain runs there any more."""
    wait_until(lambda: not [line for line in box.processes() if "chain.sh" in line or "sleep 15" in line])


@contextmanager
def receiver(box: Box, statuses: tuple[int, ...] = (), secret: str = "") -> Iterator[list[dict[str, Any]]]:
    """A web server that the box reaches; each body it got, and who on the box had the secret among its arguments."""
    got: list[dict[str, Any]] = []
    answers = list(statuses)

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen = [line for line in box.processes() if secret and secret in line]
            got.append({"path": self.path, "headers": dict(self.headers), "body": body, "argv": seen})
            self.send_response(answers.pop(0) if answers else 200)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer((box._gateway, 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        got.append({"url": f"http://{box._gateway}:{server.server_port}"})
        yield got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_chain_finishes_without_us_and_costs_one_connection(desk: Desk):
    """One connection starts both stages; they run in order, each with its log and marker, and nothing stays behind."""
    before = desk.box.connections()
    done = desk.run("--name", "llama", *TWO)
    assert desk.box.connections() == before + 1
    assert done.stdout.startswith("gpu/box:llama-")
    assert "started on gpu with tmux, 2 stages" in done.stderr
    chain = desk.chain()
    end = chain.wait_end()
    assert (end["why"], end["code"], end["stage"]) == ("done", 0, "eval")
    assert (chain.log(0), chain.log(1)) == ("epoch 1\n", "trained\nacc 0.91\n")
    first, second = chain.read("stage-0.done"), chain.read("stage-1.done")
    assert (first["stage"], first["code"], first["run"]) == ("train", 0, chain.directory.name)
    assert first["ended"] <= second["started"]
    assert chain.read("spec.json")["session"] == f"dogwatch-{chain.directory.name}"
    assert all(path.stat().st_mode & 0o077 == 0 for path in chain.directory.iterdir() if not path.is_symlink())
    settle(desk.box)
    assert desk.box.sh("tmux ls 2>&1 || true").startswith(("no server", "error connecting"))


@pytest.mark.long
def test_a_bare_box_needs_only_sh(boxes: Boxes, dogwatch):
    """Without python3, tmux, setsid, curl and stdbuf the same chain runs, and its failed stage ends it."""
    box = boxes.start("bare")
    box.hide("python3", "tmux", "setsid", "curl", "wget", "stdbuf", "flock", "perl", "iconv")
    box.reboot()
    desk = Desk(boxes, dogwatch, box)
    desk.run(
        "--stage",
        "a: echo one",
        "--stage",
        "b: echo two; exit 3",
        "--stage",
        "c: touch ~/never",
        "--push",
        "http://127.0.0.1:9/",
    )
    chain = desk.chain()
    end = chain.wait_end()
    assert (end["why"], end["code"], end["stage"]) == ("failed", 3, "b")
    assert chain.read("spec.json")["detach"] == "nohup"
    assert chain.read("stage-1.end.json")["code"] == 3
    assert not (chain.directory / "stage-1.done").exists()
    assert not (box.home / "never").exists()
    pushed = wait_until(lambda: chain.read("pushed.json"))
    assert (pushed["ok"], pushed["detail"]) == (False, "neither curl nor python3 nor GNU wget is here")


def test_the_box_itself_says_how_it_ended(desk: Desk):
    """One message with result and last lines; a server that fails is asked again, and nobody sees the secret in ps."""
    with receiver(desk.box, (503, 200), secret="s3cretword") as got:
        url = got.pop()["url"] + "/hook/s3cretword"
        words = ("--stage", "train: printf 'loss 0.3\\033[31m red\\nTOKEN=hf_abcdefghijklmnopqrstuvwx\\n'; exit 7")
        desk.run("--name", "überlauf", *words, "--push", "env:HOOK", env={"HOOK": url})
        chain = desk.chain()
        pushed = wait_until(lambda: chain.read("pushed.json"), timeout=30)
    assert (pushed["ok"], pushed["way"], pushed["attempt"]) == (True, "webhook", 1)
    assert len(got) == 2
    document = json.loads(got[1]["body"])
    assert document["subject"] == "überlauf: stage train failed with exit code 7 on gpu"
    assert document["lines"] == ["loss 0.3 red", "TOKEN=***"]
    assert (document["code"], document["why"], document["level"]) == (7, "failed", "critical")
    assert [one["argv"] for one in got] == [[], []]
    assert (chain.directory / "push.conf").stat().st_mode & 0o777 == 0o600
    assert "s3cretword" not in (chain.directory / "chain.sh").read_text() + (chain.directory / "spec.json").read_text()


# What happens to the connection: half of the script arrives; its files are written and nothing is started; all is done
# and the answer gets lost.
CUTS = {
    "half": "head -c 5000 | sh -s",
    "files": "sed 's/^    sh .*chain.sh. start .*/exit/' | sh -s >/dev/null",
    "answer": "sh -s >/dev/null",
}
BREAKS_ON_DEMAND = (
    """ForceCommand if [ -e ~/cut ]; then . ~/cut; kill -9 $PPID; else exec sh -c "$SSH_ORIGINAL_COMMAND"; fi"""
)


@pytest.mark.parametrize("cut", ["answer", *(pytest.param(cut, marks=pytest.mark.long) for cut in ("half", "files"))])
def test_a_connection_that_breaks_starts_one_chain(boxes: Boxes, dogwatch, cut: str):
    """Wherever it breaks, that is said, and the same command again starts the work if nobody did, and never twice."""
    box = boxes.start("gpu", settings=[BREAKS_ON_DEMAND])
    desk = Desk(boxes, dogwatch, box)
    (box.home / "cut").write_text(CUTS[cut])
    words = ("--name", "once", *TWO)
    broken = desk.run(*words, code=3)
    assert "it may run there" in broken.stderr
    assert "the same command again finds out" in broken.stderr
    assert len(broken.stderr.strip().split("dogwatch: ")) == 2
    desk.run(*words, code=3)
    (box.home / "cut").unlink()
    found = desk.run(*words)
    assert "an earlier request" in found.stderr
    assert ("was started before" in found.stderr) == (cut == "answer")
    chain = desk.chain()
    assert chain.wait_end()["why"] == "done"
    assert chain.attempts() == 1
    assert (box.home / "trained").read_text() == "trained\n"
    (job,) = json.loads(desk("ls", "--all", "--json", "--no-poll").stdout)["jobs"]
    assert job["id"] == chain.directory.name
    desk.run(*words)
    wait_until(lambda: len(desk.runs()) == 2, timeout=20)


@pytest.mark.long
def test_a_host_that_refuses_has_started_nothing(desk: Desk):
    """Where it is certain that nothing began, that is said, and no job is left behind."""
    desk.box.power_off()
    desk.box.start()
    desk.box.sh("pkill -x sshd || true")
    done = desk.run("--name", "none", *TWO, code=3)
    assert "nothing was started" in done.stderr
    assert json.loads(desk("ls", "--all", "--json", "--no-poll").stdout)["jobs"] == []


def test_after_a_reboot_the_chain_goes_on_where_it_was(desk: Desk):
    """Cron resumes it at the first unfinished stage with the resume command, as attempt 2, and its line goes."""
    words = ("--stage", "data: echo made >> ~/made", "--stage", "train: echo epoch 1; sleep 600")
    done = desk.run(*words, "--resume-command", "train: echo resumed", "--on-reboot", "resume")
    assert "a line in the crontab of gpu resumes it" in done.stderr
    desk.box.sh("(crontab -l; echo '# mine') | crontab -")
    chain = desk.chain()
    chain.wait_start(1)
    wait_until(lambda: chain.log(1) == "epoch 1\n")
    desk.box.reboot()
    end = chain.wait_end(attempt=2)
    assert (end["why"], end["stage"]) == ("done", "train")
    assert (desk.box.home / "made").read_text() == "made\n"
    assert chain.log(1) == "epoch 1\nresumed\n"
    assert chain.read("attempt-2.json")["why"] == "reboot"
    assert chain.read("attempt-2.json")["boot"] == desk.box.boot_id()
    assert chain.read("stage-1.start.json")["log_from"] == len("epoch 1\n")
    wait_until(lambda: desk.box.sh("crontab -l") == "# mine\n")
    settle(desk.box)


@pytest.mark.long
def test_without_cron_the_next_login_resumes(boxes: Boxes, dogwatch):
    """The line stands in the login profile, which is as it was before when the chain is over; `leave` leaves it."""
    box = boxes.start("gpu", cron=False)
    desk = Desk(boxes, dogwatch, box)
    (box.home / ".profile").write_text("export MINE=1\n")
    done = desk.run("--stage", "train: [ -e ~/again ] || sleep 600", "--on-reboot", "resume", "--name", "resumes")
    assert "at the next login (no cron runs there)" in done.stderr
    chain = desk.chain()
    chain.wait_start(0)
    desk.run("--stage", "train: sleep 600", "--name", "stays")
    (stays,) = (Chain(run) for run in desk.runs() if run.name.startswith("stays"))
    stays.wait_start(0)
    (box.home / "again").touch()
    box.reboot()
    box.run("sh", "-lc", "true")
    assert chain.wait_end(attempt=2)["why"] == "done"
    wait_until(lambda: (box.home / ".profile").read_text() == "export MINE=1\n")
    assert (stays.attempts(), stays.read("end.json")) == (1, {})
    assert "resumes at stage train as attempt 2" in box.sh(
        f"sh ~/.dogwatch/runs/{stays.directory.name}/chain.sh resume"
    )


def test_a_stage_outlives_its_supervisor_and_is_never_called_done(desk: Desk):
    """Resumed while the stage lives, the chain waits for it: no second one beside it, and no success without proof."""
    desk.run("--stage", "train: echo $$ >> ~/pids; while [ ! -e ~/go ]; do sleep 0.1; done", "--stage", "eval: true")
    chain = desk.chain()
    chain.wait_start(0)
    desk.box.sh(f"kill -KILL {chain.read('lock/owner.json')['pid']}")
    resume = f"sh ~/.dogwatch/runs/{chain.directory.name}/chain.sh resume"
    wait_until(lambda: "resumes at stage train as attempt 2" in desk.box.sh(resume))
    assert "was not resumed: it is running" in desk.box.sh(resume)
    (desk.box.home / "go").touch()
    end = chain.wait_end(attempt=2)
    assert (end["why"], end["code"]) == ("unknown", None)
    assert "exit code is unknown" in end["error"]
    assert not (chain.directory / "stage-0.done").exists()
    assert len((desk.box.home / "pids").read_text().split()) == 1
    wait_until(lambda: "resumes at stage train as attempt 3" in desk.box.sh(resume))
    assert chain.wait_end(attempt=3)["why"] == "done"
    assert "all of its stages are done" in desk.box.sh(resume)


@pytest.mark.long
def test_a_marker_that_does_not_fit_on_the_disk_is_no_success(boxes: Boxes, dogwatch):
    """A stage that filled the disk and says 0 has no marker; the chain stops there and says so, also by its push."""
    box = boxes.start("gpu", disk="2m")
    desk = Desk(boxes, dogwatch, box)
    with receiver(box) as got:
        url = got.pop()["url"]
        desk.run("--stage", "train: cat /dev/zero > ~/big; true", "--stage", "eval: touch /tmp/never", "--push", url)
        chain = desk.chain()
        wait_until(lambda: got, timeout=40)
    end = chain.wait_end()
    assert (end["why"], end["stage"]) == ("failed", "train")
    assert "its marker stage-0.done could not be written (the disk is full)" in end["error"]
    assert not (chain.directory / "stage-0.done").exists()
    assert "never" not in box.sh("ls /tmp")
    refused = desk.run("--name", "later", "--", "true", code=1).stderr
    assert "nothing was started" in refused
    assert "the disk is full" in refused or "there is no room" in refused
    assert [run.name for run in desk.runs()] == [chain.directory.name]


@pytest.mark.long
def test_a_stage_waits_for_what_it_is_told(desk: Desk):
    """For a file, a line of the run's own logs, and another run; what it waits for is written down meanwhile."""
    desk.run(
        "--name",
        "first",
        "--stage",
        "a: (while [ ! -e go ]; do sleep 0.1; done; echo 'saved model') & exit 0",
        "--stage",
        "b: echo b",
        "--after",
        "b=file:data.bin",
        "--after",
        "b=line:saved model",
    )
    first = desk.chain()
    assert wait_until(lambda: first.read("stage-1.waits.json"))["for"] == "file data.bin"
    desk.run("--name", "second", "--after", f"run:{first.directory.name}", "--", "echo", "after it")
    second = next(Chain(run) for run in desk.runs() if run.name.startswith("second"))
    assert wait_until(lambda: second.read("stage-0.waits.json"))["for"] == f"run {first.directory.name}"
    (desk.box.home / "data.bin").touch()
    wait_until(lambda: first.read("stage-1.waits.json").get("for") == "line saved model")
    assert not (second.directory / "stage-0.log").exists()
    (desk.box.home / "go").touch()
    assert first.wait_end()["why"] == "done"
    assert second.wait_end()["why"] == "done"
    assert second.log(0) == "after it\n"
    desk.run("--name", "third", "--after", "run:nowhere-123456", "--", "true")
    third = next(Chain(run) for run in desk.runs() if run.name.startswith("third"))
    end = third.wait_end()
    assert (end["why"], end["error"]) == (
        "failed",
        "stage run waits for run nowhere-123456, which is not on this machine",
    )


@pytest.mark.long
def test_cancelling_ends_the_stage_and_the_chain(desk: Desk):
    """cancelled.json and SIGTERM to the supervisor end both; SIGTERM alone, as at a shutdown, is no end."""
    desk.run("--name", "stop", "--stage", "train: sleep 600", "--stage", "eval: true")
    stop = desk.chain()
    stop.wait_start(0)
    desk.run("--name", "down", "--stage", "train: while [ ! -e ~/go ]; do sleep 0.1; done")
    down = next(Chain(run) for run in desk.runs() if run.name.startswith("down"))
    down.wait_start(0)
    (stop.directory / "cancelled.json").write_text("{}")
    for chain in (stop, down):
        desk.box.sh(f"kill -TERM {chain.read('lock/owner.json')['pid']}")
    end = stop.wait_end()
    assert (end["why"], end["stage"]) == ("cancelled", "train")
    assert stop.read("stage-0.end.json")["signal"] == signal.SIGTERM
    wait_until(lambda: not any("supervise" in line for line in desk.box.processes()))
    assert down.read("end.json") == {}
    assert any("~/go" in line for line in desk.box.processes())


@pytest.mark.long
def test_what_cannot_be_started_is_one_sentence_and_leaves_nothing(desk: Desk):
    """No directory, no program to detach with, no place for the files: refused there, and taken back here."""
    refusals = {
        ("--cwd", "nowhere", "--", "true"): "/nowhere that can be entered",
        ("--detach-with", "sbatch", "--", "true"): "sbatch",
    }
    for words, sentence in refusals.items():
        done = desk.run(*words, code=1)
        assert sentence in done.stderr
        assert "nothing was started" in done.stderr
        assert desk.runs() == []
    (desk.box.home / ".dogwatch" / "runs").rmdir()
    (desk.box.home / ".dogwatch" / "runs").touch()
    assert "its directory cannot be made" in desk.run("--", "true", code=1).stderr
    assert json.loads(desk("ls", "--all", "--json", "--no-poll").stdout)["jobs"] == []


def test_code_is_sent_before_the_start(desk: Desk, tmp_path: Path):
    """--sync sends the directory, and the stages start in it; it needs another machine."""
    project = tmp_path / "proj"
    project.mkdir()
    (project / "train.py").write_text("import os\nprint(os.getcwd())\n")
    done = desk.run("--sync", project, "--name", "sent", "--", "python3", "train.py")
    assert "1 files are in " in done.stderr
    assert desk.chain().wait_end()["why"] == "done"
    assert desk.chain().log(0).endswith("/proj\n")
    assert "say to which with --on HOST" in desk("run", "--sync", project, "--", "true", code=2).stderr


def test_a_dry_run_prints_the_exact_script_and_contacts_nothing(desk: Desk):
    """What --dry-run prints is, but for the id and the time, what the box gets."""
    before = desk.box.connections()
    printed = desk("run", "--on", "gpu", "--dry-run", "--name", "dry", *TWO).stdout
    assert desk.box.connections() == before
    assert desk.runs() == []
    desk.run("--name", "dry", *TWO)
    chain = desk.chain()
    script = (chain.directory / "chain.sh").read_text().replace(chain.directory.name, "dry-000000")
    created = str(json.loads(printed.split("dw_spec='")[1].split("'\n")[0] + "}")["created"])
    real = str(chain.read("spec.json")["created"])
    assert script.replace(real, created) == printed
    chain.wait_end()


def test_this_machine_takes_the_same_stages(dogwatch, home: Path, tmp_path: Path):
    """Without --on the chain runs here, from the current directory and with the caller's environment."""
    words = ("--stage", "train: echo $GREETING > out; pwd", "--stage", "eval: cat out", "--detach")
    done = dogwatch("run", *words, cwd=tmp_path, env={"GREETING": "hello"})
    assert done.returncode == 0, done.stderr
    (directory,) = (home / "runs").iterdir()
    chain = Chain(directory)
    assert chain.wait_end()["why"] == "done"
    assert (chain.log(0), chain.log(1)) == (f"{tmp_path}\n", "hello\n")
