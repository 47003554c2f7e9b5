"""Plots are well-formed SVG that asks for nothing, whatever they are given."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.plot import HEIGHT, WIDTH, Chart, bars, line

HOSTILE = "</svg><script>alert(1)</script>\"'&"
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
SVG = "{http://www.w3.org/2000/svg}"


def chart(*points: tuple[float, float], **more) -> Chart:
    return Chart("t", points, lambda value: f"{value:g}", lambda at: f"{at:g}s", **more)


@given(st.lists(st.tuples(st.floats(0, 2e9), NUMBERS), max_size=60), st.floats(0, 1e12) | st.none())
def test_any_series_gives_well_formed_svg_inside_its_frame_or_nothing(points, goal) -> None:
    """Infinite, unknown, negative and falling numbers included; times come in order."""
    drawn = line(chart(*sorted(points, key=lambda point: point[0]), goal=goal))
    if not drawn:
        return
    for element in ET.fromstring(drawn).iter(f"{SVG}polyline"):
        for pair in element.attrib["points"].split():
            x, y = map(float, pair.split(","))
            assert -1 <= x <= WIDTH + 1
            assert -1 <= y <= HEIGHT + 1


@given(st.text(max_size=50))
def test_texts_are_escaped(text: str) -> None:
    """A title or a label is never markup."""
    printable = "".join(char for char in text if char.isprintable()) + HOSTILE
    shown = Chart(printable, [(0, 1), (1, 2)], lambda value: printable, lambda at: printable)
    for drawn in (line(shown), bars(printable, [(printable, 0.5)], lambda share: printable)):
        root = ET.fromstring(drawn)
        assert root.attrib["aria-label"] == printable
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            *("svg", "text", "line", "polyline", "polygon", "rect", "circle")
        }


def test_no_line_is_drawn_through_a_gap() -> None:
    """Points far apart begin another line, and the gap itself is shaded."""
    early, late = [(float(at), 1.0) for at in range(10)], [(float(at), 1.0) for at in range(60, 70)]
    root = ET.fromstring(line(chart(*early, *late, holes=[(9.0, 60.0)])))
    assert len(list(root.iter(f"{SVG}polyline"))) == 2
    assert len(list(root.iter(f"{SVG}rect"))) == 1


def test_the_scale_reaches_the_goal_and_ends_with_a_round_number() -> None:
    """97 of 1,000 does not look like all of it."""
    drawn = line(chart((0, 0), (10, 97), goal=1000))
    labels = [element.text for element in ET.fromstring(drawn).iter(f"{SVG}text")]
    assert labels[:3] == ["0", "500", "1000"]
    assert "stroke-dasharray" in drawn


def test_charts_of_one_span_have_the_same_moments_below_them() -> None:
    """Also one that was measured only in a part of it."""
    whole, part = chart((0, 1), (50, 1), (100, 2)), chart((50, 1), (60, 2), span=(0.0, 100.0))
    moments = [[element.text for element in ET.fromstring(line(one)).iter(f"{SVG}text")][3:] for one in (whole, part)]
    assert moments[0] == moments[1] == ["0s", "25s", "50s", "75s", "100s"]


def test_one_point_is_no_plot() -> None:
    """Nor are two of the same moment, nor is a bar chart of nothing."""
    assert line(chart((1, 1))) == line(chart((1, 1), (1, 2))) == line(chart()) == bars("t", [], str) == ""
