"""Plots as SVG text that needs nothing else: no script, no font, no file, no request.

Colours are CSS variables with a fallback, so that a page can restyle them for a dark screen. Every text is
escaped here; a number that is not finite is left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]

WIDTH, HEIGHT = 480, 180
LEFT, RIGHT, TOP, BOTTOM = 60, 10, 12, 26
HOLE = 5.0  # times the usual distance of two points: a line across would claim what nobody saw
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_CSS = {
    "line": "fill:none;stroke:var(--plot-line,#2563eb);stroke-width:1.75;stroke-linejoin:round",
    "dot": "fill:var(--plot-line,#2563eb)",
    "bar": "fill:var(--plot-line,#2563eb)",
    "area": "fill:var(--plot-line,#2563eb);fill-opacity:.10",
    "grid": "stroke:var(--plot-grid,#d4d4d8);stroke-width:1",
    "goal": "stroke:var(--plot-text,#52525b);stroke-width:1;stroke-dasharray:4 4",
    "hole": "fill:var(--plot-text,#52525b);fill-opacity:.16",
    "text": "fill:var(--plot-text,#52525b);font:11px system-ui,sans-serif",
}


@dataclass(frozen=True, slots=True)
class Chart:
    """One number over time. `goal` is a line to reach (a total), `ceiling` the most that can be, `holes` the spans in
    which nobody looked, `span` from when to when it is drawn (else as far as its points go); `value` and `moment` put a
    number and a time into words."""

    title: str
    points: Sequence[Point]
    value: Callable[[float], str]
    moment: Callable[[float], str]
    goal: float | None = None
    ceiling: float | None = None
    holes: Sequence[Point] = ()
    span: Point | None = None


def line(chart: Chart) -> str:
    """The chart as one SVG element; nothing for fewer than two points."""
    points = [(at, value) for at, value in chart.points if math.isfinite(at) and abs(value) < 1e300]
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return ""
    start, end = chart.span or (points[0][0], points[-1][0])
    top = _top(max(chart.goal or 0.0, *(value for _, value in points)), chart.ceiling)
    low = min(0.0, *(value for _, value in points))

    def x(at: float) -> float:
        return LEFT + (at - start) / (end - start) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / ((top - low) or 1.0) * (HEIGHT - TOP - BOTTOM)

    parts = [_hole(x(max(start, a)), x(min(end, b))) for a, b in chart.holes if b > start and a < end]
    for tick in _ticks(low, top):
        parts.append(_grid(y(tick)) + _text(LEFT - 8, y(tick) + 4, chart.value(tick), "end"))
    for at in (start + (end - start) * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)):
        anchor = "start" if at == start else "end" if at == end else "middle"
        parts.append(_text(x(at), HEIGHT - 8, chart.moment(at), anchor))
    if chart.goal is not None:
        parts.append(_rule(y(chart.goal)))
    parts += [_run([(x(at), y(value)) for at, value in run], y(max(0.0, low))) for run in _runs(points)]
    return _svg(chart.title, parts)


def bars(title: str, shares: Sequence[tuple[str, float]], value: Callable[[float], str]) -> str:
    """Shares of a whole, side by side, each with its label below and its number above."""
    found = [(label, share) for label, share in shares if math.isfinite(share) and share >= 0]
    if not found:
        return ""
    most = max(share for _, share in found) or 1.0
    room = (WIDTH - 2 * RIGHT) / len(found)
    parts = []
    for at, (label, share) in enumerate(found):
        tall = share / most * (HEIGHT - TOP - BOTTOM - 16)
        left, top = RIGHT + at * room, HEIGHT - BOTTOM - tall
        size = f'x="{left + 3:.1f}" y="{top:.1f}" width="{room - 6:.1f}" height="{tall:.1f}"'
        parts.append(f'<rect {size} rx="2" style="{_CSS["bar"]}"/>')
        parts.append(_text(left + room / 2, HEIGHT - 8, label, "middle"))
        parts.append(_text(left + room / 2, top - 4, value(share), "middle"))
    return _svg(title, parts)


def _runs(points: Sequence[Point]) -> list[list[Point]]:
    """The points in runs that a line may join."""
    steps = sorted(later[0] - earlier[0] for earlier, later in itertools.pairwise(points))
    most = HOLE * steps[len(steps) // 2]
    runs = [[points[0]]]
    for before, point in itertools.pairwise(points):
        if point[0] - before[0] > most:
            runs.append([])
        runs[-1].append(point)
    return runs


def _top(most: float, ceiling: float | None) -> float:
    """A round number that nothing passes."""
    if ceiling is not None and most <= ceiling:
        return ceiling
    if most < 1e-300:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(most))
    return next(step * scale for step in (*_STEPS, 20.0) if step * scale >= most * 0.999)


def _ticks(low: float, top: float) -> list[float]:
    return [low + (top - low) * share for share in (0.0, 0.5, 1.0)]


def _run(points: Sequence[Point], floor: float) -> str:
    if len(points) == 1:
        return f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="1.75" style="{_CSS["dot"]}"/>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    area = f"{points[0][0]:.1f},{floor:.1f} {path} {points[-1][0]:.1f},{floor:.1f}"
    return f'<polygon points="{area}" style="{_CSS["area"]}"/><polyline points="{path}" style="{_CSS["line"]}"/>'


def _hole(left: float, right: float) -> str:
    size = f'x="{left:.1f}" y="{TOP}" width="{max(1.0, right - left):.1f}" height="{HEIGHT - TOP - BOTTOM}"'
    return f'<rect {size} style="{_CSS["hole"]}"/>'


def _grid(y: float) -> str:
    return f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" style="{_CSS["grid"]}"/>'


def _rule(y: float) -> str:
    return f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" style="{_CSS["goal"]}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{_CSS["text"]}">{escape(text)}</text>'


def _svg(title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
    return f'{head} aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>'
