"""`dogwatch demo`: two real training jobs on this machine, one of which fails, and what Dogwatch says about them."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dogwatch.cli.out import emit, json_flag, lay_out, say
from dogwatch.errors import ENDED_BADLY, FINE

if TYPE_CHECKING:
    from dogwatch.clock import Clock
    from dogwatch.wire.documents.job import JobDocument

ABOUT = "Run two real training jobs on this machine and watch them: one completes, one fails (about 40 s)."
EXAMPLES = (
    "dogwatch demo",
    "dogwatch demo --seconds 10",
)
DETAILS = """\
Needs no GPU, no network and no root. Works in a temporary directory that is removed at the end; your own jobs, alert \
channels and settings are not touched. Ctrl-C stops both jobs."""
TOO_HIGH = "1.5"  # a learning rate at which the network diverges during its warm-up
STOP_TIMEOUT = 5.0


class Alert(NamedTuple):
    """What a received message says about one job."""

    level: str
    name: str
    text: str
    why: str | None
    do: str | None


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--seconds", type=int, default=25, metavar="S", help="how long to train")
    json_flag(parser)


def run(args: Namespace) -> int:
    import shutil
    import signal
    import tempfile

    from dogwatch import assemble
    from dogwatch.api.expectations import positive

    assemble.check_proc()
    seconds = positive(args.seconds, "--seconds") or 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    folder = tempfile.mkdtemp(prefix="dogwatch-demo-")
    try:
        with _own_environment(folder), _web_server() as (url, received):
            return _tour(args.json, seconds, url, received)
    except KeyboardInterrupt:
        say("demo stopped; unlike other commands, it also stops its jobs, and it removes its folder")
        raise
    finally:
        _stop_jobs(os.path.join(folder, "home", "runs"))
        shutil.rmtree(folder, ignore_errors=True)


def _tour(quiet: bool, seconds: int, url: str, received: list[Alert]) -> int:
    """Every step: what it shows, the command that a user would type, and what that prints."""
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.cli.showing import show
    from dogwatch.clock import Clock

    clock = Clock()
    channel = ("alerts", "add", "webhook", url, "--levels", "critical")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere if quiet else sys.stdout):
        lay_out(["Two real training jobs on this machine, about 40 s. Ctrl-C stops the demo."])
        _step("1. Send critical alerts to a web server. The demo has started one.", *channel)
        _call(*channel)
        _step("2. Start two jobs. The second one uses a learning rate that is too high.")
        refs = [_start(clock, "train", 2, seconds), _start(clock, "high-lr", 1, seconds, "--lr", TOO_HIGH)]
        _step("3. Watch both until they have ended.", "watch")
        show(refs, clock, every=1.0, who="demo", hint="Ctrl-C stops the demo")
        _step("4. Why did the second one fail?", "why", "high-lr")
        _call("why", "high-lr", "--no-poll")
        newest = _newest_checkpoint()
        _step("5. Can the first one be resumed? Check its newest checkpoint.", "check", newest)
        _call("check", newest)
        _step("6. The alerts that the web server received:")
        lay_out([line for alert in received for line in _lines(alert)])
        with assemble.store(readonly=True) as store:
            jobs = queries.documents(store, refs)
        code = _end(jobs, received)
    if quiet:
        emit({"jobs": jobs})
    return code


def _step(text: str, *words: str) -> None:
    lay_out(["", text])
    if words:
        _show_command(words)


def _show_command(words: Sequence[str]) -> None:
    lay_out([f"$ dogwatch {shlex.join(words)}".replace(shlex.quote(sys.executable), "python")])


def _call(*words: str) -> None:
    from dogwatch.cli.main import main

    main(words)


def _start(clock: Clock, name: str, workers: int, seconds: int, *more: str) -> str:
    """Start the training script as `dogwatch run --detach` does; returns the ref."""
    from dogwatch import assemble
    from dogwatch.model import Expectation

    argv = [sys.executable, "train.py", "--out", name, "--seconds", str(seconds), *more]
    pattern = f"{name}/checkpoints/*.safetensors"
    _show_command(["run", "--detach", "--name", name, "--workers", str(workers), "--checkpoint", pattern, "--", *argv])
    expect = Expectation(workers=workers, checkpoints=(os.path.abspath(pattern),))
    with assemble.store() as store:
        return assemble.start_run(
            store, clock, argv, name=name, workers=workers, gpus=None, env=[], cwd=os.getcwd(), expect=expect
        )


def _newest_checkpoint() -> str:
    import glob

    return max(glob.glob("train/checkpoints/*.safetensors"), key=os.path.getmtime, default="train")


def _lines(alert: Alert) -> Iterator[str]:
    yield f"  {alert.level.upper():<8}  {alert.name}: {alert.text}"
    for label, text in (("why", alert.why), ("do", alert.do)):
        if text:
            yield f"  {'':8}  {label}: {text}"


def _end(jobs: Sequence[JobDocument], received: Sequence[Alert]) -> int:
    """Whether the demo showed what it is for: one success, one failure, one alert about that failure."""
    alerted = any(alert.name == "high-lr" for alert in received)
    if [job["outcome"] for job in jobs] == ["succeeded", "failed"] and alerted:
        _step("Done; the temporary folder is removed. Next, a job of your own: dogwatch run -- python train.py")
        return FINE
    outcomes = ", ".join(f"{job['name']} {job['outcome'] or job['state']}" for job in jobs)
    say(f"the demo went wrong: {outcomes}; alert about the failure {'received' if alerted else 'not received'}")
    return ENDED_BADLY


@contextlib.contextmanager
def _own_environment(folder: str) -> Iterator[None]:
    """A home, settings and a working directory of the demo's own; the training script lies in the last."""
    import shutil

    import dogwatch

    for part in ("home", "config", "work"):
        os.mkdir(os.path.join(folder, part), 0o700)
    work = os.path.join(folder, "work")
    shutil.copyfile(os.path.join(os.path.dirname(dogwatch.__file__), "demo_job.py"), os.path.join(work, "train.py"))
    os.environ |= {"DOGWATCH_HOME": os.path.join(folder, "home"), "XDG_CONFIG_HOME": os.path.join(folder, "config")}
    with contextlib.chdir(work):
        yield


@contextlib.contextmanager
def _web_server() -> Iterator[tuple[str, list[Alert]]]:
    """A receiver of webhooks on the loopback address: its URL, and the messages that it has received."""
    import json
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    received: list[Alert] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.extend(Alert(*(job[key] for key in Alert._fields)) for job in message["jobs"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", received
        finally:
            server.shutdown()


def _stop_jobs(runs: str) -> None:
    """Ask the workers that still run to end, and wait until their supervisors have recorded it."""
    import glob
    import json
    import signal
    import time

    started = glob.glob(os.path.join(runs, "*", "worker-*.start.json"))
    left = [path for path in started if not os.path.exists(path.replace(".start.", ".end."))]
    for path in left:
        with open(path, encoding="utf-8") as file, contextlib.suppress(ProcessLookupError):
            os.kill(json.load(file)["pid"], signal.SIGTERM)
    until = time.monotonic() + STOP_TIMEOUT
    while time.monotonic() < until and not all(os.path.exists(path.replace(".start.", ".end.")) for path in left):
        time.sleep(0.05)
