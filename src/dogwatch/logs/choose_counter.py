"""Which of a log's counters is the job's progress; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dogwatch.logs.interface import (
    AGAIN,
    BAR,
    BEGUN,
    EPOCH,
    EPOCH_DONE,
    EXACT,
    FROM_ZERO,
    INNER,
    OWNER,
    PART,
    PERCENT,
    RUN,
    SECONDARY,
    STEPS,
    TRAINER,
)
from dogwatch.model import Resumed, Step

STALE = 65536  # bytes of log without a word from a counter, while its equals spoke
FEW = 10  # steps, which an epoch has at least
LONGER = 4  # a bar that took so many times the other's log was the work, and the other came after it


@dataclass(frozen=True, slots=True)
class Slot:
    """The newest record of one counter: where in the log it stood, where the first one did, and how much
    the format that read it knows about the log."""

    at: int
    step: Step
    weight: int = 0
    name: str = ""
    first: int = 0


@dataclass(frozen=True, slots=True)
class Known:
    """What else the log has said: totals by unit, the step it resumed from and where it said so, where it
    claimed to be finished, where it last said that it serves."""

    totals: Mapping[str, float]
    resumed: tuple[int, Resumed] | None = None
    finished: int | None = None
    serving: int = -1


NOTHING = Known({})


def choose_counter(slots: Sequence[Slot], known: Known = NOTHING) -> Slot | None:
    """The owner's counters before ours; the run's before an epoch's, with a total before without; epochs
    are refined by the counter inside them, and a validation counts only where there is nothing else."""
    owned = [slot for slot in slots if slot.step.rank >= OWNER]
    if owned:
        slots = [replace(slot, step=replace(slot.step, rank=slot.step.rank - OWNER)) for slot in owned]
        best = _best(slots, NOTHING)
        return replace(best, step=replace(best.step, rank=best.step.rank + OWNER)) if best else None
    if len(slots) == 1 and slots[0].step.rank == RUN and slots[0].step.total and slots[0].at > known.serving:
        return _resumed(slots[0], known)  # most logs have one counter; what follows would find nothing else
    served = [slot for slot in slots if slot.at > known.serving or slot.weight >= TRAINER]  # starting up is no progress
    best = _best(served, known)
    return _resumed(best, known) if best else None


def _best(slots: Sequence[Slot], known: Known) -> Slot | None:
    of: dict[int, list[Slot]] = {rank: [] for rank in _RANKS}
    for slot in slots:
        if slot.step.rank in of:
            of[slot.step.rank].append(slot)
    if of[EXACT]:
        return max(of[EXACT], key=_newest)  # it trains to a target: what the configuration allows is no total
    work = [slot for slot in of[INNER] if not slot.name.startswith(BEGUN)]
    begun = {slot.name.removeprefix(BEGUN): slot for slot in slots if slot.name.startswith(BEGUN)}
    epochs = of[EPOCH] + of[EPOCH_DONE]
    beside = epochs + of[PART]
    runs = [slot for slot in of[RUN] if slot.step.total != 1 or not work]  # "Episode 1/1" is no measure of its inside
    totals = {known.totals.get("steps"), *(slot.step.total for slot in runs if _is_long(slot))}
    stated = [slot for slot in work if slot.step.total and slot.step.total in totals]
    runs = [_lent(_latest(slot, work), work) for slot in runs]
    run = _run(runs + stated, work, beside, known, begun)
    epoch = _epoch(epochs, work, begun, known)
    if run and epoch and not run.step.total:
        run = _multiplied(run, epoch, work)
    spans = _has_total(epoch) and epoch is not None and epoch.step.total != 1
    if run and epoch and spans and not run.weight and _is_inside(run, epoch):
        return _refined(epoch, [*work, replace(run, step=replace(run.step, rank=INNER))], begun, bool(of[FROM_ZERO]))
    if run and _has_total(run) and not (spans and _is_full(run) and epoch and not _is_full(epoch)):
        return run
    if run and run.weight >= TRAINER and all(slot.step.total is None for slot in epochs):
        return run
    if epoch and not spans and (outer := _outer(epoch, work, begun)):
        return outer
    if epoch and spans:
        return _refined(epoch, work, begun, bool(of[FROM_ZERO]))
    if run:
        return run
    if epoch and epoch.step.total is None and not (epoch.step.done == 0 and _beside(epoch, work)):
        return _refined(epoch, work, begun, bool(of[FROM_ZERO]))
    bar = _bar(work, begun, known)
    bar = (_round(bar, work, begun) or bar) if bar else None
    again = max((slot for slot in of[AGAIN] if slot.first < slot.at), key=_newest, default=None)
    again = _with_total(again, known) if again else None
    inside = _open(work)
    if epoch and epoch.step.rank == EPOCH_DONE and inside and epoch.at > inside.at:
        return epoch
    if inside and epoch and (epoch.step.total == 1 or (epoch.step.total is None and epoch.step.done == 0)):
        inside = _with_total(inside, known)  # the steps of the only epoch, or of the first, are those of the run
    rest = (bar, _part(of[PART], known), max(of[PERCENT], key=_newest, default=None), inside, epoch, again)
    found = next((slot for slot in rest if slot), None)
    return found or max(of[SECONDARY], key=_newest, default=None)


_RANKS = (EXACT, RUN, EPOCH, EPOCH_DONE, INNER, PART, PERCENT, AGAIN, SECONDARY, FROM_ZERO)


def _newest(slot: Slot) -> tuple[int, int, float, float, str, float, int]:
    """Complete, so that the choice never depends on the order in which the counters were met."""
    step = slot.step
    return (slot.at, slot.weight, step.total or 0.0, step.done, step.unit, step.rate or 0.0, step.rank)


def _heaviest(slot: Slot) -> tuple[int, tuple[int, int, float, float, str, float, int]]:
    return (slot.weight, _newest(slot))


def _has_total(slot: Slot | None) -> bool:
    return slot is not None and bool(slot.step.total)


def _is_full(slot: Slot) -> bool:
    return slot.step.total is not None and slot.step.done >= slot.step.total


def _is_long(slot: Slot) -> bool:
    """Whether a total is so large that a bar has the same by no chance."""
    return slot.step.unit in STEPS and (slot.step.total or 0.0) > 50


def _with_total(slot: Slot, known: Known, others: Sequence[Slot] = ()) -> Slot:
    """The slot with a total that belongs to it: its own, one of its equals', or that of the configuration."""
    if slot.step.total:
        return slot
    fit = [o for o in others if o.step.total and o.step.total >= slot.step.done]
    total = max(fit, key=_newest).step.total if fit else None
    if total is None:
        stated = known.totals.get("steps" if slot.step.unit in STEPS else slot.step.unit)
        total = stated if stated and stated >= slot.step.done else None
    return replace(slot, step=replace(slot.step, total=total)) if total else slot


def _run(
    runs: Sequence[Slot], work: Sequence[Slot], epochs: Sequence[Slot], known: Known, begun: Mapping[str, Slot]
) -> Slot | None:
    """The counter of the whole run. Counters of steps are one count, said by the format that knows most;
    a bar that agrees with it and has a total says it better."""
    later = max((slot.at for slot in (*runs, *work, *epochs)), default=0)
    runs = [run for run in runs if run.step.done or run.step.total or run.at == later]  # nought, and then silence
    others = [slot for slot in runs if slot.step.unit not in STEPS]
    steps = [slot for slot in runs if slot.step.unit in STEPS and not _begins_again(slot, others, epochs)]
    found: list[Slot] = []
    if steps:
        best = max(steps, key=_heaviest)
        best = _with_total(best, NOTHING, [slot for slot in steps if best.at - slot.at <= STALE])
        if not best.step.total:
            bars = [slot for slot in work if all(slot.at != epoch.at for epoch in epochs)]
            bars = [slot for slot in bars if not _is_share(slot, known)]
            bar = _agreeing(best, bars) or (None if epochs else _ahead(best, bars, begun))
            if bar and bar.at >= best.at:
                best = bar
            elif bar:
                best = replace(best, step=replace(best.step, total=bar.step.total))
        found.append(_with_total(best, known))
    found += [_with_total(slot, known) for slot in others]
    if not found:
        return None
    newest = max(slot.at for slot in found)
    fresh = [slot for slot in found if newest - slot.at <= STALE]
    totalled = [slot for slot in fresh if slot.step.total] or [slot for slot in found if slot.step.total] or fresh
    moving = [slot for slot in totalled if not _is_full(slot)] or totalled
    return max(moving, key=lambda slot: (slot.weight, slot.step.total or 0.0, _newest(slot)))


def _begins_again(run: Slot, others: Sequence[Slot], epochs: Sequence[Slot]) -> bool:
    """Whether the steps are those of one episode, trial or epoch: those of all cannot be fewer than these are, and are
    hardly fewer than a few in each epoch."""
    if run.step.total:
        return False
    if any(run.step.done + 1 < slot.step.done for slot in others):
        return True
    open_ended = (slot for slot in epochs if not slot.step.total and 0 < run.at - slot.at <= STALE)
    return any(run.step.done < FEW * (slot.step.done - 1) for slot in open_ended)


def _latest(run: Slot, bars: Sequence[Slot]) -> Slot:
    """What is no step with the newest word of a bar that counts the same: as many, and at least as far."""
    step = run.step
    if not step.total or step.unit in STEPS:
        return run
    fit = [bar for bar in bars if bar.step.total == step.total and bar.step.done >= step.done and bar.at > run.at]
    bar = max(fit, key=_newest, default=None)
    return replace(run, at=bar.at, step=replace(step, done=bar.step.done, rate=bar.step.rate)) if bar else run


def _lent(run: Slot, bars: Sequence[Slot]) -> Slot:
    """What is no step, as a trial or a round, with the total of the bar that counts the same."""
    step = run.step
    if step.total or step.unit in STEPS or step.done < 2:
        return run
    fit = [bar for bar in bars if bar.step.total and 0 <= bar.step.done - step.done <= 1]
    bar = max(fit, key=_newest, default=None)
    if bar is None:
        return run
    done = max(step.done, bar.step.done) if bar.at >= run.at else step.done
    return replace(run, at=max(run.at, bar.at), step=replace(step, done=done, total=bar.step.total, rate=bar.step.rate))


def _is_share(bar: Slot, known: Known) -> bool:
    """Whether the stated steps are those of several such bars: it counts an epoch."""
    steps, total = known.totals.get("steps"), bar.step.total
    return bool(steps and total and steps > total and steps % total == 0)


def _agreeing(run: Slot, bars: Sequence[Slot]) -> Slot | None:
    """A bar with a total that counts what `run` counts: the two stand within a tenth, or fifty steps."""
    done = run.step.done
    fit = [
        bar
        for bar in bars
        if bar.step.total
        and bar.step.unit in STEPS
        and bar.step.total >= done
        and abs(bar.step.done - done) <= max(50.0, 0.1 * done)
        and bar.step.total > 50
    ]
    return max(fit, key=_newest, default=None)


def _ahead(run: Slot, bars: Sequence[Slot], begun: Mapping[str, Slot]) -> Slot | None:
    """The bar of the whole run that was there when the count was said, as when a checkpoint was saved, and went on."""
    fit = [
        bar
        for bar in bars
        if bar.weight == BAR
        and (bar.step.total or 0.0) > 50
        and bar.step.unit in STEPS
        and _start(bar, begun) < run.at < bar.at
        and bar.step.done >= run.step.done
    ]
    return max(fit, key=_newest, default=None)


def _multiplied(run: Slot, epoch: Slot, work: Sequence[Slot]) -> Slot:
    """The run's steps with the total that epochs times the steps of one make, where the numbers agree."""
    inside = max((slot for slot in work if slot.step.total), key=_newest, default=None)
    if inside is None or not inside.step.total or not epoch.step.total:
        return run
    for before in (epoch.step.done - 1, epoch.step.done):
        if before >= 0 and abs(before * inside.step.total + inside.step.done - run.step.done) <= 2:
            return replace(run, step=replace(run.step, total=epoch.step.total * inside.step.total))
    return run


def _epoch(epochs: Sequence[Slot], work: Sequence[Slot], begun: Mapping[str, Slot], known: Known) -> Slot | None:
    """The newest word on epochs, with the total that any of them or the configuration gives, or that of
    the bar which names them and never began again while they passed."""
    if not epochs:
        return None
    newest = max(epochs, key=_newest)
    counted = [slot for slot in epochs if slot.step.done and newest.at - slot.at <= STALE]
    best = max(counted, key=_newest, default=newest)
    best = newest if _is_over(best) else best
    # A callback that counts from nought names the epoch which was opened as one more; a bar that is drawn once more has
    # not counted the one that ended.
    ahead = (slot for slot in counted if slot.step.total and slot.step.done == best.step.done + 1)
    best = next((slot for slot in ahead if not best.step.total or slot.step.rank == EPOCH_DONE), best)
    best = _with_total(best, known, epochs)
    bar = next((bar for bar in work if bar.at == best.at and _counts_epochs(bar, best, begun)), None)
    if best.step.total is None and bar and best.step.done >= 2:
        step = replace(bar.step, unit="epochs", rank=EPOCH_DONE, printed=best.step.done)
        return replace(best, step=step)
    return best


def _is_over(epoch: Slot) -> bool:
    """Whether that was the last epoch, which has number 14 of 15 where the first is nought."""
    return epoch.step.rank == EPOCH_DONE and epoch.step.total is not None and epoch.step.done + 1 >= epoch.step.total


def _outer(epoch: Slot, work: Sequence[Slot], begun: Mapping[str, Slot]) -> Slot | None:
    """A bar whose steps are the epochs that other lines name: it never began again while they passed, or
    had not ended when the first of them did."""
    ended = epoch.step.rank == EPOCH_DONE
    for bar in work:
        unfinished = ended and bar.at < epoch.at and not _is_full(bar)
        if _counts_epochs(bar, epoch, begun) and (epoch.step.done >= 2 or unfinished):
            return bar
    return None


def _counts_epochs(bar: Slot, epoch: Slot, begun: Mapping[str, Slot]) -> bool:
    return bool(bar.step.total) and _once(bar, begun) and bar.step.done - epoch.step.done in (0, 1)


def _is_inside(run: Slot, epoch: Slot) -> bool:
    """Whether `step 40/614` under `Epoch 6/10` are the steps of that epoch: those of the run would be as far as the
    epochs are, and epochs are of equal length."""
    step, total, epochs = run.step, run.step.total, epoch.step.total
    if not total or not epochs or step.unit not in STEPS or abs(run.at - epoch.at) > STALE:
        return False
    low, high = (epoch.step.done - 1) / epochs, (epoch.step.done + 1) / epochs
    return total % epochs != 0 or not low - 0.02 <= step.done / total <= high + 0.02


def _beside(epoch: Slot, work: Sequence[Slot]) -> bool:
    """Whether the same line counts something without a total, which in epoch nought is the run's count."""
    return any(slot.at == epoch.at and not slot.step.total for slot in work)


def _refined(epoch: Slot, work: Sequence[Slot], begun: Mapping[str, Slot], from_zero: bool) -> Slot:
    """(epoch - 1 + batch / batches) where both are known and the batch belongs to that epoch; the number
    that is printed stays as it is. `Epoch 3 (3/90)` tells the epoch twice, and no batch."""
    step = epoch.step
    if step.printed is not None:
        return epoch
    twice = [slot for slot in work if slot.step.total == step.total and _counts_epochs(slot, epoch, begun)]
    inner = [slot for slot in work if slot.step.total and slot not in twice]
    inside = max(inner, key=_newest, default=None)
    part = rate = None
    if inside and inside.step.total and inside.at >= epoch.at:
        part = min(1.0, inside.step.done / inside.step.total)
        rate = inside.step.rate / inside.step.total if inside.step.rate else None
    closed = step.rank == EPOCH_DONE and not (inside and inside.at == epoch.at)
    if inside is None and not from_zero:
        return epoch
    whole = step.done if closed or from_zero else step.done - 1
    if closed and from_zero:
        whole = step.done + 1
    done = max(0.0, whole + (part or 0.0))
    done = round(min(step.total, done) if step.total else done, 6)
    at = max(epoch.at, inside.at) if inside else epoch.at
    return replace(epoch, at=at, step=replace(step, done=done, printed=step.done, rate=step.rate or rate))


def _bar(work: Sequence[Slot], begun: Mapping[str, Slot], known: Known) -> Slot | None:
    """Of bars that nothing spans: the outermost that moves; when all are full, the last, unless it only
    came after the work. What began after the run claimed to be finished is not the run."""
    bars = [slot for slot in work if slot.step.total]
    if known.finished is not None:
        bars = [slot for slot in bars if _start(slot, begun) <= known.finished] or bars
    if not bars:
        return None
    newest = max(slot.at for slot in bars)
    fresh = [slot for slot in bars if newest - slot.at <= STALE]
    moving = [slot for slot in fresh if not _is_full(slot)]
    if moving:
        outer = min(moving, key=lambda slot: (_start(slot, begun), -(slot.step.total or 0.0), slot.name))
        after = [slot for slot in moving if outer.step.done and _start(slot, begun) > outer.at and _once(slot, begun)]
        longer = [
            slot for slot in after if (slot.step.total or 0.0) > (outer.step.total or 0.0)
        ]  # it was left unfinished
        return max(longer, key=_newest, default=outer)
    last = max(bars, key=_newest)
    span = max(1, last.at - _start(last, begun))
    for slot in sorted(bars, key=_newest, reverse=True):
        if _once(slot, begun) and slot.at - _start(slot, begun) >= LONGER * span:
            return slot
    return last


def _round(bar: Slot, work: Sequence[Slot], begun: Mapping[str, Slot]) -> Slot | None:
    """The bar without a total that was there before this one began, and goes on while this one begins again."""
    if _once(bar, begun):
        return None
    since = begun[bar.name].first
    fit = [slot for slot in work if not slot.step.total and slot.step.done >= 2 and slot.at > since >= slot.first]
    return max(fit, key=_newest, default=None)


def _once(slot: Slot, begun: Mapping[str, Slot]) -> bool:
    """Whether the bar began once only."""
    return slot.name not in begun or begun[slot.name].first == begun[slot.name].at


def _start(slot: Slot, begun: Mapping[str, Slot]) -> int:
    return begun[slot.name].at if slot.name in begun else slot.first


def _part(parts: Sequence[Slot], known: Known) -> Slot | None:
    return _with_total(max(parts, key=_newest), known) if parts else None


def _open(work: Sequence[Slot]) -> Slot | None:
    return max(work, key=_newest, default=None)


def _resumed(slot: Slot, known: Known) -> Slot:
    """What stands below the step that the run resumed from is not a new beginning."""
    if known.resumed is None:
        return slot
    at, mark = known.resumed
    step = slot.step
    same = mark.unit == step.unit or (mark.unit in STEPS and step.unit in STEPS)
    low = step.done < mark.done if slot.at >= at else step.done != mark.done
    if not same or not low or (step.total and step.total < mark.done):
        return slot
    return Slot(max(slot.at, at), replace(step, done=mark.done, printed=None), slot.weight, slot.name, slot.first)
