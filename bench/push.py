"""How soon after the end of a chain's last stage the message that its machine sends arrives."""

from __future__ import annotations

import http.server
import os
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from bench.figures import Figure
from dogwatch.actions.chain.script import push_file
from dogwatch.actions.chain.start import start
from dogwatch.clock import Clock
from dogwatch.wire.chain import Chain, Push, Stage

ROUNDS = 9
WORK = (
    f"{ROUNDS} chains of one stage on this machine, whose last act is to note the time; until a web server on loopback "
    "has the message that the supervisor pushes (sh and curl, with the marker and end.json written in between)."
)


class _Receiver(http.server.BaseHTTPRequestHandler):
    arrived: float | None = None

    def do_POST(self) -> None:
        type(self).arrived = time.time()
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        pass


def measure() -> list[Figure]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with tempfile.TemporaryDirectory() as directory:
            delays = [_once(directory, number, server.server_port) for number in range(ROUNDS)]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    print(f"  median {median(delays):.2f} s, longest {max(delays):.2f} s")
    return [Figure("end of a stage to its push, median", median(delays), "s", limit=5.0, aim=1.0)]


def _once(directory: str, number: int, port: int) -> float:
    """Seconds from the end of the stage until the message is here; returns when the supervisor is gone too."""
    _Receiver.arrived = None
    ended = Path(directory, f"ended-{number}")
    stage = Stage("s", f"python3 -c 'import time; print(time.time())' >{ended}.new; mv {ended}.new {ended}")
    chain = Chain("bench", (stage,), cwd=directory, detach="setsid", push_way="webhook")
    push = push_file(Push("webhook", url=f"http://127.0.0.1:{port}/"))
    run, runs = f"bench-{number}", os.path.join(directory, "runs")
    start("here", None, chain, run, runs=runs, created=time.time(), push=push, clock=Clock())
    log, limit = Path(runs, run, "supervisor.log"), time.monotonic() + 60
    while not (_Receiver.arrived and "the supervisor ends" in log.read_text(encoding="utf-8")):
        if time.monotonic() > limit:
            raise TimeoutError(f"nothing was pushed: {log.read_text(encoding='utf-8')}")
        time.sleep(0.01)
    return _Receiver.arrived - float(ended.read_text(encoding="ascii"))
