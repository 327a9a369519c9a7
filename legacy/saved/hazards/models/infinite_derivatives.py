"""Hazards of derivatives that are infinite: roots of distances that are 0, and logarithms behind a where."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import joined_parts
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.signs.own_distances import rows_of_own_distances
from workloads.lifted.graph import Graph, TensorId

_COPIES = ("Identity", "Reshape", "ExpandDims", "Transpose", "StridedSlice", "Squeeze")
#: Ops whose derivative is infinite at 0, and comparisons that a where makes to keep 0 out.
_INFINITE = ("Log", "Sqrt", "Rsqrt", "Reciprocal", "Inv")
_COMPARISONS = ("Greater", "NotEqual")
_TESTS = ("IsNan", "IsInf", "IsFinite")
#: Ops that give each element a share of the gradient that is not infinite.
_SHARES = (*_COPIES, "Mean", "Sum")


def roots_of_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds roots of distances between examples that can be 0, to which nothing is added; one hazard for all."""
    for name in whole.minimized_ops("Sqrt"):
        squares = whole.graph.inputs(name)[0].node
        own = rows_of_own_distances(whole, squares)
        text = "" if own is None else "of examples to each other and to themselves: those are 0"
        text = text or (
            "of pairs of examples: it is 0 where both give the same" if _is_of_pairs(whole, squares) else ""
        )
        if text and gradient_flow(whole).passes(name):
            yield Hazard(
                "ROOT_OF_ZERO",
                name,
                f"{name} is the root of distances {text}, where the derivative is infinite, so that gradients can "
                "become NaN",
                "add a small number under the root; for parity keep it",
            )
            return


def _is_of_pairs(whole: WholeGraph, name: str) -> bool:
    """Whether a node is |f(a) - f(b)|^2 of each pair, of one network, and of different data or rows."""
    graph = whole.graph
    while graph.type(name) in _COPIES:
        name = graph.inputs(name)[0].node
    squares = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sum" else ""
    root = squared(whole, squares) if squares else None
    difference = squares if root is None else graph.origin(root).node
    if not difference or graph.type(difference) not in op_types.DIFFERENCES:
        return False
    both = [graph.ancestors([tensor.node], controls=False) for tensor in graph.inputs(difference)[:2]]
    weights, data = [before & whole.trainable for before in both], [before & whole.data for before in both]
    if bool(weights[0]) and _are_rows_of_one(whole, *graph.inputs(difference)[:2]):
        return True
    return bool(weights[0]) and weights[0] == weights[1] and bool(data[0] - data[1]) and bool(data[1] - data[0])


def _are_rows_of_one(whole: WholeGraph, first: TensorId, second: TensorId) -> bool:
    """Returns whether two tensors are different rows of one, as of triplets that a batch has one after the other."""
    graph = whole.graph
    first, second = graph.origin(first), graph.origin(second)
    kind = graph.type(first.node)
    if kind != graph.type(second.node) or first == second:
        return False
    if kind == "Unpack":
        return first.node == second.node and graph.nodes[first.node].attr["axis"].i in (0, 1)
    if kind == "Split":
        return first.node == second.node and whole.value(graph.inputs(first.node)[0].node) == 0
    if kind == "StridedSlice":
        same = graph.origin(graph.inputs(first.node)[0]) == graph.origin(graph.inputs(second.node)[0])
        begins = [_first_number(graph, graph.inputs(name)[1].node) for name in (first.node, second.node)]
        return same and None not in begins and begins[0] != begins[1]
    return False


def _first_number(graph: Graph, name: str) -> float | None:
    """The first element of a constant; None of anything else."""
    node = graph.nodes[name]
    return tf.make_ndarray(node.attr["value"].tensor).ravel().tolist()[0] if node.op == "Const" else None


def infinite_behind_where(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds where(x > 0, log(x), c), whose gradient is NaN where x is 0; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Select", "SelectV2"):
        condition, chosen = (graph.origin(tensor).node for tensor in graph.inputs(name)[:2])
        if graph.type(chosen) not in _INFINITE or graph.type(condition) not in _COMPARISONS:
            continue
        compared, bound = graph.inputs(condition)[:2]
        is_same = graph.origin(compared) == graph.origin(graph.inputs(chosen)[0])
        if is_same and whole.value(bound.node) == 0 and gradient_flow(whole).passes(chosen):
            yield Hazard(
                "INFINITE_BEHIND_WHERE",
                name,
                f"{name} takes {chosen} ({graph.type(chosen)}) where {compared.node} is not 0, but its gradient is "
                "computed everywhere: where that is 0, it is infinite times 0, which is NaN",
                "give the op a safe argument, where(x > 0, x, 1); for parity keep it",
            )
            return


def losses_that_are_not_numbers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds where(is_nan(x), c, x), and x without those that are NaN, in what is minimized; one hazard for all.

    The gradient of x is 0 there, and NaN behind the op that made it so. A mean of no examples, as a tower has that gets
    the rest of a small batch, is NaN, too, but has no examples that a gradient could go to: such means are left out.
    So are CTC losses: of more labels than times it is infinite, and its op's gradient is a finite one.
    """
    graph = whole.graph
    tests = set(graph.of_types(*_TESTS))
    for name in whole.minimized_ops("Select", "SelectV2", "Gather", "GatherV2") if tests else []:
        is_choice = graph.type(name).startswith("Select")
        first, *others = graph.inputs(name)
        condition, branches = (first, others) if is_choice else (others[0], [first])
        asked = tests & graph.ancestors([condition.node], controls=False)
        tested = [_values(graph, graph.inputs(node)[0]) for node in asked]
        kept = [branch.node for branch in branches if _values(graph, branch) in tested and branch.node in whole.data]
        kept = [node for node in kept if not _may_be_of_none(whole, TensorId(node, 0)) and not _is_ctc(graph, node)]
        if kept and gradient_flow(whole).passes(name):
            does = "replaces" if is_choice else "leaves out what is not finite of"
            where = " where it is not finite" if is_choice else ""
            yield Hazard(
                "INFINITE_BEHIND_WHERE",
                name,
                f"{name} {does} {kept[0]}{where}, but not its gradient: 0 times what made it so is NaN again, and goes "
                "to the weights",
                "test the gradients, or keep the arguments of its ops in their range; for parity keep it",
            )
            return


def _is_ctc(graph: Graph, name: str) -> bool:
    """Whether a node is a CTC loss, or the mean or sum of one."""
    while graph.type(name) in _SHARES:
        name = graph.inputs(name)[0].node
    return graph.type(name) == "CTCLoss"


def _may_be_of_none(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether values are means over slices of what the program reads, or over selected elements: perhaps none."""
    graph, values = whole.graph, _values(whole.graph, tensor)
    means = [values] if isinstance(values, TensorId) else values
    before = graph.ancestors([mean.node for mean in means], controls=False) & whole.data
    parts = [name for name in before if graph.type(name) in op_types.SLICES]
    sliced = {graph.type(graph.origin(graph.inputs(name)[0]).node) for name in parts}
    is_part = any(map(op_types.is_source, sliced)) or any(graph.type(name) == "Where" for name in before)
    return is_part and all(graph.type(mean.node) == "Mean" for mean in means)


def _values(graph: Graph, tensor: TensorId) -> TensorId | tuple[TensorId, ...]:
    """The tensor that another one has the values of; of a stack, as of all towers' losses, those that it is made of."""
    tensor = graph.origin(tensor)
    while graph.type(tensor.node) in ("Identity", "Reshape"):
        tensor = graph.inputs(tensor.node)[0]
    parts = graph.inputs(tensor.node) if graph.type(tensor.node) == "Pack" else joined_parts(graph, tensor.node)
    return tuple(map(graph.origin, parts)) or tensor
