"""Hazards of attention masks that mask nothing: one number for all scores of a query, or keys that are never 0."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import filled
from legacy.saved.hazards.basics.dropout import dropped_from
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that hand a mask, or keys, on in another shape or in parts.
_PASSES = ("Identity", "Cast", "Reshape", "ExpandDims", "Tile", "Transpose", "Squeeze", "StopGradient", "StridedSlice")
_PARTS = ("Split", "SplitV", "ConcatV2", "Concat", "Pack", "Unpack")


def masks_without_effect(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds softmax(scores + mask) of a mask of data with one column, for scores with several; one hazard for all."""
    graph, imported = found.context.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Softmax") if name in graph.nodes and not is_gradient_op(name)]:
        scores = graph.origin(graph.inputs(name)[0])
        if graph.type(scores.node) not in op_types.ADDITIONS:
            continue
        shape = imported.shape(*scores)
        for term in graph.inputs(scores.node):
            own = imported.shape(*term)
            is_given = term.node in whole.data and term.node not in made_by_weights(whole)
            if shape and own and is_given and len(own) == len(shape) and own[-1] == 1 and shape[-1] != 1:
                yield Hazard(
                    "MASK_WITHOUT_EFFECT",
                    name,
                    f"{term.node} adds the same number to all scores of a row of the softmax {name}, which does not "
                    "change the attention weights: nothing is masked",
                    "a mask of the keys has its numbers along the last axis; for parity leave it out",
                )
                return


def masks_of_shifted_keys(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds masks of the positions whose numbers are all 0, of keys to which a layer adds its offset; one for all.

    Padding has embeddings of 0, and what a layer with a bias, or a normalization with an offset, makes of it has not.
    """
    graph = whole.graph
    for name in whole.minimized_ops("Softmax"):
        choice = graph.origin(graph.inputs(name)[0]).node
        if graph.type(choice) not in op_types.CHOICES or is_gradient_op(name):
            continue
        keys = _tested_for_zero(whole, graph.inputs(choice)[0].node)
        offset = _trained_offset(whole, keys) if keys else ""
        if offset:
            yield Hazard(
                "MASK_WITHOUT_EFFECT",
                name,
                f"the mask of the softmax {name} leaves out the positions where {keys} is 0, and {keys} is computed by "
                f"adding {offset}, which is trained, at each position: none is 0, and the padding is attended to",
                "make the mask of the words, or of the keys before any layer; for parity leave it out",
            )
            return


def _tested_for_zero(whole: WholeGraph, name: str) -> str:
    """The node x of a mask `equal(sign(abs(sum(x, -1))), 0)`, or of one of the sum of |x|; "" of any other node."""
    graph = whole.graph
    name = _past(graph, name)
    if graph.type(name) not in ("Equal", "NotEqual") or whole.value(graph.inputs(name)[1].node) != 0:
        return ""
    name, kinds = _past_ones(whole, graph.inputs(name)[0].node), []
    while graph.type(name) in ("Sign", "Abs", "Sum"):
        kinds.append(graph.type(name))
        name = _past(graph, graph.inputs(name)[0].node)
    return name if sorted(kinds) == ["Abs", "Sign", "Sum"] and kinds[0] == "Sign" else ""


def _past(graph: Graph, name: str) -> str:
    while graph.type(name) in _PASSES and graph.inputs(name):
        name = graph.inputs(name)[0].node
    return name


def _past_ones(whole: WholeGraph, name: str) -> str:
    """The node whose numbers another one has in another shape, or repeated by a product with ones."""
    name = _past(whole.graph, name)
    factors = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Mul" else []
    others = [factor for factor in factors if filled(whole, factor) != 1]
    return _past_ones(whole, others[0]) if len(others) == 1 else name


def _trained_offset(whole: WholeGraph, name: str) -> str:
    """The trained variable that is added to all that a node gives, as a bias or a normalization's offset; or ""."""
    graph, name = whole.graph, _past(whole.graph, name)
    dropped = dropped_from(whole, name)
    if dropped:
        return _trained_offset(whole, dropped[0])
    kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
    if kind in _PARTS:
        parts = [
            _trained_offset(whole, one) for one in inputs if whole.value(one) is None and graph.type(one) != "Const"
        ]
        return parts[0] if parts and all(parts) else ""
    if kind in op_types.MATRIX_PRODUCTS:
        return _trained_offset(whole, inputs[0]) if _factor_of_layer(whole, inputs[1]) else ""
    if kind not in (*op_types.ADDITIONS, "BiasAdd", "Sub"):
        return ""
    variables = [variable_read(graph, one) for one in inputs[: 1 if kind == "Sub" else None]]
    added = [variable for variable in variables if variable in whole.trainable]
    if added or kind == "Sub":  # beta - mean * inverse, as a batch normalization writes it
        return added[0] if added else ""
    return next(filter(None, (_trained_offset(whole, one) for one in inputs)), "")


def _factor_of_layer(whole: WholeGraph, name: str) -> bool:
    return variable_read(whole.graph, _past(whole.graph, name)) in whole.trainable
