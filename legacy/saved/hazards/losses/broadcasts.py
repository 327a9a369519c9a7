"""Hazards of a loss in which shapes broadcast: a vector meets a column, or a scalar is added to a list of terms."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted

#: Ops of two tensors that broadcast.
_ELEMENTWISE = (
    "Add",
    "AddV2",
    "Div",
    "DivNoNan",
    "Maximum",
    "Minimum",
    "Mul",
    "Pow",
    "RealDiv",
    "Sub",
    "SquaredDifference",
)
#: Ops whose results are sizes, and no examples.
_SIZES = ("Range", "Rank", "Shape", "ShapeN", "Size")


def columns_against_vectors(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds losses that combine [n] with [n, 1], both made of examples; one hazard for all, of the first tower.

    All pairs are meant where both are made of one tensor, where both are results of weights and one of them is turned
    to a column, and where what comes of it is added to products of all pairs, as in |a|^2 + |b|^2 - 2 a b. The mean of
    all sums a + b is the mean of a plus that of b, whatever the pairs.
    """
    graph = found.context.graph  # as it was imported, with shapes
    places = whole.minimized_ops(*_ELEMENTWISE)
    places = [name for name in places if name in graph.nodes and whole.labels.get(name, 0) == 0]
    pairs = {name: _vector_and_column(graph, found, name) for name in places}
    meeting = {
        name: pair
        for name, pair in pairs.items()
        if pair is not None and not _is_averaged(whole, found, name) and not _is_of_pairs(whole, name, *pair)
    }
    for name, (vector, column) in meeting.items():
        more = f", as in {counted(len(meeting) - 1, 'other op')}" if len(meeting) > 1 else ""
        yield Hazard(
            "BROADCAST_TO_MATRIX",
            name,
            f"{name} ({graph.type(name)}) takes {vector.node}, a vector, and {column.node}, a column{more}: the result "
            "is a matrix, in which each example meets all examples of its tower",
            "give both the same shape; for parity, keep it, with the towers' batch on each replica: the loss depends "
            "on how the examples are divided",
        )
        return


def scalars_added_to_lists(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds a loss that adds a scalar to a list of scalars, as `loss + tf.get_collection(...)` does; the first one."""
    graph, imported = found.context.graph, found.context.imported
    sums = {whole.graph.origin(TensorId(target, 0)).node for target in whole.targets}  # not the mean of the values
    for name in (name for name in whole.minimized_ops(*op_types.ADDITIONS) if name in sums and name in graph.nodes):
        terms = graph.inputs(name)
        lists = [tensor.node for tensor in terms if graph.type(graph.origin(tensor).node) == "Pack"]
        scalars = [term.node for term in terms if imported.shape(*term) == () and term.node in whole.data]
        for packed, scalar in ((packed, scalar) for packed in lists for scalar in scalars):
            listed = graph.inputs(graph.origin(TensorId(packed, 0)).node)
            if len(listed) > 1 and all(imported.shape(*term) == () for term in listed):
                yield Hazard(
                    "TERM_REPEATED",
                    name,
                    f"{name} adds {scalar}, a scalar, to {packed}, a list of {len(listed)} scalars: the loss has "
                    f"{len(listed)} values, and their sum, which is minimized, contains {scalar} {len(listed)} times, "
                    "and each term of the list once",
                    f"add the terms of the list first, with tf.add_n; for parity, multiply the scalar by {len(listed)}",
                )
                return


def scalars_added_to_losses(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds a loss that adds a scalar, such as a penalty, to the losses of examples, which nothing adds up; one."""
    graph, imported = found.context.graph, found.context.imported
    ends = {whole.graph.origin(TensorId(target, 0)).node for target in whole.targets}
    for name in (name for name in whole.minimized_ops(*op_types.ADDITIONS) if name in ends and name in graph.nodes):
        terms = graph.inputs(name)
        scalars = [one.node for one in terms if imported.shape(*one) == () and one.node in made_by_weights(whole)]
        losses = [one for one in terms if _has_several(imported.shape(*one)) and one.node in whole.data]
        losses = [one for one in losses if graph.type(graph.origin(one).node) != "Pack"]  # `scalars_added_to_lists`
        if scalars and losses:
            yield Hazard(
                "TERM_REPEATED",
                name,
                f"{name} adds {scalars[0]}, a scalar, to {losses[0].node}, which has several losses: what is minimized "
                f"is the sum of all values, which contains {scalars[0]} as often as there are losses in a batch",
                "reduce the losses to their mean or sum before the scalar is added; for parity keep it",
            )
            return


def _has_several(shape: tuple[int | None, ...] | None) -> bool:
    """Whether a tensor of some shape has several elements."""
    return shape is not None and any(size != 1 for size in shape)


def _vector_and_column(graph: Graph, found: Analysis, name: str) -> tuple[TensorId, TensorId] | None:
    """The inputs of an op that are a vector and a column of as many examples; None for any others."""
    both = graph.inputs(name)[:2]
    for vector, column in (both, both[::-1]):
        (one, two) = (found.context.imported.shape(*tensor) for tensor in (vector, column))
        if one is None or two is None or len(one) != 1 or len(two) != 2 or two[1] != 1 or 1 in (one[0], two[0]):
            continue
        alike = one[0] == two[0] or None in (one[0], two[0])
        sources = [source_of_elements(graph, tensor) for tensor in (vector, column)]
        if alike and sources[0] != sources[1] and _hold_examples(graph, vector, column):
            return vector, column
    return None


def _is_averaged(whole: WholeGraph, found: Analysis, name: str) -> bool:
    """Whether an op adds, and the loss takes nothing else of its result than the mean of all its elements."""
    graph = found.context.graph
    users = {use.node for use in graph.users(name)} & whole.minimized
    users = {user for user in users if not is_gradient_op(user) and graph.type(user) not in _SIZES}
    means = {user for user in users if graph.type(user) == "Mean" and found.context.imported.shape(user, 0) == ()}
    return graph.type(name) in (*op_types.ADDITIONS, "Sub") and users == means


def _is_of_pairs(whole: WholeGraph, name: str, vector: TensorId, column: TensorId) -> bool:
    """Whether a program means all pairs of the numbers of a vector and of a column."""
    graph, made = whole.graph, made_by_weights(whole)
    turned = graph.origin(column).node
    is_turned = graph.type(turned) == "ExpandDims" or (
        graph.type(turned) == "StridedSlice" and hands_elements_on(graph, turned)
    )
    if is_turned and vector.node in made and column.node in made:
        return True
    todo, seen = [name], {name}
    while todo:
        node = todo.pop()
        for user in {use.node for use in graph.users(node)} & whole.minimized - seen:
            if graph.type(user) not in (*op_types.ADDITIONS, "Sub") or is_gradient_op(user):
                continue
            others = [tensor.node for tensor in graph.inputs(user) if tensor.node != node]
            if any(graph.type(end) == "MatMul" for other in others for end in linear_weights(whole, other)):
                return True
            seen.add(user)
            todo.append(user)
    return False


def _hold_examples(graph: Graph, *tensors: TensorId) -> bool:
    """Whether the values of data, and not their sizes alone, make each of some tensors."""
    sizes = graph.of_types(*_SIZES)
    made = [graph.ancestors([tensor.node], stop=sizes, controls=False) for tensor in tensors]
    return all(any(op_types.is_source(graph.type(node)) for node in nodes) for nodes in made)
