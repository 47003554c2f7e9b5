"""Secrets in text: found by their shape or by the name before them, and ordinary text left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.redaction import redacted
from dogwatch.text import plain

LONG = 4096

SECRET = "Zq3" + "x9Lm2Kp7Rt5Vw8Yb4Nc6Df1Gh0Js"


@pytest.mark.parametrize(
    "text",
    [
        "hf" + f"_{SECRET} is not valid",
        "OPENAI_API_KEY=" + "sk" + f"-{SECRET}",
        "gh" + f"p_{SECRET}",
        "Authorization: Bearer " + SECRET,
        f"https://kim:{SECRET}@example.org/simple",
        f"--token={SECRET}",
        f"--api-key {SECRET}",
        f"WANDB_API_KEY: {SECRET}",
        f"'password': '{SECRET}'",
        f"https://example.org/x?access_token={SECRET}&b=1",
        f"export SECRET={SECRET}",
        f"the token WANDB_API_KEY: {SECRET}",
        f"token x/auth:/y secret={SECRET}",
        f"İstanbul İ API_KEY={SECRET}",
        "pypi" + f"-Ag{SECRET}",
        "npm" + f"_{SECRET}",
        "sk" + f"_live_{SECRET}",
        f"login(key='{SECRET}{SECRET}')",
        f"https://example.org/x?X-Amz-Signature={SECRET}&b=1",
        f"https://example.org/x?sv=2&sig={SECRET}",
        f"Set-Cookie: session={SECRET}; Path=/",
        f"aws_secret_access_key={SECRET[:8]}/{SECRET}",
    ],
)
def test_a_secret_does_not_get_through(text):
    """Not even most of it."""
    assert SECRET not in redacted(text)
    assert SECRET[4:] not in redacted(text)
    assert "[redacted]" in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'token'",
        "loss 2.31 | tokens: 1048576 | 4.1 it/s",
        "ValueError: Invalid token at position 12",
        "token_type_ids missing from the batch",
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/auth/users.json'",
        "OSError: [Errno 98] Address already in use",
        "tokenizer: small-org/Model-7B-chat-v2.1",
        "token_file=/home/Kim/project/settings/of-the-first-run/token.txt",
        "KeyError: key='model.layers.12.self_attn.q_proj.weight'",
        "signature: (x: Tensor, y: Tensor)",
    ],
)
def test_ordinary_lines_are_left_as_they_are(text):
    """What only speaks of tokens and keys is evidence, and stays readable."""
    assert redacted(text) == text


@pytest.mark.parametrize("filling", [" ", "x", ".\n", "token", "auth key\v"])
@pytest.mark.parametrize(
    "secret", ["hf" + f"_{SECRET}", f"Bearer {SECRET}", f"TOKEN\v=\v'{SECRET}'", f"wandb-Api-Key: {SECRET}"]
)
def test_a_secret_in_a_long_text_does_not_get_through(secret, filling):
    """A long text is asked first whether it can hold any; it says so."""
    text = filling * LONG + f" {secret} " + filling * LONG
    assert SECRET not in redacted(text)
    assert redacted(filling * LONG) == filling * LONG


@pytest.mark.parametrize("split", ["\x1b[0m", "\x1b[31;1m", "\x9d", "\u200b", "\xad", "\x1b]0;title\x07"])
@pytest.mark.parametrize("text", ["hf" + "_{}", "token={}", "https://kim:{}@example.org"])
def test_a_secret_that_is_split_by_what_no_screen_shows_does_not_get_through(text: str, split: str) -> None:
    """The codes are dropped where text is shown, and the two halves would be one again."""
    whole = f"found {text.format(SECRET[:9] + split + SECRET[9:])} there"
    assert SECRET not in plain(redacted(whole))
    assert SECRET[9:] not in redacted(whole)


def test_a_name_that_is_no_text_stays_as_it_is():
    """A file's name may hold any byte; where a secret stands beside it, only that is taken out."""
    name = b"out-\xff.json".decode("utf-8", "surrogateescape")
    assert redacted(name) == name
    assert SECRET not in redacted(f"{name} token={SECRET}")


@given(st.text(max_size=400))
def test_redacting_twice_is_redacting_once(text):
    """It ends on any text, and what it made needs no second pass."""
    once = redacted(text)
    assert redacted(once) == once


@pytest.mark.parametrize("before", ["", " ", "(", "x", "_", "9", "/", "é"])
@pytest.mark.parametrize(
    "key",
    [
        "hf_" + "a1" * 8,
        "api_org_" + "a1" * 8,
        "sk-" + "a1" * 8,
        "ghs_" + "a1" * 8,
        "github_pat_" + "a1" * 8,
        "glpat-" + "a1" * 8,
        "ASIA" + "A1" * 8,
        "xoxp-" + "a1" * 8,
        "AIza" + "a1" * 16,
        "nvapi-" + "a1" * 12,
        "wandb_v1_" + "a1" * 12,
        "r8_" + "a1" * 12,
        "eyJ" + "a1" * 6 + ".a1b2c3.d4e5f6",
    ],
)
def test_a_key_is_known_where_a_word_begins(before: str, key: str) -> None:
    """A key's shape counts at the start of a word, whatever stands before it; within a word it is chance."""
    within = before in ("x", "_", "9")
    assert (key in redacted(f"found {before}{key} here")) is within
