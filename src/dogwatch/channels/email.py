"""E-mail through an SMTP server, encrypted unless the server is this machine."""

from __future__ import annotations

import smtplib
import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime

from dogwatch.channels.interface import DEADLINE, Receipt
from dogwatch.channels.picture import NAME, picture
from dogwatch.channels.timed import Private, connect, secure_context
from dogwatch.channels.timed import deadline as until_when
from dogwatch.channels.wording import lines, subject
from dogwatch.model import Level, Message
from dogwatch.redaction import redacted
from dogwatch.text import plain

LOOPBACK = ("localhost", "127.0.0.1", "::1", "")
MOST_JOBS = 500


@dataclass(frozen=True, slots=True)
class Server:
    """How mail leaves. `tls`: `starttls`, `tls` from the first byte, or `none`, which only this machine may be."""

    host: str = "localhost"
    port: int = 25
    sender: str = ""
    user: str | None = None
    password: str | None = None
    tls: str = "starttls"
    inside: bool = True  # whether it may be on a private network


class Email:
    """One recipient, so that one refused address never costs another its mail."""

    kind = "email"

    def __init__(self, to: str, server: Server) -> None:
        self._to, self._server = to, server

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
                smtp.send_message(self.letter(message, image), from_addr=self._sender(), to_addrs=[self._to])
        except smtplib.SMTPRecipientsRefused as refused:
            code, words = next(iter(refused.recipients.values()))
            return _refused(server.host, code, words)
        except smtplib.SMTPResponseException as error:
            return _refused(server.host, error.smtp_code, error.smtp_error)
        except smtplib.SMTPNotSupportedError as error:
            return Receipt(False, f"{server.host}: {plain(str(error), 120)}", permanent=True)
        except ssl.SSLError as error:
            return Receipt(False, f"{server.host} offers no encryption to be trusted: {plain(str(error.reason), 80)}")
        except Private:
            return Receipt(False, f"{server.host} is an address of a private network", permanent=True)
        except (OSError, smtplib.SMTPException) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            return Receipt(False, f"{server.host} could not be reached: {plain(str(why), 120)}")
        return Receipt(True, f"{server.host} took it for {self._to}")

    def letter(self, message: Message, image: bytes | None = None) -> EmailMessage:
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
        smtp = _Smtp(until_when(DEADLINE), server.tls == "tls", server.inside)
        code, words = smtp.connect(server.host, server.port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, words)
        # A server that does not offer it (or somebody between who strips the offer) gets no plain text instead.
        if server.tls == "starttls" and server.host not in LOOPBACK:
            smtp.starttls(context=secure_context(smtp.until))
        return smtp


class _Smtp(smtplib.SMTP):
    """With one deadline for the whole conversation."""

    def __init__(self, until: float, secure: bool, inside: bool) -> None:
        self.until, self._secure, self._inside = until, secure, inside
        super().__init__()

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        made = connect(host, port, self.until, self._inside)
        return secure_context(self.until).wrap_socket(made, server_hostname=host) if self._secure else made


def _refused(host: str, code: int, words: bytes | str) -> Receipt:
    said = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    return Receipt(False, f"{host} said {code}: {plain(redacted(said), 120)}", permanent=code >= 500)
