"""Hazard of a model with causal convolutions that reads, at each time, the word that it is to predict there."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.data.future import slice_of_times
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops whose results have the times of their first input.
_BY_TIME = ("Identity", "Reshape", "Relu", "Tanh", "Sigmoid", "Elu", "LeakyRelu", "Squeeze")
_WORDS = ("OneHot", *op_types.LOOKUPS)


def targets_read_by_convolutions(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds models with a causal convolution that read the word that they predict, at its own time; one for all."""
    graph = whole.graph
    convolutions = [name for name in whole.minimized_ops("Conv2D") if not is_gradient_op(name)]
    causal = next((name for name in convolutions if _left_padding(graph, name)), "")
    for entropy in cross_entropies(whole) if causal else ():
        labels = source_of_elements(graph, entropy.labels)
        if entropy.is_sigmoid or labels.node not in whole.data:
            continue
        predicted = _times(graph, graph.inputs(labels.node)[0] if graph.type(labels.node) == "OneHot" else labels)
        if predicted in _read_in_time(whole, entropy.logits.node):
            yield Hazard(
                "TARGETS_ARE_INPUTS",
                entropy.op,
                f"{entropy.op} predicts {labels.node}, and the model reads each of these words at the same time: its "
                f"convolutions, such as {causal}, hide later words, but not the one that is predicted",
                "feed the model the words shifted by one; for parity keep it",
            )
            return


def _times(graph: Graph, tensor: TensorId) -> tuple[TensorId, int]:
    """The tensor that words are taken from, and the first time that is taken."""
    found = source_of_elements(graph, tensor)
    return slice_of_times(graph, found) or (graph.origin(found), 0)


def _read_in_time(whole: WholeGraph, logits: str) -> set[tuple[TensorId, int]]:
    """{(words, the first time)} that logits depend on time by time, past layers, residual sums and convolutions.

    Each layer has as many inputs as what is before it has channels, and there are as many classes as words: else a
    reshape may have joined times.
    """
    found = set()
    todo: list[tuple[TensorId, int, int]] = [(TensorId(logits, 0), 0, 0)]  # (tensor, its channels, classes), 0: unknown
    seen = {todo[0]}
    while todo:
        tensor, channels, classes = todo.pop()
        words, first = _cut(whole.graph, tensor)
        if whole.graph.type(words.node) in _WORDS:
            if _sizes_of_words(whole.graph, words.node) == (channels, classes):
                source, begin = _times(whole.graph, _indices(whole.graph, words.node))
                found.add((source, begin + first))
            continue
        before, channels = _before(whole, tensor, channels)
        classes = classes or channels
        more = [(one, channels, classes) for one in before]
        todo += [one for one in more if one not in seen]
        seen.update(more)
    return found


def _cut(graph: Graph, tensor: TensorId) -> tuple[TensorId, int]:
    """The tensor that another one is a slice of along time, and the first time."""
    cut = slice_of_times(graph, tensor) if graph.type(tensor.node) == "StridedSlice" else None
    return cut if cut is not None else (tensor, 0)


def _indices(graph: Graph, name: str) -> TensorId:
    """The words of a lookup, or of one-hot codes."""
    return graph.inputs(name)[int(graph.type(name) in op_types.LOOKUPS)]


def _sizes_of_words(graph: Graph, name: str) -> tuple[int, int]:
    """(numbers for each word, number of words) of a lookup, or of one-hot codes; zeros if that is not known."""
    if graph.type(name) == "OneHot":
        depth = constant_array(graph, graph.inputs(name)[1].node)
        return (0, 0) if depth is None else (int(depth), int(depth))
    sizes = _sizes(graph, graph.inputs(name)[0].node)
    return (sizes[1], sizes[0]) if len(sizes) == 2 else (0, 0)


def _sizes(graph: Graph, name: str) -> list[int]:
    """The shape of the variable that a node hands on; [] of any other node."""
    while graph.type(name) in ("ExpandDims", "Reshape", "Identity", "ReadVariableOp", "Transpose"):
        name = graph.inputs(name)[0].node
    variable = variable_read(graph, name)
    return variable_sizes(graph, variable) if variable else []


def _before(whole: WholeGraph, tensor: TensorId, channels: int) -> tuple[list[TensorId], int]:
    """Returns the inputs that a tensor depends on at the same time step, and their channels; none if times are mixed.

    Args:
      whole: the graph.
      tensor: a tensor.
      channels: the number of its channels; 0 if that is not known.
    """
    graph, name = whole.graph, tensor.node
    kind, inputs = graph.type(name), graph.inputs(name)
    if kind == "BiasAdd":
        sizes = _sizes(graph, inputs[1].node)
        return (inputs[:1], sizes[0]) if len(sizes) == 1 and channels in (0, sizes[0]) else ([], 0)
    if kind in ("MatMul", "Conv2D"):
        sizes = _sizes(graph, inputs[1].node)
        is_layer = len(sizes) > 1 and channels in (0, sizes[-1])
        is_layer = is_layer and (kind == "MatMul" or _left_padding(graph, name) is not None)
        return ([_padded(graph, name) if kind == "Conv2D" else inputs[0]], sizes[-2]) if is_layer else ([], 0)
    if kind == "Split":
        return inputs[1:], 0
    if kind == "Mul":  # of a gate; one by a mask may hide the word
        return (inputs, channels) if all(one.node in made_by_weights(whole) for one in inputs) else ([], 0)
    if kind == "Transpose":
        order = constant_array(graph, inputs[1].node)
        is_kept = order is not None and order.ravel().tolist() == sorted(order.ravel().tolist())
        return (inputs[:1], channels) if is_kept else ([], 0)
    return (inputs if kind in op_types.ADDITIONS else inputs[:1] if kind in _BY_TIME else []), channels


def _padded(graph: Graph, convolution: str) -> TensorId:
    """Returns what a convolution along time takes, before it is padded."""
    tensor = graph.origin(graph.inputs(convolution)[0])
    tensor = graph.origin(graph.inputs(tensor.node)[0]) if graph.type(tensor.node) == "ExpandDims" else tensor
    return graph.inputs(tensor.node)[0] if graph.type(tensor.node) == "Pad" else tensor


def _left_padding(graph: Graph, name: str) -> int | None:
    """The zeros before the first time that make a convolution of width k causal, k - 1; None of any other convolution.

    It reads the time at hand, and those before it.
    """
    sizes, attributes = _sizes(graph, graph.inputs(name)[1].node), graph.nodes[name].attr
    if len(sizes) != 3 or any(step != 1 for step in attributes["strides"].list.i):
        return None
    if any(step != 1 for step in attributes["dilations"].list.i):
        return None
    if sizes[0] == 1:
        return 0
    pad = graph.origin(graph.inputs(name)[0])
    pad = graph.origin(graph.inputs(pad.node)[0]) if graph.type(pad.node) == "ExpandDims" else pad
    sides = constant_array(graph, graph.inputs(pad.node)[1].node) if graph.type(pad.node) == "Pad" else None
    if sides is None or attributes["padding"].s != b"VALID" or sides.shape != (3, 2):
        return None
    return sizes[0] - 1 if sides.tolist() == [[0, 0], [sizes[0] - 1, 0], [0, 0]] else None
