"""Hazard of a decoder whose causal mask, or whose normalization, lets each word see later ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import key_of_elements, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Masks that keep more than these diagonals are no slip of one, but a window.
MOST_DIAGONALS = 2
#: Ops whose results have the places of all their inputs, and of their first one.
_BY_ELEMENT = ("Add", "AddV2", "Sub", "Mul")
#: {comparison of positions: 1 if the earlier ones are kept where the first input is a column, -1 if the second}.
_COMPARED = {"GreaterEqual": 1, "LessEqual": -1}
_BY_PLACE = ("BiasAdd", "Identity", "MatMul", "RealDiv", "Div", "Reshape", "Relu", "Tanh")


def masks_off_by_one(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds masks before a softmax that keep all earlier words and the next one; one hazard for all.

    A recognizer of speech may look some frames ahead.
    """
    for name, ahead in _causal_masks(whole).items():
        if 0 < ahead <= MOST_DIAGONALS and _may_predict_inputs(whole, name):
            yield Hazard(
                "WORDS_READ_AHEAD",
                name,
                f"{name} masks attention so that each position sees those before it, itself, and {ahead} after it: a "
                "model of the next word reads the word that it predicts",
                "use tf.linalg.band_part(ones, -1, 0); for parity keep the mask",
            )
            return


def moments_of_times(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds normalizations by moments along the times, beside attention with a causal mask; one hazard for all."""
    graph, imported = found.cut.graph, found.context.imported
    masks = [mask for mask, ahead in _causal_masks(whole).items() if ahead == 0 and _may_predict_inputs(whole, mask)]
    masked = set().union(*(_sources_of_masked(whole, mask) for mask in masks))
    for name in [name for name in whole.minimized_ops("Mean") if name in graph.nodes and not is_gradient_op(name)]:
        shape, axes = imported.shape(*graph.inputs(name)[0]), constant_array(graph, graph.inputs(name)[1].node)
        is_along_times = axes is not None and axes.ravel().tolist() == [1] and shape is not None and len(shape) == 3
        squares = [use.node for use in graph.users(name)]
        squares += [use.node for user in squares if graph.type(user) == "StopGradient" for use in graph.users(user)]
        is_along_times = is_along_times and bool(_sources(whole, name) & masked)  # not what a decoder attends to
        if is_along_times and any(graph.type(user) == "SquaredDifference" for user in squares):
            yield Hazard(
                "WORDS_READ_AHEAD",
                name,
                f"{name} and the variance beside it are moments along axis 1, time, of sequences whose attention has "
                "a causal mask: each word is normalized by the words that follow it",
                "use layer normalization along the last axis; for parity keep the axis",
            )
            return


def _may_predict_inputs(whole: WholeGraph, mask: str) -> bool:
    """Whether the sequences that a mask is for are words, or the loss compares results with data that they are made of.

    Features of other data, such as frames of speech that are given labels, are read as a whole by intention.
    """
    graph, behind = whole.graph, whole.graph.descendants([mask], controls=False)
    softmaxes = [name for name in whole.minimized_ops("Softmax") if name in behind and not is_gradient_op(name)]
    before = graph.ancestors(softmaxes, controls=False) & whole.data
    if any(graph.type(name) in (*op_types.LOOKUPS, "OneHot") for name in before):
        return True
    sources = {name for name in before if op_types.is_source(graph.type(name))}
    labels = [entropy.labels.node for entropy in cross_entropies(whole)]
    for name in [one for one in whole.minimized_ops("Sub", "SquaredDifference") if not is_gradient_op(one)]:
        sides = [tensor.node for tensor in graph.inputs(name)]
        given = [side for side in sides if side not in made_by_weights(whole)]
        labels += given if len(given) == 1 else []
    labels = [name for name in labels if name in whole.data and name not in made_by_weights(whole)]
    return any(_sources(whole, name) & sources for name in labels)


def _sources_of_masked(whole: WholeGraph, mask: str) -> set[str]:
    """The sources of the sequences whose attention a mask enters: those of the first softmax behind it."""
    behind = whole.graph.descendants([mask], controls=False)
    softmaxes = [name for name in whole.minimized_ops("Softmax") if name in behind and not is_gradient_op(name)]
    return min((_sources(whole, name) for name in softmaxes), key=len, default=set())


def _sources(whole: WholeGraph, name: str) -> set[str]:
    before = whole.graph.ancestors([name], controls=False)
    return {node for node in before if op_types.is_source(whole.graph.type(node))}


def targets_read_by_attention(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds models with a causal mask that read the word that they predict, at its own place; one hazard for all."""
    graph = whole.graph
    if not any(ahead == 0 for ahead in _causal_masks(whole).values()):
        return
    for entropy in cross_entropies(whole):
        labels = source_of_elements(graph, entropy.labels)
        if graph.type(labels.node) == "OneHot":
            labels = source_of_elements(graph, graph.inputs(labels.node)[0])
        for lookup in _lookups_in_place(graph, entropy.logits.node) if labels.node in whole.data else ():
            if key_of_elements(graph, graph.inputs(lookup)[1]) == key_of_elements(graph, labels):
                yield Hazard(
                    "TARGETS_ARE_INPUTS",
                    entropy.op,
                    f"{entropy.op} predicts {labels.node}, and {lookup} feeds each of these words at the same "
                    "position: the causal mask hides later words, but not the one that is predicted",
                    "feed the model the words shifted by one; for parity keep it",
                )
                return


def _lookups_in_place(graph: Graph, name: str) -> Iterator[str]:
    """Yields lookups that a node depends on place by place, past layers, residual sums and normalizations."""
    todo, seen = [name], {name}
    while todo:
        name = todo.pop()
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        if kind in op_types.LOOKUPS:
            yield name
        before = inputs if kind in _BY_ELEMENT else inputs[:1] if kind in _BY_PLACE else []
        todo += [node for node in before if node not in seen]
        seen.update(before)


def _causal_masks(whole: WholeGraph) -> dict[str, int]:
    """{mask before a softmax that keeps all earlier positions: how many later ones it keeps}."""
    graph, found = whole.graph, {}
    softmaxes = [name for name in whole.minimized_ops("Softmax") if not is_gradient_op(name)]
    before = graph.ancestors(softmaxes, controls=False)
    for name in [name for name in graph.nodes if name in before]:
        ahead = _positions_ahead(whole, name)
        if ahead is not None:
            found[name] = ahead
    return found


def _positions_ahead(whole: WholeGraph, name: str) -> int | None:
    graph = whole.graph
    if graph.type(name) in ("MatrixBandPart", "BatchMatrixBandPart") and name not in whole.data:
        lower, upper = (whole.value(tensor.node) for tensor in graph.inputs(name)[1:3])
        return int(upper) if lower is not None and upper is not None and lower < 0 <= upper else None
    if graph.type(name) in _COMPARED and name not in whole.data:
        return 0 if _keeps_earlier_positions(whole, name) else None
    values = constant_array(graph, name) if graph.type(name) == "Const" else None
    if values is None or values.ndim < 2 or values.shape[-1] != values.shape[-2] or values.shape[-1] < 4:
        return None
    matrix = values.reshape(-1, *values.shape[-2:])[0]
    ones = np.ones(matrix.shape)
    for ahead in range(MOST_DIAGONALS + 1):
        kept = np.tril(ones, ahead)
        if ((matrix == 1) == kept).all() or ((matrix == 0) == kept).all():
            return ahead
    return None


def _keeps_earlier_positions(whole: WholeGraph, name: str) -> bool:
    """Whether a node is i >= j, or j <= i, of a column of positions i and a row of positions j."""
    graph = whole.graph
    column, row = (tensor.node for tensor in graph.inputs(name)[:: _COMPARED[graph.type(name)]])
    return _is_column(graph, column) and _is_range(whole, row)


def _is_column(graph: Graph, name: str) -> bool:
    """Whether a node is a range with a new last axis."""
    if graph.type(name) == "ExpandDims":
        axis = constant_array(graph, graph.inputs(name)[1].node)
        is_new = axis is not None and axis.ravel().tolist() in ([1], [-1])
    else:
        attributes = graph.nodes[name].attr
        is_new = graph.type(name) == "StridedSlice" and attributes["new_axis_mask"].i == 2
        is_new = is_new and attributes["begin_mask"].i & attributes["end_mask"].i & 1 == 1
    return is_new and graph.type(graph.inputs(name)[0].node) == "Range"


def _is_range(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a range, perhaps with a new first axis, or shifted by sizes that are open or cancel out."""
    graph, shift, is_open = whole.graph, 0.0, False
    while graph.type(name) in ("ExpandDims", "Add", "AddV2", "Sub"):
        number = constant_array(graph, graph.inputs(name)[1].node)
        if graph.type(name) != "ExpandDims":
            is_open |= number is None or number.size != 1
            shift += 0.0 if number is None else float(number.sum()) * (-1 if graph.type(name) == "Sub" else 1)
        elif number is None or number.ravel().tolist() != [0]:
            return False
        name = graph.inputs(name)[0].node
    return graph.type(name) == "Range" and (is_open or shift == 0)
