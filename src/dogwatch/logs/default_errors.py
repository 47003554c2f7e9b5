"""The error patterns that are on by default in the monitor form: memory, connections, data, CUDA.

A pattern has phrases that are a report wherever they stand ("Connection refused"), and words that are one only on a
line that says so ("timeout" beside ERROR, failed or retrying): a printed configuration, a count of 0 and advice use
the same words. RE2 has no lookaround, so what makes a line harmless is a pattern of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from dogwatch.model.log_event import DEFAULT_PATTERN

PREFIX = DEFAULT_PATTERN


@dataclass(frozen=True, slots=True)
class DefaultError:
    """`report` says it by itself, `word` only beside a word of trouble."""

    name: str
    report: str
    word: str


DEFAULT_ERRORS = {
    one.name: one
    for one in (
        DefaultError(
            "oom",
            r"\bout[ _-]of[ _-]memory\b|OutOfMemory(?:Error|Exception)|\boom[- _]?killed\b"
            r"|\bOOM (?:detected|error|encountered|occurred|caught|during|while|at step|on GPU)",
            r"\bOOM\b",
        ),
        DefaultError(
            "connection",
            r"\bconnection (?:was )?(?:refused|reset|aborted|lost|timed? ?out|error)\b|\b(?:Connect|Read)Timeout\b"
            r"|\btimed out\b|\bTimeoutError\b|\bnetwork error\b|\bnetwork is unreachable\b|\bno route to host\b"
            r"|\btimeout (?:exceeded|expired|waiting|while|after|occurred|reached)\b",
            r"\btimeout\b",
        ),
        DefaultError(
            "data_error",
            r"\b(?:is|are|was|were|seems|appears|looks) corrupt(?:ed)?\b|\bdata corruption\b|\binvalid data\b"
            r"|\bcorrupt(?:ed)? (?:file|record|sample|image|data|shard|archive|input|header|block|line|jpe?g|png|row)"
            r"|\bparse error\b|\bParseError\b|\bfailed to parse\b",
            r"\bcorrupt(?:ed|ion)?\b",
        ),
        DefaultError(
            "cuda_error",
            r"\bCUDA error\b|\bCU(?:DNN|BLAS)_STATUS_[A-Z_]*(?:FAIL|ERROR|NOT)|\bdevice-side assert",
            r"$^",
        ),
    )
}
# What makes a word a report.
TROUBLE = (
    r"\b(?:error|err|warn|warning|critical|fatal|exception|fail(?:ed|ure|s)?|retry|retrying|retries left|giving up"
    r"|aborted|skipping|dropped|unable|cannot|could not|caught|hit)\b|\w(?:Error|Exception)\b|^\s*[EWF]\d{4}\b"
)
_PHRASE = (
    r"(?:out[ _-]of[ _-]memory|oom|connection|time(?:d )?out|network|corrupt\w*|invalid data|parse|CUDA)"
    r"[ _-]?(?:refused|reset|error|failure|event|kill|file|record|sample|image|line|row)?s?"
)
# Nothing of the kind has happened: a count of none, a rate, a setting, advice.
HARMLESS = "|".join(
    (
        rf"(?:^|[,;:(\[]\s*|\b(?:found|with|had|saw|got)\s+)(?:0|no|zero|none)\s+(?:\w+\s+)?{_PHRASE}\b",
        rf"\b(?:no|without|zero|never|any|avoid(?:s|ing)?|prevent(?:s|ing)?|reduce|if|case of|may|might|could|would"
        rf"|should|check(?:ing)? for|handle[sd]?|handling|ignore|ignoring|skip(?:ping)? if|to)\s+"
        rf"(?:\w+\s+){{0,3}}?(?:run |go |be |get )?{_PHRASE}\b",
        rf"\b{_PHRASE}(?:[ _-](?:count|events?|total|errors?|files?|lines?))?[\"']?\s*[:=]\s*[\"']?"
        r"(?:0(?:\.0*)?\s*%?(?:$|[\s,;|)}\]])|false\b|none\b|null\b|no\b|off\b|never\b)",
        rf"\b{_PHRASE}[ _-](?:rate|ratio|score|threshold|limit|margin|budget|handler|handling|policy|retries|seconds|ms"
        rf"|protection|safe|guard|killer|check|test|probability|fraction|percent)\b",
        r"oom_score|oom_kill\s+\d",
        r"^\s*raise \w",  # the line of the program that a traceback shows: the error itself is below
    )
)
# A setting: then a word is none of a report, whatever else stands on the line.
SETTING = "|".join(
    (
        r"[\w.-]*timeout[\w.-]*[\"']?\s*[:=]\s*[\"']?[\d.(\[N-]|--[\w-]*(?:timeout|oom|corrupt)",
        r"\b(?:set|setting|using|use|with|default|configured|request|socket|read|a|the)\s+(?:\w+\s+){0,2}?timeout(?:\s+"
        r"(?:of|to|is|at|=))\s*\d",
    )
)
