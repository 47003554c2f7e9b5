"""A command line with something wrong in it: one sentence on stderr, nothing on stdout, exit code 2."""

from __future__ import annotations

import pytest

from dogwatch.cli.verbs import VERBS

WRONG = [
    ("add process 99999999999", "99999999999 is not a process id"),
    ("add process 0", "PID must be a whole number of at least 1, not 0"),
    ("add process abc", "takes a whole number, not 'abc'"),
    ("ls --foo", "unknown option '--foo' for `dogwatch ls`"),
    ("ls extra", "unexpected argument 'extra'"),
    ("watch --num-workers x --job-name a", "--num-workers takes a whole number, not 'x'"),
    ("logs", "JOB is missing"),
    ("wait x --timeout", "--timeout needs a value"),
    (
        "wait x --for nonsense",
        "--for takes ended, running, change, stage:NAME, progress:50% or marker:PATH, not 'nonsense'",
    ),
    ("alerts add --email", "--email needs a value"),
    ("report x --html", "--html needs a value"),
    ("report --htm x y", "did you mean --html?"),
    ("patrol --log-file /proc/no/such/file", "--log-file /proc/no/such/file cannot be written"),
    ("daemon --log-file /proc", "--log-file /proc cannot be written"),
]


@pytest.mark.parametrize(("words", "told"), WRONG)
def test_what_is_wrong_is_one_sentence(dogwatch, words: str, told: str) -> None:
    """It names the flag, and says where help is."""
    done = dogwatch(*words.split())
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_in_one_sentence_that_a_flag_is_unknown(dogwatch, verb: str) -> None:
    """Also those with verbs of their own."""
    done = dogwatch(verb, "--no-such-flag-\x1b[31m")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr
