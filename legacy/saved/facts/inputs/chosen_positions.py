"""Sums over some positions of the examples, such as the anchors that a sampler chose: their number is no batch."""

from __future__ import annotations

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId

#: Ops that hand the elements of their first input on, perhaps fewer of them or added up.
_PASSES = ("Cast", "ExpandDims", "Identity", "Neg", "Reshape", "Squeeze", "Sum", "Transpose")
#: Ops that choose: their results are indices, of which there are as many as it happens, or as a sampler takes.
_CHOICES = ("NonMaxSuppression", "RandomShuffle", "TopK", "Where")


def is_of_chosen_positions(found: Analysis, total: str) -> bool:
    """Tells whether a sum over examples takes some positions of each, as by a mask or by indices that ops choose.

    Labels that multiply logarithms, as of probabilities, are no mask.

    Args:
      found: the analysis.
      total: a Sum node of the cut graph.

    Returns:
      Whether it does.
    """
    graph = found.cut.graph
    tensor = _elements(found, graph.inputs(total)[0])
    kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
    if kind in op_types.PICKS:
        before = graph.ancestors([inputs[1].node], controls=False)
        return any(graph.type(name).startswith(_CHOICES) for name in before)
    if kind in op_types.CHOICES:
        return _marks_positions(found, inputs[0])
    if kind != "Mul":
        return False
    return any(_marks_positions(found, mark) and _are_errors(found, other) for mark, other in (inputs, inputs[::-1]))


def _elements(found: Analysis, tensor: TensorId) -> TensorId:
    while found.cut.graph.type(tensor.node) in _PASSES and found.cut.graph.inputs(tensor.node):
        tensor = found.cut.graph.inputs(tensor.node)[0]
    return tensor


def _are_errors(found: Analysis, tensor: TensorId) -> bool:
    """Whether a tensor is computed from data and weights, and is neither a weight nor a logarithm."""
    is_logarithm = found.cut.graph.type(_elements(found, tensor).node) in op_types.LOGARITHMS
    trained = found.cut.graph.ancestors([tensor.node], controls=False) & set(found.trained)
    return bool(trained) and tensor.node in found.context.data and not is_logarithm


def _marks_positions(found: Analysis, tensor: TensorId) -> bool:
    """Whether a tensor is data that no weight makes, with numbers for several positions of each example."""
    shape = found.context.imported.shape(*tensor)
    before = found.cut.graph.ancestors([tensor.node], controls=False)
    is_data = tensor.node in found.context.data and not before & set(found.trained)
    return is_data and shape is not None and any(size != 1 for size in shape[1:])
