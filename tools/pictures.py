"""Draws docs/screen.svg, ls.svg, why.svg and demo.svg from the real program, in about a minute. Run
it with the Python of .venv (`make pictures`) after a change of what people see."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from dogwatch.clock import Clock
from dogwatch.tui.screen import screen
from dogwatch.tui.view import View

ROOT = Path(__file__).parent.parent
WIDTH, HEIGHT = 96, 24
LOOK = dict.fromkeys(("TERM", "COLORTERM"), "xterm-256color")


class Program:
    """The real program, with a home and a working directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            **os.environ,
            **LOOK,
            "DOGWATCH_HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        shutil.copy(ROOT / "src" / "dogwatch" / "demo_job.py", folder / "train.py")

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "dogwatch", *words]

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command(*words), env=self.env, cwd=self.folder, stderr=subprocess.DEVNULL)

    def document(self, *words: str) -> dict:
        done = subprocess.run(
            self.command(*words, "--json"), env=self.env, cwd=self.folder, capture_output=True, check=False
        )
        return json.loads(self.cleaned(done.stdout.decode()))

    def on_terminal(self, *words: str) -> str:
        """What a terminal of our width gets to see of a command."""
        near, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        running = subprocess.Popen(
            self.command(*words), env=self.env, cwd=self.folder, stdout=far, stderr=far, stdin=far
        )
        os.close(far)
        output = b""
        try:
            while piece := os.read(near, 65536):
                output += piece
        except OSError:  # the other end was closed
            pass
        running.wait()
        os.close(near)
        return self.cleaned(output.decode().replace("\r\n", "\n")).rstrip()

    def cleaned(self, text: str) -> str:
        text = re.sub(r"/tmp/dogwatch-demo-\w+/(home|work)", "/tmp/demo", text)
        return text.replace(str(self.folder / "home"), "~/.local/state/dogwatch").replace(str(self.folder), "~/run")


def draw(name: str, title: str, *shown: RenderableType) -> None:
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        for part in shown:
            console.print(part)
        svg = console.export_svg(title=title, unique_id=f"dogwatch-{name}")
    # The exported page would fetch its font from a content network; any monospace font will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S).replace("Fira Code, monospace", "monospace")
    (ROOT / "docs" / f"{name}.svg").write_text(svg, encoding="utf-8")


def prompt(words: str) -> Text:
    return Text(f"$ {words}", style="bold")


def draw_live(program: Program) -> None:
    """The screen of one running job, as `dogwatch watch train` shows it."""
    listing, events = program.document("ls"), program.document("events", "train")["events"]
    jobs = [job for job in listing["jobs"] if job["name"] == "train"]
    view = View(jobs, events, listing["watch"], listing["places"])
    draw("screen", "dogwatch watch train", screen(view, WIDTH, HEIGHT, Clock().now()))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="dogwatch-pictures-") as folder:
        program = Program(Path(folder))
        daemon = program.start("daemon")
        try:
            for name, workers, more in (("train", 2, ()), ("high-lr", 1, ("--lr", "1.5"))):
                job = ("python3", "-u", "train.py", "--out", name, "--seconds", "30", *more)
                saved = f"{name}/checkpoints/*.safetensors"
                program.start(
                    "run", "--detach", "--name", name, "--workers", str(workers), "--checkpoint", saved, "--", *job
                ).wait()
            time.sleep(20)
            draw_live(program)
            listing = program.on_terminal("ls", "--all")
            draw("ls", "dogwatch ls", prompt("dogwatch ls --all"), Text.from_ansi(listing))
            draw(
                "why",
                "dogwatch why",
                prompt("dogwatch why high-lr"),
                Text.from_ansi(program.on_terminal("why", "high-lr")),
            )
            program.start("wait", "train").wait()
        finally:
            daemon.terminate()
            daemon.wait()
        tour = program.on_terminal("demo", "--seconds", "15").partition("\n4. ")[2]
        draw("demo", "dogwatch demo", prompt("dogwatch demo"), Text("[…]\n"), Text.from_ansi(f"4. {tour}"))


main()
