"""E-mail through an SMTP server, encrypted unless the server is this machine."""

from __future__ import annotations

import smtplib
import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Annotated, Any

from dogwatch.channels.http import PREFLIGHT, Network
from dogwatch.channels.interface import DEADLINE, Receipt
from dogwatch.channels.picture import NAME, picture
from dogwatch.channels.plugin import ChannelPlugin, Site, Unfit
from dogwatch.channels.timed import Private, secure_context
from dogwatch.channels.timed import deadline as until_when
from dogwatch.channels.wording import lines, subject
from dogwatch.errors import UsageError
from dogwatch.model import Level, Message
from dogwatch.plugin_config import Address, Host, Key, Port, Secret, Text, text
from dogwatch.redaction import redacted
from dogwatch.text import plain

LOOPBACK = ("localhost", "127.0.0.1", "::1", "")
MOST_JOBS = 500


SUBMISSION, TLS_FROM_START = 587, 465  # ports of mail servers, RFC 6409 and 8314


def _tls(value: Any, what: str) -> str:
    if value not in ("starttls", "tls", "none"):
        raise UsageError(f"{what} is starttls, tls or none")
    return str(value)


@dataclass(frozen=True, slots=True)
class Smtp:
    """How mail leaves: the table [smtp] of the configuration file, its password by reference. `tls`: `starttls`, `tls`
    from the first byte, or `none`, which only this machine may be."""

    host: Text = "localhost"
    port: Port = 25
    sender: Annotated[str, Key(text, called="from")] = ""
    user: Text | None = None
    password: Secret | None = None
    tls: Annotated[str, Key(_tls)] = "starttls"

    def __post_init__(self) -> None:
        if self.tls == "none" and self.host not in LOOPBACK:
            raise UsageError("smtp.tls can be none only where the server is this machine")

    def at(self, host: str | None, port: int | None) -> Smtp:
        """This server, or another one in its place. User, password and TLS belong to the server they were configured
        for: another one gets no credentials, and its encryption is decided for itself."""
        same = host is None or host.lower().rstrip(".") == self.host.lower()
        port = port or (self.port if same else SUBMISSION)
        if same and port == self.port:
            return self
        return Smtp(host or self.host, port, self.sender, tls="tls" if port == TLS_FROM_START else "starttls")


class Email:
    """One recipient, so that one refused address never costs another its mail."""

    kind = "email"

    def __init__(self, to: str, server: Smtp, network: Network | None = None) -> None:
        self._to, self._server, self._network = to, server, network or Network()

    def deliver(self, message: Message) -> Receipt:
        image = picture(message)
        got = self._send(message, image)
        # It may be the picture that a server refuses, and no alert is given up for that.
        return self._send(message, None) if image is not None and got.permanent else got

    def _send(self, message: Message, image: bytes | None) -> Receipt:
        server = self._server
        try:
            with self._connected() as smtp:
                if server.user is not None and server.password is not None:
                    smtp.login(server.user, server.password)
                smtp.send_message(self.mail(message, image), from_addr=self._sender(), to_addrs=[self._to])
        except smtplib.SMTPRecipientsRefused as refused:
            code, words = next(iter(refused.recipients.values()))
            return _refused(server.host, code, words)
        except smtplib.SMTPResponseException as error:
            return _refused(server.host, error.smtp_code, error.smtp_error)
        except smtplib.SMTPNotSupportedError as error:
            return Receipt(False, f"{server.host}: {plain(str(error), 120)}", permanent=True)
        except ssl.SSLError as error:
            return Receipt(False, f"{server.host} offers no trusted encryption: {plain(str(error.reason), 80)}")
        except Private:
            return Receipt(False, f"{server.host} is an address of a private network", permanent=True)
        except (OSError, smtplib.SMTPException) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            return Receipt(False, f"{server.host} could not be reached: {plain(str(why), 120)}")
        return Receipt(True, f"{server.host} accepted it for {self._to}")

    def mail(self, message: Message, image: bytes | None = None) -> EmailMessage:
        """The mail, its text first and then the picture if there is one. Its Message-ID is the message's key: a repeat
        is the same mail to whoever reads it."""
        mail = EmailMessage()
        mail["Subject"] = subject(message)
        mail["From"] = self._sender()
        mail["To"] = self._to
        mail["Date"] = format_datetime(datetime.fromtimestamp(message.at, UTC))
        mail["Message-ID"] = f"<{message.key}@dogwatch>"
        mail["Auto-Submitted"] = "auto-generated"
        mail["X-Priority"] = "1" if message.level is Level.CRITICAL else "3"
        mail.set_content("\n".join(lines(message, MOST_JOBS)) + "\n")
        if image is not None:
            mail.add_attachment(image, maintype="image", subtype="png", filename=NAME, disposition="inline")
        return mail

    def _sender(self) -> str:
        return self._server.sender or f"dogwatch@{socket.gethostname() or 'localhost'}"

    def _connected(self) -> smtplib.SMTP:
        server = self._server
        smtp = _Connection(until_when(DEADLINE), server.tls == "tls", self._network)
        code, words = smtp.connect(server.host, server.port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, words)
        # A server that does not offer it (or somebody between who strips the offer) gets no plain text instead.
        if server.tls == "starttls" and server.host not in LOOPBACK:
            smtp.starttls(context=secure_context(smtp.until))
        return smtp


class _Connection(smtplib.SMTP):
    """With one deadline for the whole conversation."""

    def __init__(self, until: float, secure: bool, network: Network) -> None:
        self.until, self._secure, self._network = until, secure, network
        super().__init__()

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        made = self._network.connect(host, port, self.until)
        return secure_context(self.until).wrap_socket(made, server_hostname=host) if self._secure else made


def _refused(host: str, code: int, words: bytes | str) -> Receipt:
    said = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    return Receipt(False, f"{host} answered {code}: {plain(redacted(said), 120)}", permanent=code >= 500)


@dataclass(frozen=True, slots=True)
class Config:
    """The recipient, and the mail server where it is not the one of the configuration file."""

    to: Address
    host: Host | None = None
    port: Port | None = None


def preflight(config: Config, site: Site) -> str:
    """The greeting of the mail server, and nothing more."""
    server: Smtp = site.account
    until, host, port = until_when(PREFLIGHT), server.host, server.port
    with site.network.connect(host, port, until) as made:
        if server.tls == "tls":
            with secure_context(until).wrap_socket(made, server_hostname=host) as secured:
                greeting = secured.recv(512)
        else:
            greeting = made.recv(512)
            if greeting[:3] == b"220":
                made.sendall(b"QUIT\r\n")
    if greeting[:3] != b"220":
        raise Unfit(f"{host} answered {plain(greeting.decode('utf-8', 'replace'), 60) or 'nothing'}")
    return f"{plain(host, 100)} port {port} answers"


PLUGIN = ChannelPlugin(
    name="email",
    help="ADDRESS: mail, through the server of [smtp] in the configuration file",
    config=Config,
    build=lambda config, site: Email(config.to, site.account, site.network),
    preflight=preflight,
    argument="to",
    takes="one address",
    job_file={"address": "to", "smtp_server": "host", "smtp_port": "port"},
    instead="name it in the [smtp] section of your configuration file",
    section="smtp",
    account=Smtp,
    takes_pictures=True,
)
