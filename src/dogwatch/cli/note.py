"""`dogwatch note`: write down what the next person should know about a job."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import JOB, emit, json_flag, say

ABOUT = "Write a note into a job's history. `status`, `events` and `handbook` show it."
EXAMPLES = ('dogwatch note train "lr 3e-4 diverged; now 1e-4"',)
DETAILS = "A note is one line of at most 2,000 characters. Passwords, tokens and keys in it are redacted."


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="JOB", help=JOB)
    parser.add_argument("text", nargs="+", metavar="TEXT", help="the note")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import job_note, queries
    from dogwatch.clock import Clock

    text = " ".join(args.text)
    with assemble.store() as store:
        ref = queries.find(store, [args.ref], say)
        written = job_note.write(store, Clock(), ref, text)
    if args.json:
        emit({"ref": ref, "note": written})
    else:
        print(written)
        if written != " ".join(text.split()):
            say("a secret was left out, or characters that a terminal would obey")
    return 0
