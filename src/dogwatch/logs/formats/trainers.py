"""Training programs by the lines they print, one row each.

A pattern runs on the lower-cased line; its named groups say what the numbers are: `run` of `of` counts the
run, `epoch` of `epochs` epochs, `ended` the epoch that is behind, `inner` of `inners` what is inside an epoch, `s`
and `ms` the time that one step takes. Every `name: number` of the line is a metric.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from dogwatch.logs.interface import (
    EPOCH,
    EPOCH_DONE,
    INNER,
    PLAIN,
    RUN,
    SUITE,
    TRAINER,
    Format,
    FormatPlugin,
    number,
    pace,
    pairs,
)
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Metric, Phase, Step

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_N = r"\d{1,15}"
_F = r"\d{1,12}(?:\.\d{1,12})?"
_MM = r"\[[ ]{0,8}"
_HEAD = (
    r"(?:^|[:|][ ]{0,3}|[\])] |\dz | f )"  # where a line begins, or what a launcher or a container put before it ends
)


@dataclass(frozen=True, slots=True)
class Row:
    """One program's record: the literals in it, its pattern, the pattern of a step's time, its unit."""

    kind: str
    needles: tuple[str, ...]
    pattern: str
    time: str = ""
    unit: str = "steps"
    weight: int = TRAINER
    metrics: bool = True
    hint: str = ""
    phase: str = "training"


TRAINERS = (
    Row(
        "megatron",
        ("elapsed time per iter", "consumed samples"),
        rf"iteration[ ]{{1,12}}(?P<run>{_N})/[ ]{{0,12}}(?P<of>{_N}) \|",
        rf"elapsed time per iteration \(ms\): (?P<ms>{_F})",
        "iterations",
    ),
    Row(
        "nemo",
        ("training epoch ",),
        rf"training epoch \d{{1,9}}, iteration (?P<run>{_N})/(?P<of>{_N}) \|",
        rf"train_step_timing in s: (?P<s>{_F})",
        "iterations",
    ),
    Row("deepspeed", (", skipped=",), rf"step=(?P<run>{_N}), skipped="),
    Row("deepspeed timer", ("/global_step=",), rf"/micro_step=\d{{1,15}}/global_step=(?P<run>{_N})"),
    Row("deepspeed pipe", ("iter time (s):",), rf"steps: (?P<run>{_N}) loss:", rf"iter time \(s\): (?P<s>{_F})"),
    Row("torchtitan", ("[titan]",), r"step:[ ]{1,4}(?P<run>[\d,]{1,15})[ ]{1,4}loss:"),
    Row("torchtune", ("tokens_per_second_per_gpu",), rf"step (?P<run>{_N}) \|"),
    Row("nanogpt", (", mfu ",), rf"iter (?P<run>{_N}): loss", rf"time (?P<ms>{_F})ms", "iterations"),
    Row("nanogpt eval", (": train loss ",), rf"step (?P<run>{_N}): train loss", unit="iterations"),
    Row("nanogpt speedrun", ("train_time:",), rf"step:(?P<run>{_N})/(?P<of>{_N}) ", rf"step_avg:(?P<ms>{_F})ms"),
    Row(
        "llm.c",
        ("| norm ",),
        rf"step[ ]{{1,6}}(?P<run>{_N})/(?P<of>{_N}) \| (?:train )?loss",
        rf"\| (?P<ms>{_F}) ms \|",
    ),
    Row("llm.c log", (" trl:",), rf"s:(?P<run>{_N}) trl:"),
    Row("llm.c test", (" tel:",), rf"s:(?P<run>{_N}) tel:"),
    Row("fairseq", ("num_updates",), rf"(?<!')num_updates[\"']?[=:|][ ]{{0,2}}[\"']?(?P<run>{_N})", unit="updates"),
    Row(
        "mmengine",
        ("data_time:",),
        rf"epoch(?:\(train\))?[ ]{{1,6}}\[[ ]{{0,6}}(?P<epoch>{_N})\][ ]{{0,2}}{_MM}(?P<inner>{_N})/(?P<inners>{_N})\]",
        rf"[, ]time: (?P<s>{_F})",
        "iterations",
    ),
    Row(
        "mmengine validates",
        ("epoch(val)",),
        rf"epoch\(val\)[ ]{{1,6}}\[[ ]{{0,6}}(?P<ended>{_N})\][ ]{{0,2}}{_MM}{_N}/{_N}\][ ]{{1,8}}eta:",
        metrics=False,
        phase="validating",
    ),
    Row(
        "mmengine validated",
        ("epoch(val)",),
        rf"epoch\(val\)[ ]{{1,6}}\[[ ]{{0,6}}(?P<ended>{_N})\][ ]{{0,2}}{_MM}{_N}(?:/{_N})?\][ \t]{{1,8}}(?!eta:)",
    ),
    Row(
        "mmengine saved",
        tuple(f"saving checkpoint at {digit}" for digit in range(10)),
        rf"saving checkpoint at (?P<ended>{_N}) epochs",
        metrics=False,
        phase="checkpointing",
    ),
    Row(
        "mmengine iterations",
        ("data_time:",),
        rf"iter(?:\(train\))?[ ]{{1,6}}{_MM}(?P<run>{_N})/(?P<of>{_N})\]",
        rf"[, ]time: (?P<s>{_F})",
        "iterations",
    ),
    Row("detectron2", ("total_loss:",), rf"iter: (?P<run>{_N})[ ]", rf"(?<![a-z_])time: (?P<s>{_F})", "iterations"),
    Row(
        "metric_logger",
        ("] eta: ", "]  eta: "),
        rf"epoch: \[(?P<epoch>{_N})(?:/(?P<epochs>{_N}))?\][ ]{{0,4}}{_MM}(?P<inner>{_N})/(?P<inners>{_N})\]",
        rf"(?<![a-z_])time: (?P<s>{_F})",
        "iterations",
    ),
    Row(
        "timm",
        ("%)]",),
        rf"train(?:ing)?(?: epoch)?:?[ ]{{1,6}}(?P<epoch>{_N})(?:/(?P<epochs>{_N}))? (?:\([ ]{{0,3}}\d{{1,3}}%\) )?"
        rf"{_MM}(?P<inner>{_N})/[ ]{{0,8}}(?P<inners>{_N})[ ]{{0,2}}\(",
        unit="batches",
    ),
    Row(
        "swin",
        ("train: [",),
        rf"train: \[(?P<epoch>{_N})/(?P<epochs>{_N})\]\[(?P<inner>{_N})/(?P<inners>{_N})\]",
        rf"\ttime (?P<s>{_F})",
    ),
    Row("maxtext", ("completed step:",), rf"completed step: (?P<run>{_N}), seconds: (?P<s>{_F})"),
    Row(
        "marian",
        (" : up. ",),
        rf"ep\. (?P<epoch>{_N}) : up\. (?P<run>{_N}) : (?:sen\. [\d,]{{1,20}} : cost (?P<loss>{_F}))?",
        unit="updates",
    ),
    Row(
        "verl",
        ("step:",),
        rf"step:(?P<run>{_N}) - (?=[a-z_]{{1,40}}[/:(])",
        rf"time_per_step:(?P<s>{_F})",
        weight=SUITE,
    ),
    Row(
        "build_nanogpt",
        tuple(f" train {digit}" for digit in range(10)),
        rf"^(?P<run>{_N}) train {_F}\s{{0,4}}$",
        hint=r" train \d{1,4}\.\d",
    ),
    Row(
        "homework",
        ("[ train | ", "[ valid | "),
        rf"\[ (?:train|valid) \| (?P<epoch>{_N})/(?P<epochs>{_N}) \]",
        weight=PLAIN,
    ),
    Row(
        "ultralytics",
        ("g    ",),
        rf"(?<![\w./])(?P<epoch>{_N})/(?P<epochs>{_N})\s{{2,12}}[\d.]{{1,8}}[gm]\s{{2,12}}[\d.]{{1,12}}\s",
        hint=r"g {4,12}\d{1,4}[.\d]",
        metrics=False,
    ),
    Row("habitat", ("\tfps: ",), rf"update: (?P<run>{_N})\tfps: ", unit="updates"),
    Row("lerobot", ("updt_s:",), r"step:(?P<run>[\d.]{1,12}[km]?) smpl:"),
    Row("olmo", ("[step=",), rf"\[step=(?P<run>{_N})/(?P<of>{_N})"),
    Row("espnet", ("epoch:train:",), rf"(?P<epoch>{_N})epoch:train:{_N}-(?P<inner>{_N})batch"),
    Row("espnet begun", ("epoch started",), rf"(?<![\d/])(?P<epoch>{_N})/(?P<epochs>{_N})epoch started", metrics=False),
    Row("tensorflow", (", step = ",), rf"loss = [-\w.+]{{1,24}}, step = (?P<run>{_N})"),
    Row(
        "tensorflow saved",
        ("saving checkpoints for ",),
        rf"saving checkpoints for (?P<run>{_N}) into",
        metrics=False,
        phase="checkpointing",
    ),
    Row("clu", ("logging_writer.py:",), rf"logging_writer\.py:\d{{1,6}}\] \[(?P<run>{_N})\] "),
    Row("cleanrl", (", episodic_return=",), rf"global_step=(?P<run>{_N}), episodic_return="),
    Row(
        "basicsr",
        (", lr:(",),
        rf"\[epoch:[ ]{{0,8}}(?P<epoch>{_N}), iter:[ ]{{0,12}}(?P<run>[\d,]{{1,19}}), lr:\(",
        unit="iterations",
    ),
    Row(
        "basicsr timed",
        (", time (data):",),
        rf"epoch:[ ]{{0,8}}{_N}, iter:[ ]{{0,12}}(?P<run>[\d,]{{1,19}}), ",
        rf", time \(data\): (?P<s>{_F})",
        "iterations",
    ),
    Row(
        "paddleseg",
        ("[train] epoch",),
        rf"\[train\] epoch:? {_N}, iter:? (?P<run>{_N})/(?P<of>{_N})",
        rf"batch_cost: (?P<s>{_F})",
        "iterations",
        SUITE,
    ),
    Row(
        "nerfstudio",
        ("%)  ",),
        rf"(?<![\w.])(?P<run>{_N}) \(\d{{1,3}}\.\d{{1,4}}%\)[ ]{{2,30}}{_F} m?s[ ]",
        hint=r"\d \(\d{1,3}\.\d{1,4}%\)  ",
        metrics=False,
    ),
    Row(
        "snakemake",
        (" steps (",),
        rf"(?<![\w.])(?P<run>{_N}) of (?P<of>{_N}) steps \(\d{{1,3}}(?:\.\d{{1,3}})?%\) done",
        metrics=False,
        phase="running",
    ),
    Row(
        "optuna",
        ("finished with value: ", " pruned."),
        rf"trial (?P<run>{_N}) (?:finished with value: |pruned\.)",
        unit="trials",
    ),
    Row(
        "chinese",
        ("轮",),
        rf"(?:第 ?|轮[次数]?[ :：]{{0,3}})(?P<epoch>{_N}) ?/ ?(?P<epochs>{_N})",
        unit="batches",
        weight=PLAIN,
    ),
    Row(
        "xgboost",
        tuple(f"{digit}]\t" for digit in range(10)),
        rf"{_HEAD}\[(?P<run>{_N})\]\t[\w' -]{{1,40}}:",
        unit="iterations",
        hint=r"\[\d{1,15}\]\t[\w' -]{1,40}:",
    ),
    Row("catboost", ("\tlearn: ",), rf"(?<![\w.])(?P<run>{_N}):\tlearn: ", unit="iterations"),
    Row(
        "stable_baselines",
        ("total_timesteps",),
        rf"total_timesteps[ ]{{1,20}}\|[ ]{{1,20}}(?P<run>{_N})[ ]{{1,20}}\|",
        unit="timesteps",
    ),
    Row("stylegan", ("sec/tick",), rf"tick {_N}[ ]{{1,12}}kimg (?P<run>{_F})[ ]", unit="kimg"),
    Row(
        "darknet",
        (" avg loss, ", " avg, "),
        rf"(?<![\w.:])(?P<run>{_N}): [\d.]{{1,20}}, [\d.]{{1,20}} avg",
        unit="iterations",
    ),
    Row(
        "colbert",
        tuple(f"[{month} " for month in _MONTHS),
        rf"^\[[a-z]{{3}} \d{{2}}, \d\d:\d\d:\d\d\] (?P<run>{_N}) \d{{1,9}}\.\d{{1,24}}\s{{0,4}}$",
        hint=r"\] \d{1,15} \d{1,9}\.\d",
    ),
    Row(
        "fastai",
        tuple(f"  {minute:02d}:" for minute in range(60)),
        rf"{_HEAD}(?P<epoch>{_N})[ ]{{4,12}}\d{{1,9}}\.\d{{6}}[ ]{{2,12}}"
        r"[\d. ]{6,240}[ ]{2}\d\d:\d\d(?::\d\d)?\s{0,8}$",
        hint=r"\d\.\d{6} {2,12}[\d. ]{6,240} {2}\d\d:\d\d",
        metrics=False,
    ),
    Row(
        "spacy",
        ("    0.", "    1.00"),
        rf"{_HEAD}[ ]{{0,6}}(?P<epoch>{_N})[ ]{{1,10}}(?P<run>{_N})[ ]{{2,24}}\d{{1,12}}\.\d\d[ ]{{2,24}}"
        r"\d{1,12}\.\d\d[ ]{2,24}[\d. ]{0,240}[01]\.\d\d\s{0,8}$",
        hint=r"\.\d\d {2,24}\d{1,12}\.\d\d {2,24}[\d. ]{0,240}[01]\.\d\d\s",
        metrics=False,
    ),
    Row(
        "rllib",
        ("running  ", "running |", "terminated  ", "terminated |"),
        rf"^[^\n]{{0,160}}?(?:running|terminated) [ |]{{1,12}}(?:[^\n]{{0,400}}?[ |]{{2,40}})??"
        rf"(?P<run>{_N})[ |]{{2,40}}{_F}[ |]{{2,40}}{_N}[ |]{{2,40}}-?{_F}",
        unit="iterations",
        hint=r"(?:running|terminated) [ |][^\n]{0,440}\d[ |]{2,40}\d[\d.]{0,24}[ |]{2,40}\d",
        metrics=False,
    ),
    Row(
        "rllib result",
        ("training_iteration: ",),
        rf"training_iteration: (?P<run>{_N})\s{{0,4}}$",
        unit="iterations",
        hint=r"training_iteration: \d",
    ),
    Row(
        "dreamer",
        (" / ",),
        rf"{_HEAD}\[(?P<run>{_N})\] [a-z][\w/]{{1,40}} -?\d[\d.e+-]{{0,12}} / [a-z][\w/]{{1,40}} -?\d",
        hint=r"\] [a-z][\w/]{1,40} -?\d[\d.e+-]{0,12} / [a-z]",
        metrics=False,
    ),
    Row(
        "gromacs",
        ("writing checkpoint, step ",),
        rf"writing checkpoint, step (?P<run>{_N}) at ",
        metrics=False,
        phase="running",
    ),
    Row(
        "quantum_espresso",
        ("computing kpt #:",),
        rf"computing kpt #:[ ]{{1,8}}(?P<run>{_N})",
        unit="items",
        metrics=False,
        phase="running",
    ),
    Row(
        "ase",
        tuple(
            f"{name}:"
            for name in ("bfgs", "lbfgs", "fire", "fire2", "mdmin", "gpmin", "bfgslinesearch", "goodoldquasinewton")
        ),
        rf"(?<![a-z])[a-z0-9]{{4,24}}:[ ]{{1,8}}(?P<run>{_N})\*?[ ]{{1,4}}\d\d:\d\d:\d\d[ ]{{1,20}}-?\d{{1,12}}\.\d",
        hint=r":[ ]{1,8}\d{1,15}\*?[ ]{1,4}\d\d:\d\d:\d\d ",
        metrics=False,
        phase="running",
    ),
    Row(
        "namd",
        ("energy: ",),
        rf"(?<![a-z])energy:[ ]{{1,12}}(?P<run>{_N})[ ]{{2,20}}-?\d{{1,12}}\.\d",
        metrics=False,
        phase="running",
    ),
    Row("catalyst", (" * epoch",), rf"(?<![\w./])(?P<epoch>{_N})/(?P<epochs>{_N}) \* epoch"),
    Row(
        "disentanglement",
        ("]  loss",),
        rf"(?<![\w.])\[(?P<epoch>{_N}):(?P<run>\d{{3,15}})\][ ]{{2}}loss\w{{0,40}}=",
        weight=PLAIN,
    ),
    Row(
        "summed up",
        ("loss after ", "error after ", "accuracy after "),
        rf"(?:loss|error|accuracy) after (?P<ended>{_N}) epochs?\b",
        weight=PLAIN,
    ),
    Row(  # not the time `for 1 epoch: 12.3 s`
        "nth",
        (" epoch:",),
        rf"(?:^|(?<!for)(?<!per)[\s\]|:])(?P<epoch>{_N}) epoch:[ \t]",
        weight=PLAIN,
        hint=r"\d epoch:[ \t]",
    ),
    Row("tally", (", correct:",), rf"total: (?P<run>(?P<of>{_N})), correct: {_N}", unit="items", weight=PLAIN),
    Row(
        "inspect_ai", ("% | samples:",), rf"steps: [ ]{{0,6}}(?P<run>{_N})/(?P<of>{_N})[ ]{{1,4}}\d{{1,3}}% \| samples:"
    ),
)


def _read(pattern: re.Pattern[str], time: re.Pattern[str] | None, row: Row, line: str) -> list[LogEvent]:
    low = line.lower()
    found = pattern.search(low) if any(needle in low for needle in row.needles) else None
    if not found:
        return []
    said = found.groupdict()
    timed = time.search(low) if time else None
    times = {**said, **(timed.groupdict() if timed else {})}
    rate = pace(times.get("s")) or pace(times.get("ms"), 1000.0)
    marks: list[LogEvent] = []
    for done, total, unit, rank in (
        ("run", "of", row.unit, RUN),
        ("inner", "inners", row.unit, INNER),
        ("epoch", "epochs", "epochs", EPOCH),
        ("ended", "epochs", "epochs", EPOCH_DONE),
    ):
        if said.get(done):
            total_said = number(said[total]) if said.get(total) else None
            marks.append(
                Step(_count(said[done]), total_said or None, unit, rate if rank in (RUN, INNER) else None, rank)
            )
    marks.append(Phase(row.phase))
    if said.get("loss"):
        marks.append(Metric("loss", float(said["loss"])))
    return [*marks, *(pairs(line[found.end() :]) if row.metrics else [])]


def _count(text: str) -> float:
    """A count with commas, or with the k or m that some programs shorten it by."""
    try:
        return number(text if text[-1] != "m" else text[:-1] + "M")
    except ValueError:
        return 0.0


def _row(row: Row) -> Format:
    pattern = lazily(row.pattern, re.ASCII)
    time = lazily(row.time, re.ASCII) if row.time else None
    literal = re.match(r"[a-z][a-z_ ]{2,}", row.pattern)  # a hint is worth asking only where it starts with a literal
    hint = (row.hint or row.pattern).encode() if literal or row.hint else b""
    needles = tuple(needle.encode() for needle in row.needles)
    read = partial(_read, pattern, time, row)
    return Format(
        row.kind,
        needles,
        read,
        hint=hint,
        begins="(?P<inners>" in row.pattern,
        family=row.kind.split()[0] if row.weight else "plain",
        weight=row.weight,
    )


rows = tuple(map(_row, TRAINERS))

PLUGIN = FormatPlugin("trainers", rows)
