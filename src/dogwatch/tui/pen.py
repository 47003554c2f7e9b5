"""Pen: the only door by which text gets on the screen; it knows what the terminal can draw."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Pen:
    """Puts text on lines, cut to cells. With `ascii` nothing but ASCII comes out of it, whatever goes in."""

    ascii: bool = False

    def glyph(self, mark: str, ascii_mark: str) -> str:
        return ascii_mark if self.ascii else mark

    def drawn(self, text: str) -> str:
        """The text as this terminal can show it."""
        if text.isascii() or not self.ascii:
            return text
        return text.replace("…", "~").encode("ascii", "replace").decode("ascii")

    def width(self, text: str) -> int:
        return len(text) if text.isascii() else cell_len(self.drawn(text))

    def fit(self, text: str, width: int) -> str:
        """The text in at most `width` cells, with a mark where it was cut."""
        text = self.drawn(text)
        if self.width(text) <= width:
            return text
        if width < 2:
            return set_cell_size(text, max(0, width))
        return set_cell_size(text, width - 1).rstrip() + self.glyph("…", "~")

    def line(self, text: str, style: str = "") -> Text:
        """A line that begins with this text; the style is the text's alone, not the whole line's."""
        return self.put(Text(), text, style)

    def put(self, line: Text, text: str, style: str = "") -> Text:
        line.append(self.drawn(text), style or None)
        return line

    def fitted(self, line: Text, width: int) -> Text:
        """The line in exactly `width` cells: cut with a mark, or padded."""
        length = self.width(line.plain)
        if length > width:
            line.truncate(max(0, width - 1))
            line.rstrip()
            line.append(self.glyph("…", "~"))
            length = self.width(line.plain)
        if length < width:
            line.append(" " * (width - length))
        return line

    def spread(self, left: Text, right: Text, width: int) -> Text | None:
        """Left and right on one line with at least two cells between them, or None when they do not fit."""
        gap = width - self.width(left.plain) - self.width(right.plain)
        if gap < 2:
            return None
        line = left.copy()
        line.append(" " * gap)
        return line.append_text(right)

    def bar(self, fraction: float, width: int) -> Text:
        """A progress bar whose filled part differs in shape, not only in colour."""
        share = min(1.0, max(0.0, fraction)) * width
        full = int(share)
        half = not self.ascii and share - full >= 0.5
        line = self.line(self.glyph("━", "#") * full + ("╸" if half else ""), "green")
        return self.put(line, self.glyph("─", "-") * (width - full - half), "dim")
