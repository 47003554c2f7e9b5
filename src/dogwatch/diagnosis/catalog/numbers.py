"""The cause in the numbers themselves: a loss or gradients that are none any more."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, Pattern, Retry

# A bare "inf" counts only as a value: it begins too many other words, and each line that may match is read closer.
_BAD = r"(?:\bnans?\b|(?:=|: |is |= )inf\b|\binfinit(?:e|y)\b|\bnon-?finite\b|\bnot finite\b)"
_OF = r"\b(?:loss(?:es)?|grad(?:ient)?s?(?: norm)?)\b"
_GIVES_UP = (
    r"\b(?:abort(?:ing|ed)?|exit(?:ing|ed)?|stop(?:ping|ped)?|terminat(?:e|ing|ed)|halt(?:ing|ed)?|quit(?:ting)?"
    r"|giving up|bail(?:ing|ed)? out|ending (?:the )?(?:training|run|job))\b"
)
# Advice, settings, and what a program does with one bad step.
_GOES_ON = (
    r"\bskip|\bignor|\bif\b|\bwhen\b|\bunless\b|\bwill\b|\bmay\b|\bno nans?\b|\bnot (?:stop|abort|exit|halt)|--\w"
    r"|\w=(?:true|false|[01]\b)|[\"']\s*:\s*(?:true|false)|\bcontinu|\b(?:stop|exit|abort|halt)_?on_?nan|early.?stop"
)

rows = (
    Cause(
        "loss_nan",
        "the loss became NaN or infinite",
        Retry.WITH_CHANGE,
        (
            "go back to a checkpoint from before it, with a lower learning rate, gradient clipping, or bf16 "
            "in place of fp16",
            "look at the batch of that step for empty or broken samples",
        ),
        (
            Pattern(
                "loss is nan|loss is inf|invalid loss,|loss diverged|loss exploded",
                r"loss (?:is |(?:diverged|exploded)[ :(]{1,3})(?:nan|inf).{0,40}(?:stop|exit|abort|terminat)"
                r"|invalid loss, terminating training",
                0.96,
                fatal=True,
            ),
            # It says that it ends because of them, in whatever words.
            Pattern(
                "nan|=inf|: inf|is inf|= inf|finite|infinity",
                rf"{_BAD}.{{0,60}}{_OF}.{{0,60}}{_GIVES_UP}|{_OF}.{{0,60}}{_BAD}.{{0,60}}{_GIVES_UP}"
                rf"|{_GIVES_UP}.{{0,60}}{_OF}.{{0,60}}{_BAD}|{_GIVES_UP}.{{0,60}}{_BAD}.{{0,60}}{_OF}",
                0.96,
                fatal=True,
                unless=_GOES_ON,
            ),
            Pattern(
                "loss|grad",
                r"loss (?:exploded|diverged)\b[ :(]{1,3}(?:to )?(?:nan|inf)\b"
                r"|(?:loss|gradients?|grad norm)\b.{0,40}\b(?:is|are|became|becomes|went|contains?|returned"
                r"|has|have) .{0,20}\b(?:nan|inf(?:inite)?|not finite|non-?finite)\b",
                0.93,
                raised=True,
            ),
            Pattern(
                "nan|finite|infinite",
                r"(?:nan|non-?finite|infinite) (?:loss|gradient|grad norm|values? in loss)|nan or "
                r"inf(?:inite)? (?:loss|found|in)|nan and/or inf values",
                0.92,
                raised=True,
            ),
            Pattern("non-finite|nonfinite", r"non-?finite (?:loss|gradient|grad)", 0.92, raised=True),
            Pattern(
                "loss scale",
                r"minimum loss scale reached|loss scale already at minimum|loss scale .{0,30}below",
                0.96,
                raised=True,
            ),
            # What a program says of it as it gives up.
            Pattern(
                "nan detected|nan found|nan encountered",
                r"\bnan (?:detected|found|encountered)\b.{0,80}"
                r"\b(?:exiting|aborting|stopping|terminating|halting|quitting)\b",
                0.9,
            ),
            Pattern("found nan in", r"found nan in (?:local )?(?:forward loss|grad|the loss)", 0.96),
            Pattern("returned nan values", r"function '\w{1,80}' returned nan values", 0.95, raised=True),
            Pattern("nanlossduringtraining", weight=0.96, raised=True),
            Pattern("checknumerics", r"\binvalidargumenterror: .{0,400}checknumerics", 0.9, raised=True),
            Pattern(": tensor had ", r": tensor had (?:nan|inf)", 0.93, raised=True),
            Pattern("probability tensor contains", weight=0.93, raised=True),
            Pattern(
                "found invalid",
                r"found invalid values:|to satisfy the constraint .{0,160}but found invalid",
                0.9,
                raised=True,
                unless=r"lower_cholesky|integer",
            ),
            Pattern("invalid value (nan)", weight=0.95, raised=True),
            Pattern("floatingpointerror", r"floatingpointerror: .{0,120}\b(?:nan|inf(?:inite)?)\b", 0.93, raised=True),
            Pattern(
                "training",
                r"training (?:has )?(?:diverged|stopped).{0,40}\bnan\b|\bnan\b.{0,60}(?:stopping|aborting) "
                r"(?:the )?training",
                0.93,
                raised=True,
            ),
        ),
        neighbours=("code_error",),
        tell="the loss of the last hundred steps",
    ),
)
