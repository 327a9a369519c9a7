"""Numbers of the towers in the old graph, which may have more of them than train: the last one's update alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.tower_labels import labels_of_analysis, numbers_of_labels, suggested_labels
from legacy.saved.graph import op_types
from legacy.saved.tower_search.towers import owners
from workloads.lifted.tensors.gradient_names import is_gradient_op


class TowerNumbers(NamedTuple):
    """The towers of the old graph.

    Attributes:
      total: the number of them.
      found_by: how they were recognised, in words.
      in_graph: {tower of the training step: its number in the old graph}, of those that have another one there.
      labels: {node: the old graph's tower}; empty where a step runs all towers.
    """

    total: int
    found_by: str
    in_graph: Mapping[int, int]
    labels: Mapping[str, int]

    def of(self, tower: int) -> int:
        """Returns the number that a tower of the training step has in the old graph."""
        return self.in_graph.get(tower, tower)


def tower_numbers(found: Analysis) -> TowerNumbers:
    """Returns the old graph's towers and their numbers.

    Args:
      found: the analysis of a training step, which knows the towers that the step runs.
    """
    towers = found.plan.towers
    of_step = TowerNumbers(towers, found.plan.found_by, {}, {})
    if towers > 1:
        found_by, labels = labels_of_analysis(found.whole, found.context)
        step = found.context.towers
        known = {**step.labels, **owners(step.masks)}
        numbers = {tower: label for label, tower in numbers_of_labels(labels, known).items()}
    else:
        members = found.whole.ancestors([phase.train_op for phase in found.plan.phases])
        found_by, labels = suggested_labels(found.whole, members)
        trained = {labels[name] for name in members if name in labels and is_gradient_op(name)}
        numbers = {0: trained.pop()} if len(trained) == 1 else {}
    total = len(set(labels.values()))
    has_more = total > towers and len(numbers) == towers
    return TowerNumbers(total, found_by, numbers, labels) if has_more else of_step


def tower_in_graph(found: Analysis, numbers: TowerNumbers, name: str) -> int | None:
    """Returns the old graph's tower that an op belongs to.

    Args:
      found: the analysis.
      numbers: the old graph's towers.
      name: of an update op: where only the ops that compute its value are a tower's, the tower is theirs. Those may
        be placed with the variable, so that the ops before them tell.

    Returns:
      The number; None where that is not known.
    """
    towers: set[int] = set()
    seen, todo = {name}, [name]
    while todo:
        node = todo.pop()
        if node in numbers.labels:
            towers.add(numbers.labels[node])
            continue
        inputs = {before for before, _ in found.whole.inputs(node)} - seen
        seen |= inputs
        todo += [before for before in inputs if found.whole.type(before) not in (*op_types.VARIABLES, "Const")]
    return towers.pop() if len(towers) == 1 else None
