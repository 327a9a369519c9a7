"""Tables of `python -m parity.predict`: timelines by device, examples a second, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table

from parity.prediction.prediction import Prediction
from parity.prediction.this_machine.measured_step import MeasuredStep
from parity.prediction.what_if import Gain, binding_resource
from workloads.support.wording import counted

#: Changes that gain less are left out.
LEAST_GAIN = 1.02


def timeline_table(predictions: Mapping[str, Prediction], title: str) -> Table:
    """Returns a table with a row for each side's devices: milliseconds and shares of the step.

    Args:
      predictions: {side: its prediction}.
      title: of the table.

    Returns:
      the table.
    """
    table = Table(title=title, title_justify="left")
    for heading in ("side", "step, ms", "device", "compute", "copies", "all-reduce", "waiting"):
        table.add_column(heading, justify="left" if heading in ("side", "device") else "right")
    for side, prediction in predictions.items():
        for number, row in enumerate(prediction.devices):
            cells = [f"{1e3 * part:.2f} ({part / prediction.seconds:.0%})" for part in row[1:]]
            first = (side, f"{1e3 * prediction.seconds:.2f}") if number == 0 else ("", "")
            table.add_row(*first, row.device, *cells)
    return table


def curve_table(curves: Mapping[str, Mapping[int, Prediction]], scaling: str) -> Table:
    """Returns a table of examples a second against the number of replicas.

    Args:
      curves: {side: {number of replicas: prediction}}.
      scaling: "weak" or "strong".

    Returns:
      the table.
    """
    batch = "the same batch for each replica" if scaling == "weak" else "the same global batch"
    table = Table(title=f"examples a second, {batch}", title_justify="left")
    table.add_column("replicas", justify="right")
    for side in curves:
        table.add_column(side, justify="right")
        table.add_column("of one", justify="right")
    for replicas in sorted({count for curve in curves.values() for count in curve}):
        cells = []
        for curve in curves.values():
            here, one = curve[replicas].examples_per_second, curve[min(curve)].examples_per_second
            cells += [f"{here:,.0f}", f"{here / one:.2f}"]
        table.add_row(str(replicas), *cells)
    return table


def gain_lines(gains: Mapping[str, Sequence[Gain]]) -> Iterator[str]:
    """Yields a line for each side: the resource that binds, and what would help, from {side: its gains}."""
    for side, found in gains.items():
        helps = [f"{row.change} {row.gain:.2f}" for row in found if row.gain >= LEAST_GAIN] or ["nothing of these"]
        bound = f"{side}: bound by {binding_resource(found)}"
        yield f"{bound}; what would help (speed, 1.00 is now): {', '.join(helps)}"


def error_lines(measured: Sequence[MeasuredStep] | None) -> Iterator[str]:
    """Yields a line for each step that was predicted for this CPU and measured, or one that says that none was."""
    if measured is None:
        yield "error of the prediction: not measured (--nocalibrate)"
    for row in measured or ():
        yield (
            f"error of the prediction for this CPU, {row.side}, {counted(row.replicas, 'replica')}: {row.error:+.0%} "
            f"(predicted {1e3 * row.predicted:.2f} ms, measured {1e3 * row.measured:.2f} ms a step)"
        )


def prediction_parts(
    curves: Mapping[str, Mapping[int, Prediction]],
    gains: Mapping[str, Sequence[Gain]],
    title: str,
    scaling: str,
    replicas: int,
) -> Iterator[RenderableType]:
    """Yields the tables and lines of a prediction.

    Args:
      curves: {side: {number of replicas: prediction}}.
      gains: {side: its gains}.
      title: of the first table.
      scaling: "weak" or "strong".
      replicas: number of replicas of the job.

    Yields:
      what is printed, in order.
    """
    yield timeline_table({side: curve[replicas] for side, curve in curves.items()}, title)
    yield curve_table(curves, scaling)
    yield from gain_lines(gains)
