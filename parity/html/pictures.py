"""Pictures of a history: losses of both sides, and where and when their tensors differ."""

from __future__ import annotations

import collections
from collections.abc import Callable

from parity.comparison import stages
from parity.comparison.history import History, TensorStep
from parity.html import charts
from workloads.html.page import figure, paragraph
from workloads.support.wording import counted

#: Stages with one tensor for each variable, which the picture of layers shows the first of.
BY_VARIABLE = (stages.INITIAL, stages.COMBINED, stages.WEIGHTS, stages.SLOTS, stages.STATISTICS, stages.AVERAGES)

#: Tensors whose paths are drawn as lines.
MOST_LINES = 7

#: {row: {step: value}}, the cells of a heat map or the points of lines.
Cells = dict[str, dict[int, float]]


def loss_pictures(history: History, names: tuple[str, str]) -> list[str]:
    """Returns a picture of both sides' losses over the steps; nothing for a history without losses.

    Args:
      history: of all steps.
      names: of the left and the right side.
    """
    if not history.losses:
        return []
    sides = {
        names[0]: {pair.step: pair.left for pair in history.losses},
        names[1]: {pair.step: pair.right for pair in history.losses},
    }
    apart = next((pair.step for pair in history.losses if pair.left != pair.right), None)
    said = "the same numbers in every step" if apart is None else f"they first differ at step {apart}"
    start, end = history.losses[0], history.losses[-1]
    values = [
        f"{names[0]} from {start.left:.6g} to {end.left:.6g}",
        f"{names[1]} from {start.right:.6g} to {end.right:.6g}",
    ]
    caption = f"Mean loss of the replicas: {said}; {values[0] if apart is None else ', '.join(values)}."
    return [figure(charts.lines("losses of both sides over steps", "step", "loss", sides), caption)]


def difference_pictures(history: History, tolerance: str) -> list[str]:
    """Returns pictures of stages, and of the first one's tensors, over the steps; one line if nothing differs.

    Args:
      history: of all steps.
      tolerance: "exact" or "auto", which measures in units of the tolerance.
    """
    if not history.differences:
        number = sum(map(len, history.names.values()))
        have = counted(number, "tensor has", "tensors have")
        return [paragraph(f"Nowhere: {have} identical bits in each of {counted(len(history.losses), 'step')}.")]
    value, unit = (_share, "in units of the tolerance") if tolerance == "auto" else (_relative, "relative difference")
    steps = [pair.step for pair in history.losses]
    by_stage = _cells(history.differences, lambda entry: entry.stage, value)
    ordered: Cells = {stage: by_stage.get(stage, {}) for stage in stages.STAGES if stage in history.names}
    first = next(stage for stage in ordered if ordered[stage])
    layers = next((stage for stage in ordered if ordered[stage] and stage in BY_VARIABLE), first)
    of_stage = _cells([e for e in history.differences if e.stage == layers], lambda entry: entry.name, value)
    tensors: Cells = {name: of_stage.get(name, {}) for name in history.names[layers]}
    worst = {stage: [max(cells.values(), default=0.0)] for stage, cells in ordered.items()}
    finite = {stage: [min(lengths[0], 1e6)] for stage, lengths in worst.items()}
    return [
        figure(
            charts.heat_map("largest difference of each stage in each step", "step", unit, ordered, steps),
            f"Stages in causal order, from the top; blank: identical bits. The first that differs is {first}.",
        ),
        figure(
            charts.heat_map(f"differences of the tensors of the stage {layers}", "step", unit, tensors, steps),
            f"Tensors of the stage {layers} that differ most: {len(of_stage)} of {len(tensors)} differ in some step.",
        ),
        *_trajectories(history),
        figure(
            charts.bars("largest difference of each stage", unit, finite),
            "Largest difference of each stage over all steps: "
            + "; ".join(f"{stage} {lengths[0]:.2g}" for stage, lengths in worst.items() if lengths[0])
            + ".",
        ),
    ]


def _trajectories(history: History) -> list[str]:
    """A picture of how far the weights are apart over the steps; none where they are not."""
    weights = [entry for entry in history.differences if entry.stage == stages.WEIGHTS]
    paths = _cells(weights, lambda entry: entry.name, _relative)
    largest = sorted(paths, key=lambda name: -max(paths[name].values()))[:MOST_LINES]
    if not largest:
        return []
    title = "relative difference of the weights over steps"
    lines = charts.lines(title, "step", "relative difference", {name: paths[name] for name in largest}, log=True)
    return [
        figure(
            lines,
            f"Where the trajectories diverge: the {len(largest)} weights that differ most, of {len(paths)}.",
        )
    ]


def _cells(entries: list[TensorStep], row: Callable[[TensorStep], str], value: Callable[[TensorStep], float]) -> Cells:
    """Returns the largest value of each row and step."""
    cells: Cells = collections.defaultdict(dict)
    for entry in entries:
        known = cells[row(entry)].get(entry.step, 0.0)
        cells[row(entry)][entry.step] = max(known, value(entry))
    return cells


def _relative(entry: TensorStep) -> float:
    return entry.relative


def _share(entry: TensorStep) -> float:
    return entry.relative / entry.allowed if entry.allowed else float("inf")
