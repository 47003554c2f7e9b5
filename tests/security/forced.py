"""The forced command of a hostile host: runs what it was sent, as an honest host would, and then lies.

Its argument is a file of Python that does the lying; with an empty one the host is honest. There `body` is the real
answer, `nonce` its number, and `out` and `err` write; what is then in `text`, or in `body`, is sent with a right end
line.
"""

import json
import os
import subprocess
import sys


def out(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def err(text: bytes) -> None:
    sys.stderr.buffer.write(text)
    sys.stderr.buffer.flush()


def real_answer() -> bytes:
    argv = ["/bin/sh", "-c", os.environ["SSH_ORIGINAL_COMMAND"]]
    return subprocess.run(argv, input=sys.stdin.buffer.read(), stdout=subprocess.PIPE).stdout


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        lie = file.read()
    before = {"out": out, "err": err, "os": os, "sys": sys, "json": json, "text": None}
    before["command"] = os.environ.get("SSH_ORIGINAL_COMMAND", "")
    if lie.startswith("# before"):  # does without the real answer
        exec(lie, before)  # noqa: S102 - the test's own text
        return
    answer = real_answer()
    if not lie:
        return out(answer)
    text, _, end = answer.rpartition(b"\nDOGWATCH-END ")
    names = {**before, "body": json.loads(text), "nonce": end.split()[0], "honest": text}
    exec(lie, names)  # noqa: S102 - the test's own text
    sent = names["text"]
    if sent is None:
        sent = json.dumps(names["body"]).encode()
    out(sent + b"\nDOGWATCH-END " + names["nonce"] + b" %d\n" % len(sent))


main()
