"""Hazard of a reshape that exchanges dimensions, where a transposition was meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import join_of
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops whose results have the rows of their first input.
_BY_ROW = ("Add", "AddV2", "BiasAdd", "Elu", "Identity", "LogSoftmax", "MatMul", "Relu", "Sigmoid", "Softmax", "Tanh")

_BY_ELEMENT = ("Exp", "Identity", "LogSoftmax", "Neg", "Relu", "Sigmoid", "Softmax", "Tanh", *op_types.ARITHMETIC)

_Shape = Sequence["int | None"]


def reshaped_for_transposed(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds reshapes of examples whose result has their dimensions in another order; one hazard for all.

    A reshape of what was transposed joins dimensions that the transposition has brought together, as the results of a
    dilated convolution, whose sizes may be any.
    """
    graph, imported = found.cut.graph, found.context.imported
    for name in graph.nodes:
        if graph.type(name) != "Reshape" or name not in whole.data or is_gradient_op(name) or name not in whole.reach:
            continue
        before, after = _shape_before(found, name), imported.shape(name)
        is_meant = _is_beside_transposition(found, name) or _is_shift(found, name) or _joins_again(found, name)
        is_wrong = before and after and (_is_transposed(before, after) or _merges_apart(before, after))
        is_wrong = is_wrong or _turns_stack(found, name)
        if before and after and is_wrong and not is_meant:
            yield Hazard(
                "RESHAPED_FOR_TRANSPOSED",
                name,
                f"{name} reshapes {_text(before)} to {_text(after)}: a reshape keeps the order in memory, so that "
                "examples and time steps, pixels and channels, or words and heads, are mixed",
                "use tf.transpose; for parity keep the reshape",
            )
            return


def _turns_stack(found: Analysis, name: str) -> bool:
    """Whether rows that were stacked, as of scores of all examples for each word, become columns, as by [-1, 1, words].

    A matrix whose rows are no stack may have the examples first, and a row of numbers that a reshape shares out.
    """
    imported = found.context.imported
    before, after = imported.shape(*found.cut.graph.inputs(name)[0]), imported.shape(name)
    if (
        before is None
        or len(before) != 2
        or not after
        or len(after) < 2
        or before[0] is None
        or before[1] in (1, before[0])
    ):
        return False
    kept = [size for size in after if size != 1]
    is_turned = len(kept) == 2 and kept[1] == before[0] > 1 and kept[0] in (None, before[1])
    return is_turned and after[-1] == before[0] and _is_stack(found, found.cut.graph.inputs(name)[0], before[0])


def _is_stack(found: Analysis, tensor: TensorId, rows: int) -> bool:
    """Whether a matrix is made, element by element, of as many tensors as it has rows, one for each."""
    graph, imported = found.cut.graph, found.context.imported
    todo, seen = [tensor], {tensor}
    while todo:
        tensor = todo.pop()
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        shape = imported.shape(*tensor)
        if shape is None or len(shape) != 2 or shape[0] != rows:
            continue
        if kind == "Pack" and graph.nodes[tensor.node].attr["axis"].i == 0:
            return len(inputs) == rows
        join = join_of(graph, tensor.node)
        if join is not None:
            along = imported.constant(*join.axis)
            if along is not None and along.item() in (0, -2) and len(join.parts) == rows:
                return True
        elif kind in _BY_ELEMENT:
            before = [one for one in inputs if one not in seen]
            todo += before
            seen.update(before)
    return False


def _is_beside_transposition(found: Analysis, name: str) -> bool:
    """Whether dimensions are exchanged just before, or the first two just after, as where times become examples."""
    graph, imported = found.cut.graph, found.context.imported
    if graph.type(graph.origin(graph.inputs(name)[0]).node) == "Transpose":
        return True
    for node in [use.node for use in graph.users(name)]:
        order = imported.constant(*graph.inputs(node)[1]) if graph.type(node) == "Transpose" else None
        if order is not None and order.ravel()[:2].tolist() == [1, 0] and not is_gradient_op(node):
            return True
    return False


def _is_shift(found: Analysis, name: str) -> bool:
    """Whether a reshape is one of two with a slice between, as relative attention shifts its scores."""
    graph = found.cut.graph
    uses = {use.node for use in graph.users(name) if not is_gradient_op(use.node) and graph.type(use.node) != "Shape"}
    further = [
        user.node
        for use in uses
        if graph.type(use) in op_types.SLICES
        for user in graph.users(use)
        if graph.type(user.node) == "Reshape" and not is_gradient_op(user.node)
    ]
    if uses and len(further) == len(uses) and all(_reshapes_back(found, name, back) for back in further):
        return True
    cut_off = graph.inputs(name)[0].node
    first = graph.inputs(cut_off)[0].node if graph.type(cut_off) in op_types.SLICES else cut_off
    return first != cut_off and graph.type(first) == "Reshape" and _reshapes_back(found, first, name)


def _joins_again(found: Analysis, name: str) -> bool:
    """Returns whether two reshapes in a row keep the examples: [4, 5, 5, 3] as [100, 3], and that as [4, 75].

    As many channels as examples are then a coincidence. Rows that layers took one by one see `_shape_before`.
    """
    graph, imported = found.cut.graph, found.context.imported
    first = graph.inputs(name)[0].node
    first = graph.inputs(first)[0].node if graph.type(first) == "Identity" else first
    if graph.type(first) != "Reshape":
        return False
    before, between, after = _shape_before(found, first), imported.shape(first), imported.shape(name)
    if not (before and between and after):
        return False
    return len(before) > len(between) and between[0] != before[0] == after[0]


def _reshapes_back(found: Analysis, name: str, back: str) -> bool:
    """Whether a second reshape gives the size along the first dimension that a first one took."""
    sizes = [shape[0] if shape else None for shape in (_shape_before(found, name), found.context.imported.shape(back))]
    return sizes[0] is not None and sizes[0] == sizes[1]


def _shape_before(found: Analysis, name: str) -> _Shape | None:
    """The shape of a reshape's input; behind layers that take rows one by one, the shape before these rows were joined.

    Layers of 1.x take [batch * time, features]: their result has the order of what was reshaped before them.
    """
    graph, imported = found.cut.graph, found.context.imported
    tensor = graph.inputs(name)[0]
    shape = imported.shape(*tensor)
    if shape is None or len(shape) != 2:
        return shape
    while graph.type(tensor.node) in _BY_ROW:
        tensor = graph.inputs(tensor.node)[0]
    joined = imported.shape(*graph.inputs(tensor.node)[0]) if graph.type(tensor.node) == "Reshape" else None
    return shape if joined is None or len(joined) < 3 else [*joined[:2], shape[1]]


def _is_transposed(before: _Shape, after: _Shape) -> bool:
    """Whether a shape has another one's first two dimensions exchanged, or an image's last one moved to the second.

    >>> _is_transposed([4, 7, 5], [7, 4, 5]), _is_transposed([4, 1, 5], [1, 4, 5]), _is_transposed([4, 4, 5], [4, 4, 5])
    (True, False, False)
    >>> _is_transposed([4, None, 5], [7, 4, 5]), _is_transposed([4, None, 5], [4, 4, 5])
    (True, False)
    """
    if len(before) == 3 and before[0] and before[1] is None and len(after) == 3 and after[0] != before[0]:
        before = [before[0], after[0], before[2]]
    if len(before) < 3 or 1 in (before[0], before[1]) or before[0] == before[1]:
        first_two = False
    else:
        first_two = list(after) == [before[1], before[0], *before[2:]]
    is_image = len(before) == 4 and before[3] not in (1, before[1]) and before[1] == before[2] != 1
    return first_two or (is_image and list(after) == [before[0], before[3], before[1], before[2]])


def _merges_apart(before: _Shape, after: _Shape) -> bool:
    """Whether a shape has another one's second dimension merged into its last, past the third, as heads of attention.

    >>> _merges_apart([3, 2, 6, 4], [3, 6, 8]), _merges_apart([3, 2, 6, 4], [18, 8])
    (True, True)
    >>> _merges_apart([3, 2, 6, 4], [3, 2, 24])
    False
    """
    if len(before) != 4 or None in before or before[1] == before[2] or 1 in before[1:3]:
        return False
    merged = [before[0], before[2], (before[1] or 0) * (before[3] or 0)]
    return list(after) in (merged, [(before[0] or 0) * (before[2] or 0), merged[2]])


def _text(shape: _Shape) -> str:
    return "[" + ", ".join("any" if size is None else str(size) for size in shape) + "]"
