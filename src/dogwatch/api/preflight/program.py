"""The program and its environment: is the command there, is its Python the right one, are packages and variables?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from dogwatch.api.checklist import Line
from dogwatch.api.preflight.facts import FAIL, PASS, WARN, Facts, several
from dogwatch.api.preflight.plan import NEVER, Plan
from dogwatch.wire.preflight import Command, Limits, Program


def judge(plan: Plan, facts: Facts) -> Iterator[Line]:
    found = facts.of("program", Program)
    if not facts.answer.there:
        yield Line(FAIL, "working directory", f"{facts.answer.cwd} is not there", "create it, or correct --cwd")
    if isinstance(found, str):
        yield Line(FAIL, "command", f"could not be read: {found}", "check that its file systems answer")
        return
    command = found.program
    if command is not None:
        yield _command(plan, command)
        if command.wrong:
            yield Line(FAIL, "script", f"{command.script} {command.wrong}", "correct the command or --cwd")
    yield from _python(plan, found, facts)
    yield from _packages(plan, found)
    yield from _variables(plan, facts)
    yield _checkpoint_frequency(plan)
    yield _logging(plan, found, facts)
    yield from _limits(plan, found, facts)


def _command(plan: Plan, program: Command) -> Line:
    word = plan.command.words[0]
    if program.path is None:
        wrong = "is there and is not executable" if program.there and "/" in word else "was not found"
        remedy = "chmod +x it" if "is there" in wrong else "correct the command, or activate the environment it is in"
        return Line(FAIL, "command", f"{word} {wrong}", remedy)
    if program.kind == "python" and program.python is None:
        return Line(FAIL, "command", f"{program.path} names a Python that is not there", "correct its first line")
    return Line(PASS, "command", program.path)


def _python(plan: Plan, found: Program, facts: Facts) -> Iterator[Line]:
    inside = found.inside
    needed = not found.guessed or bool(plan.packages) or plan.environment is not None
    if inside is None:
        if needed:
            text = f"{found.python or 'Python'} {found.python_why or 'printed nothing'}"
            yield Line(FAIL, "interpreter", text, "name the interpreter of your environment in the command")
        return
    prefix, executable = inside.prefix, found.python or ""
    text = f"{executable} is Python {inside.version}" + (f", environment {prefix}" if inside.virtual else "")
    if found.guessed and plan.command.words:
        text += " (the one on the PATH; the command may start another)"
    active = facts.value("VIRTUAL_ENV") or facts.value("CONDA_PREFIX")
    wanted = plan.environment
    if wanted is not None and os.path.normpath(os.path.join(facts.answer.cwd, wanted)) != os.path.normpath(prefix):
        yield Line(FAIL, "interpreter", f"{text}, not {wanted}", f"activate {wanted}, or start {wanted}/bin/python")
    elif active and not _inside(active, executable, prefix):
        remedy = f"start {active}/bin/python, or deactivate the other environment"
        yield Line(WARN, "interpreter", f"{text}, while {active} is active", remedy)
    elif needed or inside.virtual:
        yield Line(PASS, "interpreter", text)


def _inside(active: str, executable: str, prefix: str) -> bool:
    return prefix == active.rstrip("/") or executable.startswith(active.rstrip("/") + "/")


def _packages(plan: Plan, found: Program) -> Iterator[Line]:
    for name in plan.packages:
        module = found.modules.get(name)
        if module is None:
            why = found.python_why or "no answer about it"
            remedy = "give it more time with --most, or try without --try-import"
            yield Line(FAIL, f"package {name}", f"could not be checked: {why}", remedy)
        elif not module.found:
            why = f"cannot be imported: {module.why}" if module.why else f"is not installed for {found.python}"
            yield Line(FAIL, f"package {name}", why, f"{found.python} -m pip install {name.partition('.')[0]}")
        elif module.bare:
            text = "is a directory without code, probably one of that name in the working directory"
            yield Line(
                WARN, f"package {name}", text, "make sure that Python finds the installed package, not that directory"
            )
        else:
            seconds = f", imported in {module.imported:g} s" if module.imported is not None else ""
            yield Line(PASS, f"package {name}", f"{module.version or 'there'}{seconds}")


def _variables(plan: Plan, facts: Facts) -> Iterator[Line]:
    missing = [name for name in plan.variables if not facts.answer.variables.get(name)]
    if missing:
        text = f"not set or empty where it will run: {several(missing, 8)}"
        yield Line(FAIL, "variables", text, "export them where the job is started, or give --env NAME=VALUE")
    elif plan.variables:
        yield Line(PASS, "variables", f"set: {several(list(plan.variables), 8)}")


def _checkpoint_frequency(plan: Plan) -> Line:
    said = plan.checkpoint_every
    option, value = plan.command.every or ("", "")
    what, remedy = "checkpoint frequency", "set it in the command (as in --save-steps 500), or give --checkpoint-every"
    if (said or value).lower() in NEVER and (said or option):
        return Line(WARN, what, f"{option or 'it'} is {said or value}: no checkpoint is written", remedy)
    if said:
        return Line(PASS, what, f"every {said}")
    if option:
        return Line(PASS, what, f"{option} {value}".strip())
    return Line(WARN, what, "unknown how often it saves, so unknown how much work a crash loses", remedy)


def _logging(plan: Plan, found: Program, facts: Facts) -> Line:
    """Whether its words come out as they are said: a silent log is how a healthy job looks dead."""
    command = found.program
    kind, flags = (command.kind, command.flags) if command else ("other", [])
    remedy = "set PYTHONUNBUFFERED=1 (--env PYTHONUNBUFFERED=1) or start it with python -u"
    if facts.value("PYTHONUNBUFFERED"):
        return Line(PASS, "logging", "unbuffered: PYTHONUNBUFFERED is set")
    if kind == "python" and any(flag.startswith("-") and not flag.startswith("--") and "u" in flag for flag in flags):
        return Line(PASS, "logging", "unbuffered: python -u")
    if kind == "python":
        return Line(WARN, "logging", "Python buffers what it prints to a file or pipe (8 KB)", remedy)
    if plan.command.unbuffered:
        return Line(PASS, "logging", f"unbuffered: {plan.command.unbuffered}")
    return Line(WARN, "logging", "cannot tell whether its output is buffered", remedy)


def _limits(plan: Plan, found: Program, facts: Facts) -> Iterator[Line]:
    if plan.core_dumps is None and not plan.signals:
        return
    limits = facts.of("limits", Limits)
    if isinstance(limits, str):
        yield Line(FAIL, "limits", f"could not be read: {limits}", "try again")
        return
    if plan.core_dumps is not None:
        yield _core_dumps(plan.core_dumps, limits)
    handled, script = (found.program.signals, found.program.script) if found.program else ({}, None)
    for name in plan.signals:
        yield _signal(name, limits, handled, script)


def _core_dumps(wanted: bool, limits: Limits) -> Line:
    on = limits.core is None or limits.core > 0
    size = "without limit" if limits.core is None else f"up to {limits.core:,} bytes"
    text = f"on, {size}, to {limits.core_pattern or '?'}" if on else "off"
    if on == wanted:
        return Line(PASS, "core dumps", text)
    if wanted and limits.core_most == 0:
        return Line(FAIL, "core dumps", "off, and the hard limit is 0", "raise the limit (limits.conf), then try again")
    return Line(FAIL, "core dumps", text, f"ulimit -c {'unlimited' if wanted else '0'} before it is started")


def _signal(name: str, limits: Limits, handled: Mapping[str, int | None], script: str | None) -> Line:
    what = f"signal {name}"
    if name in limits.unknown:
        return Line(FAIL, what, "there is no such signal there", "correct the name, as in TERM or USR1")
    if name in limits.ignored:
        text = "is ignored by the parent process, and the program inherits that"
        return Line(FAIL, what, text, "start it without nohup or & in a script, or trap it there")
    if script is None:
        return Line(WARN, what, "cannot tell whether the program handles it: it is not a script", "try it once")
    if handled.get(name) is None:
        return Line(WARN, what, f"nothing in {script} handles it", f"handle SIG{name} there: save and exit")
    return Line(PASS, what, f"handled at line {handled[name]} of {script}")
