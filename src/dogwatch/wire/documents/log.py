"""What files say by themselves: a log, a series, runs that were replayed, a file that is checked."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.job import CounterDocument, SpanDocument
from dogwatch.wire.documents.meaning import doc


class LogLineDocument(TypedDict):
    """A line of the log that shows why."""

    line: Annotated[int | None, doc("counted from 1 by newlines")]
    text: Annotated[str, doc("the line")]


class LogDiagnosisDocument(TypedDict):
    """Why a log shows that its job failed."""

    cause: Annotated[str, doc("as in a diagnosis")]
    confidence: Annotated[float, doc("how often an answer like this is right")]
    evidence: Annotated[list[LogLineDocument], doc("the lines that show it")]
    advice: Annotated[list[str], doc("what to do")]


class LogDocument(TypedDict):
    """`dogwatch read FILE… --json` prints one object per file and line; a file that cannot be read has none, a sentence
    on stderr instead, and exit code 3. Everything here is what the log says, no more: it does not know whether the job
    still runs."""

    file: Annotated[str, doc('the file as it was named; `"-"` for standard input', "train.log")]
    format: Annotated[
        str | None,
        doc(
            'what wrote the log: a trainer, a progress bar, `"plain"` for words anyone prints, `"print"` and `"table"` '
            "for lines and columns known by their structure alone",
            "megatron",
        ),
    ]
    progress: Annotated[
        CounterDocument | None,
        doc(
            "the run's own counter. `step` is the number that the log shows; `fraction` is finer where it can be: in "
            "the middle of epoch 3 of 10 it is 0.25",
            {"step": 300, "total": 1000, "unit": "steps", "fraction": 0.3},
        ),
    ]
    rate: Annotated[float | None, doc("units per second: as the log states it, else by its clock", 2.5)]
    metrics: Annotated[
        dict[str, float],
        doc(
            "the newest value of each metric by its name as printed, and those that most logs have also as `loss`, "
            "`val_loss`, `accuracy`, `val_accuracy`, `learning_rate`, `grad_norm`, `perplexity`, `reward`",
            {"loss": 0.34},
        ),
    ]
    phase: Annotated[
        str | None,
        doc(
            "what the log was last about: `starting`, `compiling`, `training`, `validating`, `evaluating`, "
            "`checkpointing`, `exporting`, `serving`, `running`, `finished`; always `finished` where `ending` is; null "
            "where the log does not say, and where a log that failed only says `finished`",
            "training",
        ),
    ]
    ending: Annotated[str, doc("`finished`, `failed`, `cut` (it stops in mid-run) or `unknown`", "cut")]
    eta: Annotated[
        SpanDocument | None,
        doc("what was left at the last line of the log; null where the log has ended, has no times or no total"),
    ]
    diagnosis: Annotated[LogDiagnosisDocument | None, doc("why it failed; null unless it failed")]


class SeriesDocument(TypedDict):
    """`dogwatch eta --csv FILE --json` prints one object. All four are null where nothing reliable can be said."""

    remaining: Annotated[float | None, doc("seconds still to go at `--now`", 951.0)]
    low: Annotated[float | None, doc("the beginning of the interval that holds the truth 9 times in 10", 929.3)]
    high: Annotated[float | None, doc("its end", 999.5)]
    confidence: Annotated[
        float | None,
        doc("how often it does: 0.9, less when the counter has moved only once, 1 when nothing is left", 0.9),
    ]


class PredictorDocument(TypedDict):
    """How good the answers of one predictor were."""

    within_10_percent: Annotated[float | None, doc("share of runs; silence is a miss", 0.69)]
    p90_error: Annotated[float | None, doc("share of the true time left", 0.49)]
    silent: Annotated[int, doc("runs without an answer", 0)]


class IntervalDocument(TypedDict):
    """How good our interval was."""

    coverage: Annotated[float | None, doc("share of runs it held", 0.91)]
    width: Annotated[float | None, doc("median, as a share of the true time left", 0.2)]


class MomentDocument(TypedDict):
    """The answers at one share of the runs' time."""

    share: Annotated[float, doc("of each run's time", 0.1)]
    runs: Annotated[int, doc("runs whose counter had moved by then", 42)]
    predictors: Annotated[dict[str, PredictorDocument], doc("by name (`dogwatch` is ours)")]
    interval: Annotated[IntervalDocument, doc("ours")]


class LeftOutDocument(TypedDict):
    """A run that was not replayed."""

    file: Annotated[str, doc("which")]
    why: Annotated[str, doc("why not")]


class BacktestDocument(TypedDict):
    """`dogwatch backtest FILE… --json` (or `--csv FILE…`) prints one object."""

    runs: Annotated[int, doc("how many were replayed")]
    moments: Annotated[list[MomentDocument], doc("one object per share of the runs' time")]
    left_out: Annotated[list[LeftOutDocument], doc("those that were not")]


class FileDocument(TypedDict):
    """`dogwatch check` prints one document per line and file."""

    file: Annotated[str, doc("the file")]
    format: Annotated[str | None, doc("what it is")]
    verdict: Annotated[str, doc("`intact`, `damaged`, `cannot tell`")]
    why: Annotated[str, doc("what is wrong, or why it could not be checked")]
    size: Annotated[int | None, doc("its size")]
    records: Annotated[int | None, doc("its lines or records, where that is known")]
