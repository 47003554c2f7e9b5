"""A process that a signal ended, as shells, launchers, containers, batch systems and MPI tell it."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Pattern, Role
from dogwatch.logs.ending import shell_languages

SHELL = 128  # what a shell adds to the number of the signal that ended its command


def ended_by(number: int, weight: float, role: Role | None = None) -> tuple[Pattern, ...]:
    """How the end by this signal shows in the words of whoever waited for the process."""
    code = rf"(?:-{number}|{number + SHELL})\b"
    return (
        Pattern("return code", rf"return code ?[=:]? ?{code}", weight, fatal=True, role=role, many=True),
        Pattern(
            f"exit code|exitcode|exit status|ed with code|ed with status|ed with {number + SHELL}|ed with -{number}",
            rf"(?:exit ?code|exit status|(?:end|exit|fail|finish|return|terminat)ed with (?:code|status))"
            rf"[\s:=(]{{0,8}}{code}|\b(?:exit|terminat)ed with {code}[\s.,;)]{{0,4}}$",
            weight,
            fatal=True,
            role=role,
        ),
        Pattern("exited (", rf"\bexited \({number + SHELL}\)", weight, fatal=True, role=role),
        # Hydra gives the number itself as an exit code, in the box it draws.
        Pattern("=   exit code: ", rf"^=   exit code: {number}\s{{0,80}}$", weight, fatal=True, role=role, many=True),
        Pattern(
            f"signal {number}|signal: |<signals.sig",
            rf"\b(?:by|with|on) signal:? {number}\b|\bsignal:? {number} \(|\(signal {number}\)"
            rf"|\bsignal: [a-z ]{{3,40}}\({number}\)|\bdied with <signals\.sig[a-z]{{2,6}}: {number}>",
            weight,
            fatal=True,
            role=role,
            many=True,
        ),
    )


def noticed(word: str, weight: float) -> Pattern:
    """How a shell tells it of a command that a script, or somebody at its prompt, had started:
    `go.sh: line 3:  4411 Killed  ./a`, `zsh: killed  ./a`, `[1]+  Killed  ./a`."""
    return Pattern(
        word,
        rf"^(?:zsh: |\[\d{{1,3}}\][+-]? {{1,8}}(?:[-+] {{1,4}})?(?:\d{{1,10}} {{1,4}})?)(?:{word})\b(?:\s|$)"
        rf"|: line \d{{1,6}}:\s{{1,8}}\d{{1,10}} (?:{word})\b",
        weight,
        fatal=True,
    )


def told_abroad(words: tuple[str, ...], weight: float) -> Pattern:
    """The same in other languages than English."""
    return Pattern("|".join(shell_languages.needles(words)), shell_languages.of_a_process(words), weight, fatal=True)


def complained_abroad(words: tuple[str, ...], weight: float) -> Pattern:
    """What a shell, or a tool that a script calls, complains of in other languages than English."""
    return Pattern("|".join(shell_languages.needles(words)), shell_languages.complaint(words), weight)
