"""Pictures: what they show, as text of their SVG."""

import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from parity.html import charts
from workloads.support.errors import InputError


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_lines_have_names_labels_and_a_title():
    svg = charts.lines("two sides", "step", "loss", {"legacy": {0: 1.0, 1: 2.0}, "modern": {0: 1.0, 1: float("nan")}})
    assert {"legacy", "modern", "step", "loss"} <= set(texts(svg))
    assert "<dc:title>two sides</dc:title>" in svg and 'role="img"' in svg
    ElementTree.fromstring(svg)


def test_a_heat_map_colours_what_differs_and_nothing_else():
    def cells(value):
        svg = charts.heat_map("map", "step", "unit", {"a": {0: value}, "b": {}}, [0, 1])
        return len(re.findall(r"<path[^>]*fill: #(?!ffffff)", svg))

    assert cells(1e-3) > cells(0.0)


def test_a_heat_map_keeps_the_rows_that_differ_most():
    rows = {f"row {i}": {0: 1.0 + i} for i in range(charts.MOST_ROWS + 3)}
    shown = texts(charts.heat_map("map", "step", "unit", rows, [0]))
    assert f"row {charts.MOST_ROWS + 2}" in shown and "row 2" not in shown


def test_infinite_differences_are_drawn():
    def cells(value):
        svg = charts.heat_map("map", "step", "unit", {"a": {0: value, 1: 1.0}}, [0, 1])
        ElementTree.fromstring(svg)
        return re.findall(r"<path[^>]*fill: #(?!ffffff)", svg)

    assert len(cells(float("inf"))) == len(cells(1.0)) > len(cells(0.0))


@pytest.mark.parametrize("largest, labels", [(4.0, {"1", "2"}), (1e6, {"1", "1e+06"})])
def test_logarithmic_axes_have_plain_numbers(largest, labels):
    line = charts.lines("title", "step", "value", {"a": {0: 1.0, 1: largest}}, log=True)
    heat = charts.heat_map("title", "step", "value", {"a": {0: 1.0, 1: largest}}, [0, 1])
    for svg in (line, heat):
        assert labels <= set(texts(svg))
        assert not [text for text in texts(svg) if "mathdefault" in text or "\u00d7" in text]


def test_bars_of_several_parts_have_a_legend():
    svg = charts.bars("title", "mutants", {"clip": [2.0, 1.0]}, ("seen", "not exercised"))
    assert {"clip", "seen", "not exercised", "mutants"} <= set(texts(svg))


def test_text_and_axes_take_the_pages_colour():
    svg = charts.bars("title", "mutants", {"clip": [2.0]})
    assert charts.INK not in svg and "currentColor" in svg


def test_without_matplotlib_the_flag_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"--report: got 'a.html', which needs matplotlib: pip install"):
        charts.require_matplotlib("--report", "a.html")
