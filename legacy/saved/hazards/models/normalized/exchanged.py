"""Hazard of a normalization whose scale and offset are exchanged, as the arguments of `tf.nn.batch_normalization`."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.initializers import find_initializer
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.plan.initializers import CONSTANT
from workloads.lifted.tensors.gradient_names import is_gradient_op


def scales_for_offsets(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds normalizations whose trained scale begins at 0, and whose offset begins at 1; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Mul") if not is_gradient_op(name)]:
        inputs = [graph.origin(tensor) for tensor in graph.inputs(name)]
        if "Rsqrt" not in [graph.type(tensor.node) for tensor in inputs]:
            continue
        scales = [scale for scale in map(lambda one: _begins_with(whole, one, 0.0), inputs) if scale]
        offset = _offset(whole, name) if scales else ""
        if offset:
            yield Hazard(
                "SCALE_AND_OFFSET_EXCHANGED",
                name,
                f"a normalization multiplies by {scales[0]}, which begins at 0, and adds {offset}, which begins at 1: "
                "its results are 1 at first, whatever the data are",
                "tf.nn.batch_normalization takes the offset before the scale; for parity keep it",
            )
            return


def _offset(whole: WholeGraph, scaled: str) -> str:
    """The variable that begins at 1 and is added to what is scaled, perhaps less the scaled mean."""
    graph, todo, seen = whole.graph, [scaled], {scaled}
    while todo:
        for use in [use for use in graph.users(todo.pop()) if use.node in whole.minimized]:
            kind = graph.type(use.node)
            if is_gradient_op(use.node) or kind not in ("Mul", "Sub", *op_types.ADDITIONS):
                continue
            found = [_begins_with(whole, tensor, 1.0) for tensor in graph.inputs(use.node)] if kind != "Mul" else []
            if any(found):
                return next(filter(None, found))
            if kind == "Mul" and use.node not in seen:
                seen.add(use.node)
                todo.append(use.node)
    return ""


def _begins_with(whole: WholeGraph, tensor: TensorId, number: float) -> str:
    """The trained variable that a tensor is, if all of it begins with a number; else ""."""
    variable = variable_read(whole.graph, whole.graph.origin(tensor).node)
    found = find_initializer(whole.graph, variable, []) if variable in whole.trainable else None
    if found is None or found.kind != CONSTANT:
        return ""
    return variable if float(found.numbers[0]) == number else ""
