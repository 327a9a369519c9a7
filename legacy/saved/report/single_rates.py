"""Learning rates of a graph that cannot be analysed, as far as single nodes show them."""

from __future__ import annotations

import collections

import tensorflow as tf

from legacy.saved.facts.basics.rows import Row
from legacy.saved.facts.basics.whole_graph import WholeGraph, scalar_constant
from legacy.saved.facts.updates.schedule_steps import changes, steps_to_show
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_rate
from legacy.saved.hazards.basics.evaluation import evaluate
from workloads.lifted.graph import TensorId

#: Most values of a schedule that are shown.
MOST_VALUES = 8
#: What hands a learning rate on.
_COPIES = op_types.READS_IN_LOOPS


def rate_rows(whole: WholeGraph) -> list[Row]:
    """Returns a row for each learning rate that the update rules take, and one for rules without any.

    Args:
      whole: a graph with its updates.
    """
    updates: dict[tuple[str, str, str], int] = collections.Counter()
    for rate, count in collections.Counter(applied_rate(whole, apply) for apply in whole.applies).items():
        if rate is None:
            row = ("-", "not known: the update is written by hand", "-")
        else:
            row = (_origin(whole, rate).name, *_described(whole, rate))
        updates[row] += count
    return [
        {"tensor": tensor, "is": text, "values": values, "variables": str(count)}
        for (tensor, text, values), count in updates.items()
    ]


def _origin(whole: WholeGraph, tensor: TensorId) -> TensorId:
    """The tensor behind ops that only copy it."""
    while whole.graph.type(tensor.node) in _COPIES and whole.graph.inputs(tensor.node):
        tensor = whole.graph.inputs(tensor.node)[0]
    return tensor


def _described(whole: WholeGraph, rate: TensorId) -> tuple[str, str]:
    """A learning rate in words, and its values by step; "-" where it is no function of the step alone."""
    graph, number = whole.graph, whole.value(rate.node)
    if number is not None:
        return f"{number:g}, always", "-"
    name = _origin(whole, rate).node
    if graph.type(name).startswith("Placeholder"):
        inputs = graph.inputs(name)  # of a default
        default = scalar_constant(graph.nodes[inputs[0].node]) if inputs else None
        return ("fed at every step" if default is None else f"{default:g}, unless {name} is fed"), "-"
    before = graph.ancestors([rate.node], controls=False)
    variables = sorted(node for node in before if graph.type(node) in op_types.VARIABLES)
    fed = sorted(node for node in before if graph.type(node).startswith("Placeholder"))
    kinds = sorted({graph.type(node) for node in before - {*variables, *fed}} - {"Const", *_COPIES})
    names = ", ".join([*variables, *(f"{node} (fed)" for node in fed)])
    if not names:
        return f"computed by {', '.join(kinds)}", "-"
    if not kinds:
        return f"the value of {names}", "-"
    found = (scalar_constant(graph.nodes[node]) for node in graph.nodes if node in before)
    numbers = dict.fromkeys(f"{value:g}" for value in found if value not in (None, 1))
    text = f"a function of {names}, by {', '.join(kinds)}" + (f"; constants {', '.join(numbers)}" if numbers else "")
    return text, "-" if fed or len(variables) != 1 else _values(whole, rate, variables[0])


def _values(whole: WholeGraph, rate: TensorId, counter: str) -> str:
    """The values of a schedule where they change; "-" unless it is read before each step adds 1 to its counter."""
    graph = whole.graph
    nodes = [graph.nodes[name] for name in graph.ancestors([rate.node], controls=False)]
    added = [name for name, variable in whole.writes.items() if variable == counter and name in whole.members]
    numbers = [whole.value(tensor.node) for name in added for tensor in graph.inputs(name)[1:2]]
    counts = numbers == [1] and graph.type(added[0]) in op_types.ADDS
    if not counts or added[0] in graph.ancestors([rate.node]) or any(map(_rounds, nodes)):
        return "-"
    values: dict[int, float] = {}

    def value_at(step: int) -> float:
        value = evaluate(whole, rate, {TensorId(counter, 0): float(step)})
        if value is None:
            raise _UnknownError
        return values.setdefault(step, value)

    try:
        texts = [f"{step}: {value:.6g}" for step, value in changes(value_at, steps_to_show(nodes, of_examples=False))]
    except _UnknownError:
        return "-"
    left_out = len(texts) > MOST_VALUES
    return ", ".join([*texts[: MOST_VALUES - 1], "...", texts[-1]] if left_out else texts)


class _UnknownError(Exception):
    """A step at which a rate has no value that is known."""


def _rounds(node: tf.compat.v1.NodeDef) -> bool:
    """Whether a node rounds by the type of its result, as a cast to whole numbers or a division of such."""
    if node.op == "Cast":
        return tf.as_dtype(node.attr["DstT"].type).is_integer and not tf.as_dtype(node.attr["SrcT"].type).is_integer
    return node.op in op_types.QUOTIENTS and tf.as_dtype(node.attr["T"].type).is_integer
