"""Pictures as SVG: lines over steps, a heat map, bars. Drawn by matplotlib, without a display."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from workloads.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: Colour of text and axes while matplotlib draws; the page's own colour takes its place.
INK = "#010203"
#: Colours of lines and bars that can be distinguished, also by the colour-blind, on white and on black (Okabe and Ito).
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c8c00", "#7f7f7f")
#: Inches.
WIDTH, HEIGHT, ROW_HEIGHT = 8.0, 2.8, 0.2
#: Rows of a heat map, and characters of their names.
MOST_ROWS, LONGEST_NAME = 40, 44
#: Decades that the colours of a heat map span, below the largest value.
DECADES = 8


def require_matplotlib(flag: str, value: str) -> None:
    """Raises `InputError` naming a flag and its value if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            f'{flag}: got {value!r}, which needs matplotlib: pip install "tower-parity[report]"'
        ) from error


def lines(title: str, x_label: str, y_label: str, series: Mapping[str, Mapping[int, float]], log: bool = False) -> str:
    """Returns lines over steps.

    Args:
      title: describes the picture; also its alternative text.
      x_label, y_label: of the axes, with units.
      series: {name in the legend: {step: value}}; values that are not finite leave gaps.
      log: whether the y axis is logarithmic.

    Returns:
      an <svg> element.
    """
    from matplotlib.ticker import MaxNLocator

    figure, axes = _axes(WIDTH, HEIGHT)
    dashes = ("-", "--", "-.", ":")
    for number, (name, points) in enumerate(series.items()):
        shown = {step: value for step, value in points.items() if math.isfinite(value) and (value > 0 or not log)}
        color, dash, marker = COLORS[number % len(COLORS)], dashes[number % len(dashes)], "o" if len(shown) < 30 else ""
        axes.plot(
            list(shown), list(shown.values()), dash, color=color, marker=marker, label=name, markersize=3, linewidth=1.4
        )
    if log and any(value > 0 for points in series.values() for value in points.values()):
        axes.set_yscale("log")
        _label_decades(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if len(series) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8)
    return _svg(figure, title)


def heat_map(title: str, x_label: str, unit: str, rows: Mapping[str, Mapping[int, float]], steps: Sequence[int]) -> str:
    """Returns a heat map of steps by rows, with logarithmic colours; zeros stay blank.

    Args:
      title: describes the picture; also its alternative text.
      x_label: of the steps.
      unit: of the values, for the scale beside the map.
      rows: {row's name: {step: value}}; infinite values take the darkest colour.
      steps: all steps.

    Returns:
      an <svg> element; of more than `MOST_ROWS` rows, those with the largest values.
    """
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm

    kept = sorted(rows, key=lambda name: -max(rows[name].values(), default=0.0))[:MOST_ROWS]
    kept = [name for name in rows if name in kept]
    values = np.array([[rows[name].get(step, 0.0) for step in steps] for name in kept]).reshape(len(kept), len(steps))
    finite = values[np.isfinite(values) & (values > 0)]
    top = float(finite.max()) if finite.size else 1.0
    figure, axes = _axes(WIDTH, 1.0 + ROW_HEIGHT * max(len(kept), 5))
    shown = np.ma.masked_less_equal(np.where(np.isinf(values), top, values), 0.0)
    bottom = max(top / 10**DECADES, float(finite.min()) if finite.size else top / 10)
    colors = ListedColormap(colormaps["YlOrRd"](np.linspace(0.25, 0.9, 256)))  # seen on white and on black
    scale = LogNorm(vmin=min(bottom, top / 10), vmax=top)
    picture = axes.pcolormesh(range(len(steps) + 1), range(len(kept) + 1), shown, norm=scale, cmap=colors)
    axes.set_yticks([row + 0.5 for row in range(len(kept))], [_short(name) for name in kept], fontsize=8)
    every = max(1, len(steps) // 12)
    axes.set_xticks([i + 0.5 for i in range(0, len(steps), every)], [str(step) for step in steps[::every]])
    axes.invert_yaxis()
    axes.set_xlabel(x_label)
    bar = figure.colorbar(picture, ax=axes, pad=0.02, aspect=max(20, 2 * len(kept)))
    _label_decades(bar.ax.yaxis)
    bar.set_label(unit)
    bar.outline.set_edgecolor(INK)
    return _svg(figure, title)


def bars(title: str, x_label: str, values: Mapping[str, Sequence[float]], legend: Sequence[str] = ()) -> str:
    """Returns horizontal bars, each of one part or of several side by side.

    Args:
      title: describes the picture; also its alternative text.
      x_label: with the unit.
      values: {bar's name: lengths of its parts}.
      legend: names of the parts; empty for one part.

    Returns:
      an <svg> element.
    """
    figure, axes = _axes(WIDTH, 0.9 + 0.28 * max(len(values), 2))
    names = list(values)
    hatches = ("", "///", "...", "xxx")
    start = [0.0] * len(names)
    for part in range(max((len(lengths) for lengths in values.values()), default=0)):
        lengths = [values[name][part] if part < len(values[name]) else 0.0 for name in names]
        label = legend[part] if part < len(legend) else None
        color, hatch = COLORS[part % len(COLORS)], hatches[part % len(hatches)]
        axes.barh(names, lengths, left=start, color=color, hatch=hatch, edgecolor=INK, linewidth=0.4, label=label)
        start = [one + other for one, other in zip(start, lengths)]
    axes.invert_yaxis()
    axes.set_xlabel(x_label)
    if legend:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8)
    return _svg(figure, title)


def interval_bars(title: str, x_label: str, values: Mapping[str, tuple[float, float, float]], reference: float) -> str:
    """Returns horizontal bars with intervals, beside a line to compare them with.

    Args:
      title: describes the picture; also its alternative text.
      x_label: with the unit.
      values: {bar's name: (lower end of the interval, length of the bar, upper end)}.
      reference: place of the line.

    Returns:
      an <svg> element.
    """
    figure, axes = _axes(WIDTH, 0.9 + 0.32 * max(len(values), 2))
    names, lengths = [_short(name) for name in values], [middle for _, middle, _ in values.values()]
    below = [max(middle - low, 0.0) for low, middle, _ in values.values()]
    above = [max(high - middle, 0.0) for _, middle, high in values.values()]
    axes.barh(names, lengths, color=COLORS[0], edgecolor=INK, linewidth=0.4)
    axes.errorbar(lengths, names, xerr=[below, above], fmt="none", ecolor=INK, elinewidth=1.2, capsize=3)
    axes.axvline(reference, color=INK, linewidth=0.8, linestyle="--")
    axes.invert_yaxis()
    axes.set_xlabel(x_label)
    return _svg(figure, title)


def _label_decades(axis: Axis) -> None:
    """Labels a logarithmic axis with plain numbers: 1, 2, 5 of each decade where it has few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 100 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    """Returns a figure of one picture, whose text and axes are drawn in `INK`."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "report", "font.size": 9})
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor("none")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(INK)
    axes.tick_params(colors=INK)
    return figure, axes


def _svg(figure: Figure, title: str) -> str:
    """Returns the figure as an <svg> element with a title, as wide as the page, in the page's colour."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_color(INK)
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Title": title})
    svg = file.getvalue()[file.getvalue().index("<svg") :]
    svg = re.sub(r'<svg ([^>]*?)\bwidth="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'<svg ([^>]*?)\bheight="[^"]*"', r'<svg role="img" \1', svg, count=1)
    return svg.replace(INK, "currentColor")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else "…" + name[1 - LONGEST_NAME :]
