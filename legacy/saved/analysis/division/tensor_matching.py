"""Matches the tensors of two towers: walks both towers back from corresponding tensors, op by op."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Sequence

import tensorflow as tf

from legacy.saved.analysis.division.own_parts import takes_another_slice
from legacy.saved.graph.differentiation import without_zero
from legacy.saved.graph.equal_functions import are_equal_attributes, are_equal_functions
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted

#: Attributes that differ between equal towers: placement, names of resources, where a random stream starts, and which
#: ops XLA compiles together.
PLACEMENT = (
    "_class",
    "_output_shapes",
    "_XlaScope",
    "seed",
    "seed2",
    "container",
    "shared_name",
    "debug_name",
    "frame_name",
    "stack_name",
    "tensor_array_name",
    "source",
)
#: The gradient that an op has in place of its usual one, by its name. `tf.custom_gradient`, and programs that register
#: one for each call, end the name with a number; backward ops are compared.
GRADIENT, NUMBER = "_gradient_op_type", re.compile(rb"\d+$")
#: Ops whose result has the same bits if its two inputs are exchanged.
_COMMUTATIVE = ("Add", "AddN", "AddV2", "Mul")


@dataclasses.dataclass
class TensorMatch:
    """Correspondence between two towers.

    Attributes:
      cuts: {tensor of the first tower that brings data in: tensor of the other}.
      random: {random node of the first tower: random node of the other}.
      firsts: {tensor of the other tower: tensor of the first} of all that were compared.
      parts: {part of a tensor that is computed once: another part of it, which the other tower takes in its place}.
      differences: where the towers are not the same, in words.
      parted: (tensor of the first tower, tensor of the other) of these.
    """

    cuts: dict[TensorId, TensorId] = dataclasses.field(default_factory=dict)
    random: dict[str, str] = dataclasses.field(default_factory=dict)
    firsts: dict[TensorId, TensorId] = dataclasses.field(default_factory=dict)
    parts: dict[TensorId, TensorId] = dataclasses.field(default_factory=dict)
    differences: list[str] = dataclasses.field(default_factory=list)
    parted: list[tuple[TensorId, TensorId]] = dataclasses.field(default_factory=list)


def match_tensors(
    graph: Graph,
    corresponding: Sequence[tuple[TensorId, TensorId]],
    cuts: Collection[TensorId],
    random: Collection[str],
    of_both: Collection[TensorId] = (),
) -> TensorMatch:
    """Matches two towers by the tensors from which corresponding tensors are made.

    Args:
      graph: the subgraph that a step runs.
      corresponding: (tensor of the first tower, tensor of the other) that are known to correspond.
      cuts: tensors of either tower where data enter; nothing before them is compared.
      random: nodes that draw random numbers.
      of_both: tensors, such as weights, that both towers' losses take in the same place.

    Returns:
      `TensorMatch`. A tensor or node that matches several keeps the first.
    """
    result, seen = TensorMatch(), set()
    todo = list(reversed(corresponding))
    while todo:
        first, other = todo.pop()
        if (first, other) in seen:
            continue
        seen.add((first, other))
        result.firsts.setdefault(other, first)
        if first in cuts and other in cuts:
            result.cuts.setdefault(first, other)
        elif first == other:  # computed once, for both
            continue
        elif first.node == other.node and is_gradient_op(first.node):
            continue  # the gradient of a stack of losses has a part for each
        elif first.node == other.node or (not is_gradient_op(first.node) and takes_another_slice(graph, first, other)):
            result.parts[first] = other
        else:
            copied = _past_a_copy(graph, first, other) or _past_a_zero(graph, first, other)
            todo += [copied] if copied else reversed(_match_nodes(graph, first, other, random, result, of_both))
    return result


def _past_a_copy(graph: Graph, first: TensorId, other: TensorId) -> tuple[TensorId, TensorId] | None:
    """Returns the two tensors with the one replaced that only copies another, where just one of them does."""
    copies = [graph.type(tensor.node) == "Identity" and bool(graph.inputs(tensor.node)) for tensor in (first, other)]
    if copies[0] == copies[1]:
        return None
    return (graph.inputs(first.node)[0], other) if copies[0] else (first, graph.inputs(other.node)[0])


def _past_a_zero(graph: Graph, first: TensorId, other: TensorId) -> tuple[TensorId, TensorId] | None:
    """Returns the two tensors without the constant zero to which just one of them is added.

    Python's `sum` adds the first of several terms to 0, so that the sum is one op more for the first tower.
    """
    terms = [without_zero(graph, tensor) for tensor in (first, other)]
    added = [term != tensor for term, tensor in zip(terms, (first, other))]
    return (terms[0], terms[1]) if added[0] != added[1] else None


class EqualTensors:
    """Tells whether two towers compute tensors alike; remembers what was found equal, for the next question.

    Args:
      graph: the subgraph that a step runs.
      cuts: tensors of either tower where data enter; nothing before them is compared.
    """

    def __init__(self, graph: Graph, cuts: Collection[TensorId]) -> None:
        self._graph, self._cuts = graph, cuts
        self._equal: set[tuple[TensorId, TensorId]] = set()

    def are_equal(self, first: TensorId, other: TensorId) -> bool:
        """Returns whether two tensors are made by the same ops from the same tensors, or from corresponding cuts."""
        seen: set[tuple[TensorId, TensorId]] = set()
        todo = [(first, other)]
        while todo:
            pair = todo.pop()
            if pair in seen or pair in self._equal:
                continue
            seen.add(pair)
            one, two = pair
            if (one in self._cuts and two in self._cuts) or one.node == two.node:
                continue
            copied = _past_a_copy(self._graph, one, two)
            if copied is not None:
                todo.append(copied)
                continue
            inputs, others = self._graph.inputs(one.node), self._graph.inputs(two.node)
            same = one.output == two.output and len(inputs) == len(others)
            if not same or not _is_same_op(self._graph, one.node, two.node):
                return False
            todo += zip(inputs, others)
        self._equal |= seen
        return True


def _match_nodes(
    graph: Graph,
    first: TensorId,
    other: TensorId,
    random: Collection[str],
    result: TensorMatch,
    of_both: Collection[TensorId],
) -> list[tuple[TensorId, TensorId]]:
    """Compares the nodes of two tensors, adding to `result`; returns their corresponding inputs.

    Two different tensors `of_both` towers are not each other's like: a tower adds its gradients up in another order,
    and one term was taken for another.
    """
    (node, output), (other_node, other_output) = first, other
    if output != other_output or not _is_same_op(graph, node, other_node):
        result.differences.append(difference(graph, node, other_node))
        result.parted.append((first, other))
        return []
    if node in random:
        result.random.setdefault(node, other_node)
    inputs, others = graph.inputs(node), graph.inputs(other_node)
    if len(inputs) != len(others):
        result.differences.append(f"{node} takes {counted(len(inputs), 'input')}, {other_node} {len(others)}")
        result.parted.append((first, other))
    choices = zip(graph.chosen_by(node), graph.chosen_by(other_node))
    pairs = list(zip(inputs, _in_order_of(graph, node, inputs, others)))
    unlike = [pair for pair in pairs if pair[0] != pair[1] and pair[0] in of_both and pair[1] in of_both]
    if unlike:
        result.differences.append(difference(graph, node, other_node))
        result.parted.append((first, other))
    return [
        *(pair for pair in pairs if pair not in unlike),
        *((TensorId(choice, 0), TensorId(beside, 0)) for choice, beside in choices),
    ]


def _in_order_of(graph: Graph, node: str, inputs: Sequence[TensorId], others: Sequence[TensorId]) -> Sequence[TensorId]:
    """Returns the inputs of the other tower's node in the order of the first one's, where their order does not matter.

    A penalty of the first tower that another tower's loss takes is the first term of one gradient, and the second of
    the other.
    """
    if graph.type(node) not in _COMMUTATIVE or not len(inputs) == len(others) == 2:
        return others
    orders = [others, others[::-1]]
    alike = [all(_is_same_op(graph, a.node, b.node) for a, b in zip(inputs, order)) for order in orders]
    return orders[1] if alike == [False, True] else others


def _is_same_op(graph: Graph, first: str, other: str) -> bool:
    """Returns whether two nodes have the same op type and the same attributes, placement aside."""
    one, two = graph.nodes[first], graph.nodes[other]
    if one.op != two.op and not are_equal_functions(graph.graph_def, one.op, two.op):
        return False
    names = (set(one.attr) | set(two.attr)) - set(PLACEMENT)
    if len({NUMBER.sub(b"", node.attr[GRADIENT].s) for node in (one, two) if GRADIENT in node.attr}) < 2:
        names.discard(GRADIENT)
    return all(
        name in one.attr and name in two.attr and are_equal_attributes(graph.graph_def, one.attr[name], two.attr[name])
        for name in names
    )


def difference(graph: Graph, first: str, other: str) -> str:
    """Describes the difference of two corresponding nodes.

    Args:
      graph: the subgraph that a step runs.
      first: node of the first tower.
      other: node of another one.

    Returns:
      The difference in words.
    """
    return f"{_describe(graph, first, other)} against {_describe(graph, other, first)}"


def _describe(graph: Graph, name: str, other: str) -> str:
    """A node in words; beside one of its type, with the attributes that differ and can be said in a word."""
    values = [graph.type(name)]
    node, beside = graph.nodes[name], graph.nodes[other]
    shared = (set(node.attr) & set(beside.attr)) - set(PLACEMENT) if node.op == beside.op else set()
    for key in sorted(key for key in shared if node.attr[key] != beside.attr[key]):
        value, text = node.attr[key], ""
        if value.WhichOneof("value") in ("b", "i", "f"):
            text = f"{key}={getattr(value, value.WhichOneof('value'))}"
        elif value.HasField("tensor"):
            number = tf.make_ndarray(value.tensor)
            text = f"{number.item():.6g}" if number.size == 1 and number.dtype.kind in "fiu" else ""
        values += [text] * bool(text)
    return f"{name} ({', '.join(values)})"
