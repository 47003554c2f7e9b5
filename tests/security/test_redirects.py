"""A server behind a channel cannot send an alert, or the credentials in its URL, somewhere else."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest

from dogwatch.channels.apprise import Apprise
from dogwatch.channels.discord import Discord
from dogwatch.channels.slack import Slack
from dogwatch.channels.webhook import Webhook
from tests.alerts.conftest import message
from tests.alerts.receiver import Receiver


@pytest.fixture
def elsewhere() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture(params=[301, 302, 303, 307, 308])
def redirecting(request: pytest.FixtureRequest, elsewhere: Receiver) -> Iterator[int]:
    """The port of a server that sends everybody to the other one."""

    class Redirects(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(request.param)
            self.send_header("Location", elsewhere.url)
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *words: object) -> None:
            return

    server = http.server.HTTPServer(("127.0.0.1", 0), Redirects)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("kind", [Webhook, Slack, Discord, Apprise])
def test_no_redirect_is_followed(kind: type, redirecting: int, elsewhere: Receiver) -> None:
    """The delivery failed, and the other server heard nothing."""
    scheme = "json" if kind is Apprise else "http"
    got = kind(f"{scheme}://kim:hunter2@127.0.0.1:{redirecting}/hook").deliver(message())
    assert not got.ok
    assert "hunter2" not in got.detail
    assert elsewhere.got == []
