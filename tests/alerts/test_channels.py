"""Each channel against a real receiver: what is taken, what is refused for good, what is worth another try."""

from __future__ import annotations

import hashlib
import hmac
import json
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dogwatch.channels.apprise import Apprise
from dogwatch.channels.command import Command
from dogwatch.channels.discord import Discord
from dogwatch.channels.file import File
from dogwatch.channels.http import Network
from dogwatch.channels.slack import Slack
from dogwatch.channels.timed import public
from dogwatch.channels.webhook import Webhook
from dogwatch.testing import check_channel
from tests.alerts.conftest import message
from tests.alerts.receiver import Receiver, answer, close, drip, flood, garbage, hang
from tests.support import wait_until

TAKEN, REFUSED, LATER = (True, False), (False, True), (False, False)


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (answer(200, b"ok"), TAKEN),
        (answer(202), TAKEN),
        (answer(204), TAKEN),
        (answer(301, Location="http://127.0.0.1:1/"), REFUSED),
        (answer(302, Location="http://169.254.169.254/"), REFUSED),
        (answer(400, b"invalid_payload"), REFUSED),
        (answer(401), REFUSED),
        (answer(404), REFUSED),
        (answer(410), REFUSED),
        (answer(408), LATER),
        (answer(429), LATER),
        (answer(500), LATER),
        (answer(503), LATER),
        (close, LATER),
        (garbage, LATER),
        (hang, LATER),
        (drip, LATER),
        (flood, TAKEN),
    ],
)
def test_what_an_answer_means(receiver, short, behaviour, expected):
    """Within the deadline, whatever the receiver does; a body without end is not read to its end."""
    receiver.always = behaviour
    receipt = Webhook(receiver.url).deliver(message())
    assert (receipt.ok, receipt.permanent) == expected, receipt
    assert receipt.detail
    assert "secret-token" not in receipt.detail


@pytest.mark.parametrize(("told", "seconds"), [("7", 7.0), ("0", 0.0), ("99999999", 6 * 3600.0), ("soon", None)])
def test_a_receiver_that_asks_for_time_gets_it(receiver, told, seconds):
    """Retry-After in seconds; bounded, and only where another try makes sense."""
    receiver.always = answer(429, Retry_After=told)
    assert Webhook(receiver.url).deliver(message()).after == seconds
    receiver.always = answer(404, Retry_After=told)
    assert Webhook(receiver.url).deliver(message()).after is None


def test_retry_after_may_be_a_date(receiver):
    """Measured against the receiver's own clock."""
    now = datetime(2030, 1, 1, tzinfo=UTC)
    form = "%a, %d %b %Y %H:%M:%S GMT"
    later = (now + timedelta(seconds=90)).strftime(form)

    def act(handler):
        handler.send_response_only(503)
        handler.send_header("Date", now.strftime(form))
        handler.send_header("Retry-After", later)
        handler.end_headers()

    receiver.always = act
    assert Webhook(receiver.url).deliver(message()).after == 90.0


def test_a_webhook_is_signed_and_names_every_job(receiver):
    """The signature covers the time and the body; the key is the same at every try."""
    channel = Webhook(receiver.url, "s3cret")
    for _ in range(2):
        assert channel.deliver(message("a", "b", "c")).ok
    one, two = receiver.got
    assert one.key == two.key == "k" * 32
    assert one.body == two.body
    assert [job["name"] for job in one.json["jobs"]] == ["train-0", "train-1", "train-2"]
    signed = one.headers["x-dogwatch-timestamp"].encode() + b"." + one.body
    assert one.headers["x-dogwatch-signature"] == "sha256=" + hmac.new(b"s3cret", signed, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("body", "taken"),
    [(b"ok", True), (b"", True), (b'{"ok":true}', True), (b'{"ok":false}', False), (b"no_text", False)],
)
def test_slack_says_in_words_what_it_refuses(receiver, body, taken):
    """With a status of 200."""
    receiver.always = answer(200, body)
    receipt = Slack(receiver.url).deliver(message())
    assert (receipt.ok, receipt.permanent) == (taken, not taken)


def test_text_from_a_job_calls_nobody(receiver):
    """Neither on Slack nor on Discord, and it cannot leave its block."""
    evil = "<!channel> @everyone <http://x|click> ```rm``` & <@U123> *b*"
    assert Slack(receiver.url).deliver(message(evil)).ok
    assert Discord(receiver.url).deliver(message(evil)).ok
    slack, discord = (json.dumps(got.json) for got in receiver.got)
    assert "<!channel>" not in slack
    assert "<@U123>" not in slack
    assert slack.count("```") == 2
    assert "@everyone" not in discord
    assert receiver.got[1].json["allowed_mentions"] == {"parse": []}


def test_a_thousand_jobs_fit(receiver):
    """A message is cut to what the channel takes, and says how many more there are; a webhook names them all."""
    many = message(*["ended, failed: exit code 1"] * 1000)
    for channel in (Slack(receiver.url), Discord(receiver.url), Webhook(receiver.url)):
        assert channel.deliver(many).ok
    slack, discord, webhook = (got.json for got in receiver.got)
    assert len(slack["blocks"][1]["text"]["text"]) <= 3000
    assert len(discord["content"]) <= 2000
    assert len(webhook["jobs"]) == 1000


def test_discord_says_in_its_body_how_long_to_wait(receiver):
    """`retry_after`, in seconds with a point."""
    receiver.always = answer(429, b'{"message": "slow down", "retry_after": 2.5}')
    assert Discord(receiver.url).deliver(message()).after == 2.5


@pytest.mark.parametrize(
    ("address", "open_to_all"),
    [
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
    ],
)
def test_private_addresses_are_known_in_every_wrapping(address, open_to_all):
    """Also as IPv4 in IPv6, 6to4, NAT64 and the carriers' own network."""
    assert public(address) is open_to_all


def test_a_url_of_somebody_else_does_not_reach_inside(receiver):
    """Nothing is sent, and it is refused for good."""
    receipt = Webhook(receiver.url, network=Network(private=False)).deliver(message())
    assert (receipt.ok, receipt.permanent, receiver.got) == (False, True, [])


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path):
    """Self-signed is nobody's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*self_signed(tmp_path))
    secure = Receiver(context)
    try:
        receipt = Webhook(secure.url).deliver(message())
    finally:
        secure.close()
    assert not receipt.ok
    assert "certificate" in receipt.detail
    assert secure.got == []


def self_signed(folder: Path) -> tuple[str, str]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    paths[1].write_bytes(pem)
    return str(paths[0]), str(paths[1])


def test_a_file_never_says_the_same_twice(tmp_path):
    """By the key; half a line that a crash left is not taken for one."""
    path = tmp_path / "alerts.jsonl"
    channel = File(str(path))
    assert channel.deliver(message("a")).ok
    assert channel.deliver(message("a")).ok
    with path.open("ab") as file:
        file.write(b'{"key": "' + b"z" * 32 + b'", "lev')
    assert channel.deliver(message("b", key="z" * 32)).ok
    lines = path.read_text().splitlines()
    assert [json.loads(line)["key"][0] for line in (lines[0], lines[2])] == ["k", "z"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("code", "expected"), [(0, TAKEN), (1, LATER), (75, LATER), (64, REFUSED)])
def test_a_command_gets_the_message_on_its_stdin(tmp_path, code, expected):
    """Its exit code says what came of it; sysexits' EX_TEMPFAIL is another try."""
    out = tmp_path / "out.json"
    script = f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read()); sys.exit({code})"
    receipt = Command([sys.executable, "-c", script]).deliver(message("$(touch x); `id`"))
    assert (receipt.ok, receipt.permanent) == expected
    assert json.loads(out.read_text())["jobs"][0]["text"] == "$(touch x); `id`"


def test_a_command_that_hangs_is_ended_with_all_it_started(monkeypatch, tmp_path):
    """And one that is not there is refused for good."""
    from dogwatch.channels import command

    monkeypatch.setattr(command, "DEADLINE", 1.0)
    mark = tmp_path / "pid"
    receipt = Command(["sh", "-c", f"sleep 60 & echo $! > {mark}; wait"]).deliver(message())
    assert (receipt.ok, receipt.permanent) == LATER
    left = Path(f"/proc/{mark.read_text().strip()}/stat")
    wait_until(lambda: not left.exists() or ") Z " in left.read_text())
    assert Command(["/nowhere/at/all"]).deliver(message()).permanent


def test_apprise_tells_sent_from_not_sent(receiver):
    """Nothing more is known of the services behind it."""
    url = receiver.url.replace("http://", "json://")
    assert Apprise(url).deliver(message()).ok
    receiver.always = answer(500)
    assert not Apprise(url).deliver(message()).ok
    assert Apprise("nothing-like-it://x").deliver(message()).permanent


@pytest.mark.parametrize("make", [Webhook, Slack, Discord])
def test_hostile_text_harms_no_channel(receiver, make):
    """By the conformance check that plug-ins use too."""
    check_channel(make(receiver.url))
