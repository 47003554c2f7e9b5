"""Advice: the exact commands for a job, each one that can be pasted into a shell as it is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dogwatch.redaction import redacted
from dogwatch.sources import kind_of

if TYPE_CHECKING:
    from dogwatch.api.handbook.launched import Launched
    from dogwatch.wire.documents.handbook import CommandDocument
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.stages import BoxDocument

SECRET = "a secret in it was left out: put it in again"
UNKNOWN = "it was started by another program: start it the way it was started"


@dataclass(frozen=True, slots=True)
class Advice:
    """`connect` has by place the command that connects to it; None for this machine."""

    connect: Mapping[str, str | None]

    def command(self, what: str, *words: str, note: str = "") -> CommandDocument:
        return self._line(what, shlex.join(words), note)

    def of(self, job: JobDocument, launched: Launched | None) -> list[CommandDocument]:
        """Status, logs, resume, stop, fetch and the rest, in the order in which they are needed."""
        ref, over = job["ref"], job["state"] == "ended"
        found = [self.command("show how it is", "dogwatch", "status", ref)]
        if over and job["diagnosis"]:
            found.append(self.command("say why it failed", "dogwatch", "why", ref))
        follow = [] if over else ["-f"]
        found.append(self.command("show its logs" if over else "follow its logs", "dogwatch", "logs", ref, *follow))
        if not over:
            found.append(self.command("wait for its end", "dogwatch", "wait", ref, "--timeout", "55m"))
        found += self._session(job)
        found += self._resume(job, launched)
        if not over:
            found.append(self.command("stop it", "dogwatch", "cancel", ref, "--yes"))
        if job["place"] != "here":
            found.append(self.command("fetch its results", "dogwatch", "fetch", ref))
        found.append(
            self.command("write down what you find", "dogwatch", "note", ref, "what the next person should know")
        )
        return found

    def _line(self, what: str, command: str | None, note: str = "") -> CommandDocument:
        secret = command is not None and redacted(command) != command
        return {"what": what, "command": command, "note": "; ".join(filter(None, (note, SECRET if secret else "")))}

    def there(self, place: str, command: str, terminal: bool = False) -> str:
        """A command for the shell of a place, as it is typed here."""
        way = self.connect.get(place)
        if way is None:
            return command
        way = way.replace("ssh ", "ssh -t ", 1) if terminal else way
        return f"{way} {shlex.quote(command)}"

    def _session(self, job: JobDocument) -> Iterator[CommandDocument]:
        box = box_of(job)
        session = None if box is None else box["session"]
        if session and job["state"] != "ended":
            attach = shlex.join(["tmux", "attach", "-t", str(session)])
            yield self._line("look into its tmux session", self.there(job["place"], attach, terminal=True))

    def _resume(self, job: JobDocument, launched: Launched | None) -> Iterator[CommandDocument]:
        """How to go on after it has ended badly or was cut off."""
        box, place = box_of(job), job["place"]
        directory, own = (None, None) if box is None else (box["directory"], box["resume_command"])
        what = "resume it, once it has ended" if job["state"] != "ended" else "resume it"
        if directory:
            script = f"sh {_path(str(directory))}/chain.sh resume"
            yield self._line(what, self.there(place, script), "starts at the first stage that is not done; never twice")
        elif own:
            yield self._line(what, self.there(place, str(own)))
        elif launched is not None:
            yield self._line(what.replace("resume", "start"), launched.again(job["name"]), launched.missing)
        elif again := kind_of(job["source"]).how_to_repeat(job["id"]):
            yield self._line(what.replace("resume", "requeue"), self.there(place, again), "or submit its script again")
        else:
            yield self._line(what, None, UNKNOWN)


def box_of(job: JobDocument) -> BoxDocument | None:
    """What the last poll saw of a run on a machine without a scheduler; None for other jobs."""
    return job.get("box")


def _path(path: str) -> str:
    """A path as a word of a shell there; `~/` stays what it means."""
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") else shlex.quote(path)
