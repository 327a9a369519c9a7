"""Hazards of the words of sequences: a decoder that reads what it predicts, rows by time against rows by example."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import key_of_elements, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph, TensorId

#: {op: the inputs whose positions its result keeps}; of ops that are not listed, none.
_KEPT = {
    **dict.fromkeys(("BiasAdd", "MatMul", "RealDiv", "Div", "Reshape", "Transpose"), (0,)),
    **dict.fromkeys(("Identity", "Cast", "Relu", "Sigmoid", "Tanh", "Elu", "Squeeze", "ExpandDims"), (0,)),
    **dict.fromkeys(("Add", "AddV2", "Mul", "Sub", "Maximum"), (0, 1)),
    **dict.fromkeys(op_types.CHOICES, (1, 2)),
    "Split": (1,),
}
#: Ops whose results have the rows of their first input.
_BY_ROW = ("Add", "AddV2", "BiasAdd", "Identity", "MatMul", "Relu", "Sigmoid", "Tanh")


def targets_are_inputs(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds RNNs that read, at each time step, the word whose cross entropy their output has; one for all.

    A loop that draws random numbers may be an autoencoder for each time, and is left alone.
    """
    graph = whole.graph
    for entropy in [] if not whole.minimized_ops(*op_types.LOOKUPS, "OneHot") else cross_entropies(whole):
        labels = source_of_elements(graph, entropy.labels)
        labels = (
            source_of_elements(graph, graph.inputs(labels.node)[0]) if graph.type(labels.node) == "OneHot" else labels
        )
        if entropy.is_sigmoid or labels.node not in whole.data or _draws_noise(whole, entropy.logits.node):
            continue
        for lookup, words in _words_read(whole, entropy.logits):
            if key_of_elements(graph, words) == key_of_elements(graph, labels):
                yield Hazard(
                    "TARGETS_ARE_INPUTS",
                    entropy.op,
                    f"{entropy.op} predicts {labels.node}, which {lookup} feeds to the RNN at the same time step: the "
                    "model only learns to copy its input",
                    "feed the decoder the words shifted by one, after a start symbol; for parity keep it",
                )
                return


def _draws_noise(whole: WholeGraph, name: str) -> bool:
    before = whole.graph.ancestors([name], controls=False)
    return any(whole.graph.type(node) in ("RandomStandardNormal", "Multinomial") for node in before)


def _words_read(whole: WholeGraph, logits: TensorId) -> Iterator[tuple[str, TensorId]]:
    """Yields (lookup, its ids) of the words on which logits depend at the same time step, by way of an RNN."""
    graph = whole.graph
    todo: list[tuple[TensorId, TensorId | None, bool]] = [(logits, None, False)]
    seen = {todo[0]}
    while todo:
        tensor, time, in_loop = todo.pop()
        name, kind, inputs = tensor.node, graph.type(tensor.node), graph.inputs(tensor.node)
        further: list[tuple[TensorId, TensorId | None, bool]] = []
        if kind in op_types.LOOKUPS and time is not None and not in_loop:
            yield name, source_of_elements(graph, inputs[1])
        elif kind == "OneHot" and time is not None and not in_loop:
            yield name, source_of_elements(graph, inputs[0])
        elif kind.startswith("TensorArrayGather") and time is None:
            writes = _users_of_array(graph, inputs[0].node, "TensorArrayWrite")
            further = [(graph.inputs(w)[2], graph.origin(graph.inputs(w)[1]), True) for w in writes]
        elif kind.startswith("TensorArrayRead") and graph.origin(inputs[1]) == time:
            array = graph.inputs(inputs[0].node)[0].node if graph.type(inputs[0].node) == "Enter" else inputs[0].node
            scatters = _users_of_array(graph, array, "TensorArrayScatter")
            further = [(graph.inputs(scatter)[2], time, False) for scatter in scatters]
        elif kind in op_types.JOINS:
            axis = whole.value(inputs[0 if kind == "Concat" else -1].node)
            parts = inputs[1:] if kind == "Concat" else inputs[:-1]
            further = [(part, time, in_loop) for part in parts] if axis in ((-1, 1, 2) if in_loop else (-1, 2)) else []
        elif not (kind == "Mul" and _has_mask(whole, name)):
            further = [(inputs[place], time, in_loop) for place in _KEPT.get(kind, ())]
        for state in further:
            if state not in seen:
                seen.add(state)
                todo.append(state)


def _has_mask(whole: WholeGraph, product: str) -> bool:
    """Whether a product has a factor of data alone, such as a mask of words that are left out."""
    for tensor in whole.graph.inputs(product):
        before = whole.graph.ancestors([tensor.node], controls=False)
        is_drawn = any(whole.graph.type(node) == "RandomUniform" for node in before)
        if tensor.node in whole.data and not before & whole.trainable and not is_drawn:
            return True
    return False


def _users_of_array(graph: Graph, array: str, kind: str) -> list[str]:
    """The ops of some kind that use a tensor array, also from within a loop."""
    entered = [array, *[use.node for use in graph.users(array) if graph.type(use.node) in ("Enter", "RefEnter")]]
    found = [use.node for node in entered for use in graph.users(node) if use.position == 0]
    return [name for name in dict.fromkeys(found) if graph.type(name).startswith(kind)]


def rows_in_another_order(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds cross entropies of rows that are joined time by time, and of labels that are flattened by example."""
    for entropy in cross_entropies(whole):
        steps = _joined_times(whole, found, entropy.logits)
        labels, source = entropy.labels, entropy.labels
        while whole.graph.type(source.node) in ("Cast", "Identity", "Reshape"):
            source = whole.graph.inputs(source.node)[0]
        if not steps or source == labels:
            continue
        shape = found.context.imported.shape(*source) if source.node in found.cut.graph.nodes else None
        is_transposed = whole.graph.type(source.node) == "Transpose"
        count, joined = steps
        if shape and len(shape) == 2 and shape[1] == count and shape[0] not in (1, count) and not is_transposed:
            yield Hazard(
                "ROWS_IN_ANOTHER_ORDER",
                entropy.op,
                f"{joined} concatenates the outputs of {count} time steps, one time step after the other, and "
                f"{labels.node} is ordered by example: predictions are compared with labels of other words",
                "concatenate along the second axis, or transpose the labels; for parity keep the order",
            )
            return


def _joined_times(whole: WholeGraph, found: Analysis, logits: TensorId) -> tuple[int, str] | None:
    """(number of times, the op) of logits of rows that are the results of times, joined along the first axis."""
    graph, name = whole.graph, logits.node
    while graph.type(name) in _BY_ROW or (graph.type(name) == "Reshape" and name in whole.data):
        name = next(
            (tensor.node for tensor in graph.inputs(name) if tensor.node in whole.data), graph.inputs(name)[0].node
        )
    kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
    if kind in op_types.JOINS:
        axis = whole.value(inputs.pop(0 if kind == "Concat" else -1))
    elif kind == "Pack":
        axis = float(graph.nodes[name].attr["axis"].i)
    else:
        return None
    if axis != 0 or len(inputs) < 2:
        return None
    times = [_times_read(whole, before) for before in inputs[:2]]
    is_causal = bool(times[0]) and times[0] < times[1]
    return (len(inputs), name) if is_causal else None


def _times_read(whole: WholeGraph, name: str) -> set[Hashable]:
    """The slices x[:, t] of data on which a node depends."""
    graph = whole.graph
    taken: set[Hashable] = set()
    for node in graph.ancestors([name], controls=False):
        kind = graph.type(node)
        if kind == "StridedSlice" and graph.nodes[node].attr["shrink_axis_mask"].i == 2 and node in whole.data:
            taken.add(key_of_elements(graph, TensorId(node, 0)))
        for tensor in graph.inputs(node):
            of = tensor.node
            if graph.type(of) == "Unpack" and graph.nodes[of].attr["axis"].i == 1 and of in whole.data:
                taken.add(tensor)
            if graph.type(of) == "Split" and whole.value(graph.inputs(of)[0].node) == 1 and of in whole.data:
                taken.add(tensor)
    return taken
