"""Questions answered side by side, each by a process of its own that is ended with all it started when it is late."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable

from dogwatch.remote.shapes import Found, ProgramOutput

ANSWER_CAP = 4 << 20
OUTPUT_CAP = 1 << 20
UNANSWERABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)


class Asked:
    """A question under way: the leader of its session, the pipe it answers on, and what has come."""

    def __init__(self, question: "Callable[[], object]", seconds: float) -> None:
        self.began = time.monotonic()
        self.until = self.began + seconds
        self.text = bytearray()
        self.why = "it ended without an answer"
        self.fd, outward = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                answer_it(question, outward, seconds)
            finally:
                os._exit(1)
        os.close(outward)

    def end(self) -> "Found":
        """Its answer. What it started goes with it; one that hangs in the kernel is not waited for."""
        os.close(self.fd)
        for kill in (os.killpg, os.kill):
            try:
                kill(self.pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            pass
        seconds = round(time.monotonic() - self.began, 3)
        try:
            answer: "Found" = json.loads(self.text.decode("ascii"))
        except ValueError:
            answer = {"ok": False, "why": self.why, "seconds": seconds}
        answer["seconds"] = seconds
        return answer


def answer_it(question: "Callable[[], object]", outward: int, seconds: float) -> None:
    """The child: a session of its own, which the alarm ends also when nobody is left who would."""
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + 2.0)
    os.closerange(3, outward)
    os.closerange(outward + 1, 4096)
    try:
        answer: "Found" = {"ok": True, "seconds": 0.0, "found": question()}
    except UNANSWERABLE as error:
        answer = {"ok": False, "seconds": 0.0, "why": "%s: %.200s" % (type(error).__name__, error)}
    text = json.dumps(answer).encode("ascii")
    while text:
        text = text[os.write(outward, text) :]
    os._exit(0)


def side_by_side(questions: "dict[str, tuple[Callable[[], object], float]]", until: float) -> "dict[str, Found]":
    """What each question found, by its name; each has its own seconds, and none has more than are left."""
    asked = {name: Asked(one, min(most, until - time.monotonic())) for name, (one, most) in questions.items()}
    waiting = dict(asked)
    while waiting:
        now = time.monotonic()
        for name in [name for name, one in waiting.items() if one.until <= now]:
            waiting[name].why = "it did not answer in %.0f s" % (now - waiting[name].began)
            waiting[name].text.clear()
            del waiting[name]
        by_pipe = {one.fd: name for name, one in waiting.items()}
        left = min([one.until for one in waiting.values()] or [now]) - now
        ready, _, _ = select.select(list(by_pipe), [], [], max(0.0, left)) if by_pipe else ([], [], [])
        for fd in ready:
            one = waiting[by_pipe[fd]]
            chunk = os.read(fd, 65536)
            one.text += chunk
            if not chunk or len(one.text) > ANSWER_CAP:
                del waiting[by_pipe[fd]]
    return {name: one.end() for name, one in asked.items()}


def run_program(argv: "list[str]", env: "dict[str, str]", seconds: float, cwd: str) -> "ProgramOutput":
    """What a program of the place printed, and its code; `why` when it could not be run to its end."""
    output: "ProgramOutput" = {"code": None, "out": "", "err": "", "why": None}
    try:
        child = subprocess.Popen(
            [word.encode("utf-8", "surrogateescape") for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                name.encode("utf-8", "surrogateescape"): value.encode("utf-8", "surrogateescape")
                for name, value in env.items()
            },
            cwd=cwd.encode("utf-8", "surrogateescape"),
        )
    except (OSError, ValueError) as error:
        output["why"] = "could not be started: %s" % (getattr(error, "strerror", None) or error)
        return output
    try:
        out, err = child.communicate(timeout=max(0.1, seconds))
    except subprocess.TimeoutExpired:
        output["why"] = "did not answer in %.0f s" % seconds
        child.kill()
        try:
            out, err = child.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:  # what it started holds its pipes
            return output
    output["code"] = child.returncode
    output["out"] = out[:OUTPUT_CAP].decode("utf-8", "replace")
    output["err"] = err[-4096:].decode("utf-8", "replace")
    return output


def found_on_path(word: str, env: "dict[str, str]", cwd: str, more: "tuple[str, ...]" = ()) -> "str | None":
    """The file that a command's first word means, as a shell would find it."""
    if "/" in word:
        places = [os.path.join(cwd, word)]
    else:
        places = [os.path.join(cwd, place, word) for place in env.get("PATH", os.defpath).split(":")]
        places += [os.path.join(place, word) for place in more]
    for path in places:
        bare = path.encode("utf-8", "surrogateescape")
        if os.path.isfile(bare) and os.access(bare, os.X_OK):
            return path
    return None
