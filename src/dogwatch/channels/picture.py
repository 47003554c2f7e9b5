"""Pictures: a job's curves as one small PNG, for channels that take images; drawn by hand, so that nothing is needed.

A picture is an ornament. Whatever it is made of, it is bounded, and one that cannot be drawn is left out.
"""

from __future__ import annotations

import itertools
import math
import struct
import time
import zlib
from collections.abc import Iterator, Sequence

from dogwatch.model import Curve, Message
from dogwatch.text import plain

NAME = "progress.png"
WIDTH, PANEL = 640, 170
LEFT, RIGHT, TOP, BOTTOM = 96, 14, 30, 26
PANELS_MOST, POINTS_MOST, LEAST = 4, 1000, 3
HOLE = 5.0  # times the usual distance of two points: a line across would claim what nobody saw
WHITE, GRID, TEXT, LINE, GOAL, AREA = range(6)
PALETTE = bytes.fromhex("ffffffd4d4d83f3f462563eb16a34adbe7fd")
# Five columns and seven rows for each character, a row as one digit of base 32.
GLYPHS = {
    **{"0": "EHJLPHE", "1": "4C4444E", "2": "EH1248V", "3": "V2421HE", "4": "26AIV22", "5": "VGU11HE", "6": "68GUHHE"},
    **{"7": "V124888", "8": "EHHEHHE", "9": "EHHF12C", "A": "EHHVHHH", "B": "UHHUHHU", "C": "EHGGGHE", "D": "SIHHHIS"},
    **{"E": "VGGUGGV", "F": "VGGUGGG", "G": "EHGNHHF", "H": "HHHVHHH", "I": "E44444E", "J": "72222IC", "K": "HIKOKIH"},
    **{"L": "GGGGGGV", "M": "HRLLHHH", "N": "HHPLJHH", "O": "EHHHHHE", "P": "UHHUGGG", "Q": "EHHHLID", "R": "UHHUKIH"},
    **{"S": "FGGE11U", "T": "V444444", "U": "HHHHHHE", "V": "HHHHHA4", "W": "HHHLLLA", "X": "HHA4AHH", "Y": "HHHA444"},
    **{"Z": "V1248GV", ".": "00000CC", ",": "0000C48", ":": "0CC0CC0", "-": "000V000", "+": "044V440", "/": "01248G0"},
    **{"%": "OP248J3", "(": "2488842", ")": "8422248", "_": "000000V", "?": "EH12404", "#": "AAVAVAA", "=": "00V0V00"},
    " ": "0000000",
}
SCALE, ADVANCE = 2, 12


def picture(message: Message) -> bytes | None:
    """The curves of a message as a PNG; None where there is nothing to draw, or it could not be drawn."""
    try:
        return drawn(message.curves)
    except Exception:  # noqa: BLE001 - an alert never waits for its picture, whatever is wrong with the numbers
        return None


def drawn(curves: Sequence[Curve]) -> bytes | None:
    """One panel for each curve of at least three points, below one another."""
    usable = [(curve, points) for curve in curves if len(points := _points(curve)) >= LEAST][:PANELS_MOST]
    if not usable:
        return None
    canvas = Canvas(WIDTH, PANEL * len(usable))
    for number, (curve, points) in enumerate(usable):
        _panel(canvas, number * PANEL, curve, points)
    return canvas.png()


def _points(curve: Curve) -> list[tuple[float, float]]:
    """What can be drawn of a curve: finite, forward in time, and not too many."""
    found: list[tuple[float, float]] = []
    for at, value in curve.points:
        if math.isfinite(at) and math.isfinite(value) and abs(value) < 1e300 and (not found or at > found[-1][0]):
            found.append((at, value))
    thin = -(-len(found) // POINTS_MOST)
    return [*found[:-1:thin], found[-1]] if found else []


def _panel(canvas: Canvas, top: int, curve: Curve, points: Sequence[tuple[float, float]]) -> None:
    start, end = points[0][0], points[-1][0]
    high = max(value for _, value in points)
    goal = curve.goal if curve.goal is not None and math.isfinite(curve.goal) and 0 < curve.goal < 1e300 else None
    low = min(0.0, *(value for _, value in points)) if goal is not None or high > 0 else min(v for _, v in points)
    high = max(high, goal or high)
    span = (high - low) or 1.0
    floor, room = top + PANEL - BOTTOM, PANEL - TOP - BOTTOM

    def place(at: float, value: float) -> tuple[int, int]:
        across = (at - start) / (end - start) * (WIDTH - LEFT - RIGHT - 1)
        return LEFT + int(across), floor - int((value - low) / span * room)

    canvas.text(LEFT, top + 8, f"{plain(curve.name, 30)}  {curve.what}", TEXT)
    for share in (0.0, 0.5, 1.0):
        y = floor - int(room * share)
        canvas.rule(LEFT, WIDTH - RIGHT, y, GRID)
        words = short(low + span * share)
        canvas.text(LEFT - 8 - ADVANCE * len(words), y - 7, words, TEXT)
    for run in _runs(points):
        canvas.curve([place(*point) for point in run], floor)
    if goal is not None:
        canvas.rule(LEFT, WIDTH - RIGHT, place(start, goal)[1], GOAL, dash=8)
    first, last = moments(start, end)
    canvas.text(LEFT, floor + 8, first, TEXT)
    canvas.text(WIDTH - RIGHT - ADVANCE * len(last), floor + 8, last, TEXT)


def _runs(points: Sequence[tuple[float, float]]) -> Iterator[Sequence[tuple[float, float]]]:
    """The points in runs that a line may join."""
    gaps = sorted(later[0] - earlier[0] for earlier, later in itertools.pairwise(points))
    most, begun = HOLE * gaps[len(gaps) // 2], 0
    for at in range(1, len(points)):
        if points[at][0] - points[at - 1][0] > most:
            yield points[begun:at]
            begun = at
    yield points[begun:]


def short(value: float) -> str:
    """A number in at most seven characters."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}" if abs(value) < 1e15 else f"{value:.0e}"
    return f"{value:.3g}"


def moments(start: float, end: float) -> tuple[str, str]:
    """When a curve begins and ends: times of day, with their dates where it is longer than a day."""
    form = "%H:%M" if end - start < 86400 else "%m-%d %H:%M"
    first, last = (time.strftime(form, time.localtime(at)) for at in (start, end))
    return first, time.strftime(f"{last} %Z", time.localtime(end)).rstrip()


class Canvas:
    """Pixels of a few colours; whatever lies beside it is not drawn."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._rows = [bytearray(width) for _ in range(height)]

    def dot(self, x: int, y: int, colour: int) -> None:
        if 0 <= x < self.width and 0 <= y < self.height:
            self._rows[y][x] = colour

    def rule(self, left: int, right: int, y: int, colour: int, dash: int = 0) -> None:
        for x in range(left, right):
            if not dash or (x // dash) % 2 == 0:
                self.dot(x, y, colour)

    def curve(self, points: Sequence[tuple[int, int]], floor: int) -> None:
        """A line through points, two pixels thick, with the ground below it shaded."""
        shaded = -1
        for (x, y), (to_x, to_y) in zip(points, points[1:] or points, strict=False):
            steps = max(abs(to_x - x), abs(to_y - y), 1)
            for step in range(steps + 1):
                here_x, here_y = x + (to_x - x) * step // steps, y + (to_y - y) * step // steps
                for shade_y in range(here_y + 2, floor) if here_x != shaded else ():
                    if self._rows[shade_y][here_x] == WHITE:
                        self.dot(here_x, shade_y, AREA)
                shaded = here_x
                for at in ((0, 0), (0, 1), (1, 0)):
                    self.dot(here_x + at[0], here_y + at[1], LINE)

    def text(self, x: int, y: int, words: str, colour: int) -> None:
        for char in words.upper():
            for row, digit in enumerate(GLYPHS.get(char, GLYPHS["?"])):
                bits = int(digit, 32)
                for column in range(5):
                    if bits & (16 >> column):
                        for up in range(SCALE):
                            for right in range(SCALE):
                                self.dot(x + column * SCALE + right, y + row * SCALE + up, colour)
            x += ADVANCE

    def png(self) -> bytes:
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 3, 0, 0, 0)
        pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in self._rows), 9)
        chunks = ((b"IHDR", head), (b"PLTE", PALETTE), (b"IDAT", pixels), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
