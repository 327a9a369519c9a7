"""Switches between training and evaluation that no name reveals: tries all values and takes the one that trains.

Such a switch is a placeholder, or a variable that the program assigns before it trains or evaluates: a boolean, or a
whole number that is compared with constants.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.folding.decided import COMPARISONS, decided_predicates, scalar_number
from legacy.saved.folding.settings import SETTINGS, can_be_switch, fold_values
from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import variable_of
from workloads.lifted.graph import SWITCHES, Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Most switches that are tried.
MOST_TRIED = 4
#: Most values of an integer that are tried; and the largest constant that can be one: larger ones are counts.
MOST_VALUES, MOST_COMPARED = 8, 100
#: Beginnings of the op types that change variables.
_UPDATES = ("Assign", "Scatter", "ResourceScatter")


class TriedSwitches(NamedTuple):
    """A graph whose switches were tried.

    Attributes:
      graph: the graph, with the switches that matter decided.
      settings: {placeholder or variable: its value}.
      notes: a sentence for each, why it is taken so.
    """

    graph: Graph
    settings: dict[str, bool | int]
    notes: list[str]


def try_switches(graph: Graph, targets: Sequence[str]) -> TriedSwitches:
    """Tries the values of each switch that a `cond` of the train ops depends on alone.

    Args:
      graph: the whole graph, with known settings folded into it.
      targets: train ops.

    Returns:
      The graph with those decided by which a step runs other updates or random ops: the value that runs most is the
      one that trains. Where all run as many, it is the value with which most moving statistics are of no use, since
      layers normalize by the batch; or else, of whole numbers, the one with which the fewest ops take what layers
      compute, since evaluation may add some, such as a mean over crops. A switch that chooses between two like
      branches, such as two queues, stays.
    """
    settings: dict[str, bool | int] = {}
    notes: list[str] = []
    for name, values in list(_switches(graph, graph.ancestors(targets)).items())[:MOST_TRIED]:
        folded = {value: fold_values(graph, {name: _scalar(graph, name, value)}) for value in values}
        for measure, what, best in _MEASURES[: 2 if isinstance(values[0], bool) else None]:
            runs = {value: measure(folded[value], targets) for value in folded}
            if len(set(runs.values())) > 1:
                value = best(values, key=lambda tried: runs[tried])  # of equals the first
                other = next(tried for tried in values if runs[tried] != runs[value])
                graph, settings[name] = folded[value], value
                less = f"with {other} {runs[other]}" if runs[other] >= 0 else f"which {other} rules out"
                notes.append(
                    f"{name} is taken as {value}: a step then {what.format(runs[value])}, {less}; "
                    f"--feed={name}={str(other).lower()} overrides that"
                )
                break
    return TriedSwitches(graph, settings, notes)


def _scalar(graph: Graph, name: str, value: bool | int) -> np.ndarray:
    return np.array(value, tf.as_dtype(graph.nodes[name].attr["dtype"].type).as_numpy_dtype)


def _switches(graph: Graph, members: Collection[str]) -> dict[str, list[bool] | list[int]]:
    """Returns {placeholder or variable that decides a `cond` among some nodes: values to try}, in the graph's order.

    A variable that these nodes change, such as a step counter, is none.
    """
    predicates = {
        graph.inputs(name)[1] for name in members if graph.type(name) in SWITCHES and len(graph.inputs(name)) > 1
    }
    before = graph.ancestors({tensor.node for tensor in predicates}, controls=False)
    changed = {variable_of(graph, name) for name in members if graph.type(name).startswith(_UPDATES)}
    found: dict[str, list[bool] | list[int]] = {}
    for name, node in graph.nodes.items():
        is_switch = node.op in SETTINGS or node.op in op_types.VARIABLES
        if name in before and name not in changed and is_switch and can_be_switch(node):
            is_boolean = node.attr["dtype"].type == tf.bool.as_datatype_enum
            values = [True, False] if is_boolean else _compared(graph, before)
            different = _deciding_differently(graph, name, values, predicates)
            if different:
                found[name] = different
    return found


def _deciding_differently(
    graph: Graph, name: str, values: list[bool] | list[int], predicates: Collection[TensorId]
) -> list[bool] | list[int]:
    """The values of a switch that decide predicates in different ways; none if no predicate is decided."""
    first: dict[frozenset[tuple[TensorId, bool]], bool | int] = {}
    for value in values:
        decided = decided_predicates(graph, {name: _scalar(graph, name, value)})
        first.setdefault(frozenset((t, truth) for t, truth in decided.items() if t in predicates), value)
    return list(first.values()) if any(first) else []


def _compared(graph: Graph, before: Collection[str]) -> list[int]:
    """Whole numbers to try: 1 and 0, then the constants that nodes before predicates compare with, and those beside."""
    inputs = [t.node for name in before if graph.type(name) in COMPARISONS for t in graph.inputs(name)]
    constants = {scalar_number(graph, name) for name in inputs} - {None}
    whole = {int(number) for number in constants if number is not None and float(number).is_integer()}
    near = sorted(number + by for number in whole for by in (0, 1, -1) if 0 <= number + by <= MOST_COMPARED)
    return list(dict.fromkeys([1, 0, *near]))[:MOST_VALUES]


def _training_ops(graph: Graph, targets: Sequence[str]) -> int:
    """Returns the number of updates, random ops and normalizations by the batch's own moments that train ops run.

    It is -1 if one of them never runs. A fused normalization may update its statistics in both branches, by nothing in
    evaluation.
    """
    if any(target not in graph.nodes for target in targets):
        return -1
    return sum(_trains(graph, name) for name in graph.ancestors(targets))


def _unused_statistics(graph: Graph, targets: Sequence[str]) -> int:
    """Returns the number of variables that train ops assign, or add to, and that no gradient depends on.

    Layers that normalize by the batch in either case move their statistics, and use them in evaluation alone.
    """
    members = graph.ancestors([target for target in targets if target in graph.nodes])
    read = graph.ancestors([name for name in members if is_gradient_op(name)], controls=False)
    moved = {variable_of(graph, name) for name in members if graph.type(name).startswith(_UPDATES)}
    return len(moved - read - {None})


def _trains(graph: Graph, name: str) -> bool:
    op_type = graph.type(name)
    if op_type.startswith("FusedBatchNorm") and "Grad" not in op_type:
        return graph.nodes[name].attr["is_training"].b
    return op_types.is_apply(op_type) or op_type.startswith(_UPDATES) or op_types.is_random(op_type)


def _ops_of_layers(graph: Graph, targets: Sequence[str]) -> int:
    """Returns the number of forward ops behind the train ops that depend on a variable."""
    members = graph.ancestors([target for target in targets if target in graph.nodes])
    variables = [name for name in members if graph.type(name) in op_types.VARIABLES]
    computed = graph.descendants(variables, controls=False) & members
    return sum(not is_gradient_op(name) for name in computed)


#: What tells the value of a switch that trains, in turn: a measure, what it counts, and which of the counts trains.
_MEASURES = (
    (_training_ops, "runs {} updates, random ops and normalizations by the batch", max),
    (_unused_statistics, "moves {} variables that no gradient depends on, as statistics in training", max),
    (_ops_of_layers, "computes {} ops from weights", min),
)
