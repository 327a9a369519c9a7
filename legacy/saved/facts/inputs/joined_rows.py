"""The number of a tower's examples that a state or constants of as many rows demand, where the inputs take any."""

from __future__ import annotations

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name

#: Ops whose first input's rows are those of their result, one for one.
_SAME_ROWS = ("BiasAdd", "MatMul", "Relu", "Tanh", "Sigmoid", *op_types.COPIES)
#: Ops that carry a value into a loop, and those by which its body takes it from there.
_INTO_LOOPS = ("Enter", "RefEnter")
_LOOPS = ("Identity", "Switch", "Merge", *_INTO_LOOPS)


def rows_of_joined(analysed: AnalysedStep) -> tuple[int, str] | None:
    """Returns (rows, their node) of what is joined with features of inputs of any number of rows; None without any.

    An RNN's cell joins its input with its state, and the zero state of a constant size, `zero_state(batch_size)`, has
    the rows of one batch.

    Args:
      analysed: the training step.

    Returns:
      The number and the node that has it, as the zeros; None, too, where several numbers are found.
    """
    graph = analysed.graph
    found: dict[int, str] = {}
    entries = {
        parse_tensor_name(name)
        for entry in analysed.plan.inputs
        if entry.has_examples and entry.shape and entry.shape[0] is None and None not in entry.shape[1:]
        for name in entry.tensors
    }
    for name in graph.of_types("ConcatV2"):
        *parts, axis = graph.inputs(name)
        along = analysed.imported.constant(*axis)
        is_of_columns = along is not None and along.size == 1 and int(along) in (1, -1)
        if is_of_columns and any(_has_rows_of(analysed, part, entries) for part in parts):
            for tensor in [_beginning(analysed, part) for part in parts]:
                shape = analysed.imported.shape(*tensor)
                if shape and len(shape) == 2 and (shape[0] or 0) > 1:
                    found.setdefault(shape[0] or 0, tensor.node)
    return found.popitem() if len(found) == 1 else None


def _beginning(analysed: AnalysedStep, tensor: TensorId) -> TensorId:
    """The tensor that a value of a loop's body is at first; itself outside of loops."""
    graph, at = analysed.graph, tensor
    while graph.type(at.node) in _LOOPS:
        before = graph.inputs(at.node)[0]
        if graph.type(at.node) == "Merge" and graph.type(before.node) not in _INTO_LOOPS:
            break  # of a branch
        at = before
    return at


def _has_rows_of(analysed: AnalysedStep, tensor: TensorId, entries: set[TensorId]) -> bool:
    """Whether a tensor has a row for each row of one of some inputs, as what a loop reads at one time has."""
    graph = analysed.graph
    while tensor not in entries:
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        attributes = graph.nodes[tensor.node].attr
        is_of_places = kind == "Unpack" and attributes["axis"].i > 0
        if is_of_places or (kind in _SAME_ROWS and inputs and not attributes["transpose_a"].b):
            tensor = inputs[0]
        elif kind == "TensorArrayReadV3":
            scattered = _beginning(analysed, inputs[2])
            turned = graph.inputs(scattered.node)[2] if graph.type(scattered.node) == "TensorArrayScatterV3" else None
            if turned is None or graph.type(turned.node) != "Transpose":
                return False
            tensor, order = graph.inputs(turned.node)
            dimensions = analysed.imported.constant(*order)
            if dimensions is None or list(dimensions[:2]) != [1, 0]:
                return False
        else:
            return False
    return True
