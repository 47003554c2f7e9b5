"""The program that a command means, the Python that would run it, and what that Python would find."""

import json
import os
import re
import time

from dogwatch.remote.preflight.side_by_side import found_on_path, run_program
from dogwatch.remote.shapes import PreflightCall, Program

PYTHONS = re.compile(r"\A(?:python|pypy)[0-9.]{0,8}\Z")
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish")
TEXT_CAP = 256 << 10
IMPORT_FLAGS = re.compile(r"\A-[IEsSu]{1,6}\Z")
# Runs in the Python of the job. It imports nothing but the standard library, unless asked to try the packages.
INSIDE = r"""
import sys
start = [] if sys.flags.isolated else [sys.path.pop(0)]  # the directory of the job, where a json.py may lie
import importlib.util, json, os, re, time
asked = json.loads(sys.argv[1])
sys.path[0:0] = start if asked["first"] is None else [asked["first"]]

def spec_of(name):
    spec, path = None, None
    for n in range(len(name.split("."))):
        whole = ".".join(name.split(".")[: n + 1])
        if n == 0:
            spec = importlib.util.find_spec(whole)
        else:
            found = (finder.find_spec(whole, path) for finder in sys.meta_path if hasattr(finder, "find_spec"))
            spec = next((one for one in found if one is not None), None)
        if spec is None:
            return None
        path = spec.submodule_search_locations
        if path is None and n + 1 < len(name.split(".")):
            return None
    return spec

def version_of(name):
    try:
        from importlib.metadata import version
        return version(name.split(".")[0])
    except Exception:
        return None

def module(name):
    row = {"found": False, "why": None, "version": None, "where": None, "bare": False, "imported": None}
    try:
        spec = spec_of(name)
        if spec is not None:
            row["found"], row["where"], row["version"] = True, spec.origin, version_of(name)
            row["bare"] = spec.origin in (None, "namespace")
    except Exception as error:
        row["why"] = "%s: %.200s" % (type(error).__name__, error)
    if asked["try"] and row["found"]:
        began = time.time()
        try:
            importlib.import_module(name)
            row["imported"] = round(time.time() - began, 2)
        except BaseException as error:
            row["found"], row["why"] = False, "%s: %.200s" % (type(error).__name__, error)
    return row

def torch_build():
    try:
        spec = importlib.util.find_spec("torch")
        if spec is None or not spec.origin:
            return None
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as text:
            said = text.read(65536)
    except Exception:
        return None
    row = {}
    for key in ("__version__", "cuda", "hip"):
        found = re.search(r"^%s\s*(?::[^=\n]{0,60})?=\s*['\"]([^'\"\n]{1,60})['\"]" % key, said, re.M)
        row[key.strip("_")] = found.group(1) if found else None
    return row

def driver():
    try:
        import ctypes
        number = ctypes.c_int()
        library = ctypes.CDLL("libcuda.so.1")
        if library.cuDriverGetVersion(ctypes.byref(number)) == 0:
            return {"loads": True, "cuda": [number.value // 1000, number.value % 1000 // 10]}
        return {"loads": True, "cuda": None}
    except Exception as error:
        return {"loads": False, "why": "%.200s" % error}

answer = {"version": sys.version.split()[0], "prefix": sys.prefix, "executable": sys.executable}
answer["virtual"] = sys.prefix != getattr(sys, "base_prefix", sys.prefix)
answer["torch"], answer["libcuda"] = torch_build(), driver()
sys.stdout.write("\n\x1e" + json.dumps(answer) + "\n")
sys.stdout.flush()
for name in asked["modules"]:
    sys.stdout.write("\n\x1e" + json.dumps([name, module(name)]) + "\n")
    sys.stdout.flush()
"""


def head_of(path: str, most: int = TEXT_CAP) -> str:
    """The beginning of a regular file as text; empty where there is none to be had."""
    try:
        fd = os.open(path.encode("utf-8", "surrogateescape"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, most).decode("utf-8", "replace") if os.path.isfile("/proc/self/fd/%d" % fd) else ""
    except OSError:
        return ""
    finally:
        os.close(fd)


def shebang(path: str) -> "list[str]":
    """The words behind #! of a script, `/usr/bin/env` taken off."""
    line = head_of(path, 512).partition("\n")[0]
    words = line[2:].split() if line.startswith("#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    return words


def described(words: "list[str]", env: "dict[str, str]", cwd: str, signals: "list[str]") -> "Program":
    """What the first word is, which Python runs it if one does, and the script that is read for its handlers."""
    path = found_on_path(words[0], env, cwd)
    there = path is not None or os.path.lexists(os.path.join(cwd, words[0]).encode("utf-8", "surrogateescape"))
    row: "Program" = {
        "path": path,
        "kind": "other",
        "python": None,
        "flags": [],
        "script": None,
        "first": None,
        "there": there,
    }
    if path is None:
        return row
    name, rest = os.path.basename(words[0]), words[1:]
    behind = shebang(path)
    if PYTHONS.match(name):
        row["kind"], row["python"] = "python", path
        row["flags"], row["script"] = python_words(rest)
    elif behind and PYTHONS.match(os.path.basename(behind[0])):
        row["kind"], row["script"] = "python", path
        row["python"] = found_on_path(behind[0], env, cwd)
        row["flags"] = [word for word in behind[1:] if word.startswith("-")]
    elif name in SHELLS or (behind and os.path.basename(behind[0]) in SHELLS):
        row["kind"] = "shell"
        plain_words = [word for word in rest if not word.startswith("-")]
        row["script"] = path if name not in SHELLS else (plain_words[0] if plain_words and "-c" not in rest else None)
    if row["kind"] == "python" and (row["script"] is None or row["script"] == path):
        row["script"] = launched(rest) or row["script"]
    if row["script"] is not None:
        script = os.path.join(cwd, row["script"])
        row["script"], row["first"] = script, os.path.dirname(os.path.realpath(script))
        bare = script.encode("utf-8", "surrogateescape")
        row["wrong"] = (
            None if os.access(bare, os.R_OK) else "cannot be read" if os.path.lexists(bare) else "is not there"
        )
        row["signals"] = handled(head_of(script), signals)
    return row


def launched(rest: "list[str]") -> "str | None":
    """The script that torchrun, accelerate or python -m is given; what stands behind -c is none."""
    return None if "-c" in rest else next((word for word in rest if word.endswith(".py") and word[0] != "-"), None)


def python_words(rest: "list[str]") -> "tuple[list[str], str | None]":
    """(the options of the interpreter, the script that it is given; None for -c and -m)."""
    flags = []
    at = 0
    while at < len(rest) and rest[at].startswith("-") and rest[at] not in ("-", "-c", "-m"):
        flags.append(rest[at])
        at += 2 if rest[at] in ("-W", "-X") else 1
    if at >= len(rest) or rest[at].startswith("-"):
        return flags, None
    return flags, rest[at]


def handled(text: str, signals: "list[str]") -> "dict[str, int | None]":
    """By signal, the first line that speaks of it together with a handler."""
    found: "dict[str, int | None]" = {name: None for name in signals}
    for number, line in enumerate(text.splitlines(), 1):
        if not re.search(r"\b(?:trap|signal|sigaction|handler)\b", line[:2000]):
            continue
        for name in signals:
            if found[name] is None and re.search(r"\b(?:SIG)?%s\b" % re.escape(name), line[:2000]):
                found[name] = number
    return found


def inspect_program(call: "PreflightCall", env: "dict[str, str]", cwd: str, seconds: float) -> object:
    """The program, and what its Python says of itself; of another program, what the `python` on the PATH says."""
    began = time.monotonic()
    words = call.get("words")
    program = described(words, env, cwd, call.get("signals") or []) if words else None
    guessed = program is None or program["kind"] != "python"
    python = program["python"] if program else None
    if guessed:
        python = found_on_path("python", env, cwd) or found_on_path("python3", env, cwd)
    flags = [flag for flag in (program["flags"] if program else []) if IMPORT_FLAGS.match(flag)]
    first = program["first"] if program and not any("I" in flag for flag in flags) else None
    asked = json.dumps({"modules": call.get("modules") or [], "try": bool(call.get("try")), "first": first})
    why: "str | None" = "no python was found on the PATH"
    modules: "dict[str, object]" = {}
    inside = None
    if python is not None:
        ran = run_program([python] + flags + ["-c", INSIDE, asked], env, seconds - (time.monotonic() - began), cwd)
        why = ran["why"]
        # What packages print while they are imported is passed over; so is what was said before the deadline came.
        for line in ran["out"].split("\n"):
            fact = json.loads(line[1:]) if line.startswith("\x1e") else []
            if isinstance(fact, dict):
                inside = fact
            elif fact:
                modules[fact[0]] = fact[1]
        if inside is None and why is None:
            why = "ended with %s: %s" % (ran["code"], ran["err"].strip()[-200:])
    facts = {"program": program, "inside": inside, "modules": modules, "python": python}
    return dict(facts, python_why=why, guessed=guessed)
