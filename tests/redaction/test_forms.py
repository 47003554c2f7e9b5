"""Every documented token format, every form of a named secret, and lines that poll alike."""

from __future__ import annotations

import pytest

from dogwatch.redaction import redacted, redacted_lines
from dogwatch.redaction.formats import FORMATS
from tests.redaction.examples import MIXED, NAMED, ORDINARY, TOKENS


def test_every_format_has_an_example():
    """A row of the table without an example would be a claim."""
    assert {one.vendor for one in FORMATS} == set(TOKENS)


@pytest.mark.parametrize("around", ["{}", "using {} now", '{{"value": "{}"}}', "2026-11-18 02:22:26 INFO x={};"])
@pytest.mark.parametrize("vendor", TOKENS)
def test_a_token_does_not_get_through(vendor: str, around: str) -> None:
    """Wherever it stands in a line, only its first characters stay."""
    token = "".join(TOKENS[vendor])
    shown = redacted(around.format(token))
    assert token not in shown
    assert token[len(token) // 2 :] not in shown
    assert "[redacted]" in shown


@pytest.mark.parametrize(("text", "secret"), NAMED)
def test_a_named_secret_does_not_get_through(text: str, secret: str) -> None:
    """Short passwords, phrases, commands and URLs included; what stands around them stays."""
    shown = redacted(text)
    assert secret not in shown
    assert "[redacted]" in shown
    assert redacted(shown) == shown


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_line_stays(text: str) -> None:
    """What only looks like a secret is evidence."""
    assert redacted(text) == text


@pytest.mark.parametrize("stamp", ["", "2026-11-18 02:22:26,123 INFO ", "[rank0]: ", "\t| "])
def test_the_body_of_a_private_key_does_not_get_through(stamp: str) -> None:
    """Also where a logger put a time before every line, and where the head was cut off."""
    body = [MIXED[n:] + MIXED[:n] + MIXED[:16] for n in range(5)]
    head, foot = "-----BEGIN OPENSSH " + "PRIVATE KEY-----", "-----END OPENSSH " + "PRIVATE KEY-----"
    whole = [f"{stamp}{line}" for line in (head, *body, MIXED[:12] + "==", foot)]
    for lines in (whole, whole[2:], whole[:-1]):
        shown = "\n".join(redacted_lines([*lines]))
        assert not any(part[:12] in shown for part in body)
    assert redacted_lines(["step 1", *whole, "step 2"])[-1] == "step 2"
