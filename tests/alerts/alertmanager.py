"""The same storm over a real Alertmanager: what it loses, repeats and forgets when it is killed, to hold ours against.

Each of its lives takes some alerts and a silence, each acknowledged with 200 before it counts, and is killed at a
random moment after that. Two kinds of client are tried: one that hands an alert over once, as the end of a job is, and
one that hands over again all that fire at every start, as Prometheus does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.alerts.receiver import Receiver

NAMES = ("prometheus-alertmanager", "alertmanager")
EACH = 20  # alerts for each life
SETTLES = 3.0  # seconds without a word after which the last life has said what is left
# One notification for each alert, at once: what our storm asks of our own sender.
CONFIG = """
route: {{receiver: hook, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 4h}}
receivers: [{{name: hook, webhook_configs: [{{url: "{url}", send_resolved: false}}]}}]
"""


@dataclass(frozen=True)
class Figures:
    """What a storm over Alertmanager did."""

    kills: int
    taken: int
    lost: int
    repeats: int
    silences: int
    silences_lost: int
    seconds: float
    again: bool

    def __str__(self) -> str:
        client = "hands over again at every start" if self.again else "hands over once"
        return (
            f"{self.kills} kills over {self.taken} alerts, client {client}, {self.seconds:.0f} s: {self.lost} lost, "
            f"{self.repeats} repeated, {self.silences_lost} of {self.silences} silences lost"
        )


def program() -> str | None:
    """Where Alertmanager is, if it is here."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def version(path: str) -> str:
    """As it says it itself."""
    said = subprocess.run([path, "--version"], capture_output=True, text=True)
    return " ".join((said.stdout + said.stderr).split()[:3]).rstrip(",")


def storm(folder: Path, kills: int, seed: int, again: bool) -> Figures:
    """Kill Alertmanager `kills` times, each time after it took EACH alerts and one silence."""
    path = program()
    assert path is not None
    rng, receiver, began = random.Random(seed), Receiver(), time.monotonic()
    folder.mkdir(parents=True)
    (folder / "config.yml").write_text(CONFIG.format(url=receiver.url))
    taken, promised = list[str](), set[str]()
    try:
        for life in range(kills + 1):
            one = Life(path, folder)
            try:
                if again and taken:
                    one.take(taken)
                if life < kills:
                    promised.add(one.silence(f"other-{life}"))
                    fresh = [f"job-{life}-{n}" for n in range(EACH)]
                    one.take(fresh)
                    taken += fresh
                    time.sleep(rng.uniform(0.0, 0.4))
                else:
                    _settle(receiver)
                    held = one.silences()
            finally:
                one.kill()
    finally:
        receiver.close()
    said = Counter(alert["labels"]["job"] for got in receiver.got for alert in got.json["alerts"])
    return Figures(
        kills=kills,
        taken=len(taken),
        lost=sum(name not in said for name in taken),
        repeats=sum(times - 1 for times in said.values()),
        silences=len(promised),
        silences_lost=len(promised - held),
        seconds=time.monotonic() - began,
        again=again,
    )


def _settle(receiver: Receiver) -> None:
    """Until nothing more comes."""
    heard = -1
    while len(receiver.got) > heard:
        heard = len(receiver.got)
        time.sleep(SETTLES)


class Life:
    """One process of it over the same state, up and answering."""

    def __init__(self, path: str, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        argv = [path, f"--config.file={folder / 'config.yml'}", f"--storage.path={folder / 'state'}"]
        argv += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log, env={**os.environ, "GOMAXPROCS": "2"})
        until = time.monotonic() + 60.0
        while not self._ready():
            assert self._process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until, "Alertmanager does not answer"
            time.sleep(0.02)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def take(self, names: list[str]) -> None:
        """Alerts that fire; it has answered 200 when this returns."""
        until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        self._ask("alerts", [{"labels": {"alertname": "gone", "job": name}, "endsAt": until} for name in names])

    def silence(self, job: str) -> str:
        """A silence; its id, as it was promised."""
        now = datetime.now(UTC)
        matchers = [{"name": "job", "value": job, "isRegex": False, "isEqual": True}]
        times = {"startsAt": now.isoformat(), "endsAt": (now + timedelta(hours=1)).isoformat()}
        told = {"matchers": matchers, **times, "createdBy": "storm", "comment": "storm"}
        return str(self._ask("silences", told)["silenceID"])

    def silences(self) -> set[str]:
        return {one["id"] for one in self._ask("silences", None)}

    def _ask(self, what: str, told: Any) -> Any:
        body = None if told is None else json.dumps(told).encode()
        request = urllib.request.Request(f"{self._url}/api/v2/{what}", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.loads(reply.read() or b"null")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
