"""Whether a registered gradient is the usual one: the same backward ops as today's TensorFlow makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Hashable, Optional

import tensorflow as tf

from legacy.saved.derivatives.overridden_gradients import GRADIENT_NAME
from legacy.saved.graph.imported import imported_graph
from workloads.lifted.graph import Graph, TensorId, forget_placement
from workloads.lifted.graph.importing import import_graph

if TYPE_CHECKING:
    from legacy.source.overrides.backward import Backward

v1 = tf.compat.v1
#: The op's input, its result, and the gradient by this: where a form ends.
_INPUT, _VALUE, _GRADIENT = "input", "value", "gradient"


def is_usual(graph: Graph, backward: Backward) -> bool:
    """Returns whether the backward ops of an op are those of its usual gradient.

    Args:
      graph: of the lift.
      backward: the backward ops.

    Returns:
      Whether both have the same ops with the same constants; False where today's TensorFlow has no gradient of the op.
    """
    ends: Dict[Optional[TensorId], Hashable] = {
        **{tensor: (_INPUT, place) for place, tensor in enumerate(graph.inputs(backward.op))},
        TensorId(backward.op, 0): _VALUE,
        backward.given: _GRADIENT,
    }
    usual = _usual_forms(graph, backward.op)
    results = backward.results.items()
    return all(place in usual and usual[place] == _form(graph, one or backward.given, ends) for place, one in results)


def _usual_forms(graph: Graph, op: str) -> Dict[int, Hashable]:
    """Returns {number of an input: form of the gradient that today's TensorFlow makes by it}."""
    inputs = imported_graph(graph).tf_graph.get_operation_by_name(op).inputs
    names = [f"{_INPUT}_{place}" for place in range(len(inputs))]
    alone = v1.GraphDef(versions=graph.graph_def.versions)
    for name, one in zip(names, inputs):
        alone.node.add(name=name, op="Placeholder").attr["dtype"].type = one.dtype.base_dtype.as_datatype_enum
    node = alone.node.add()
    node.CopyFrom(graph.nodes[op])
    node.attr.pop(GRADIENT_NAME, None)
    forget_placement(node)
    node.name, node.device, node.input[:] = _VALUE, "", names
    fetches = [f"{name}:0" for name in (_VALUE, *names)]
    with tf.Graph().as_default() as copy:
        value, *given = import_graph(alone, fetches=fetches, subject="graph file")
        gradient = v1.placeholder(value.dtype, value.shape, name=_GRADIENT)
        try:
            made = v1.gradients([value], given, [gradient])
        except LookupError:
            return {}
        index = Graph(copy.as_graph_def())
    ends: Dict[Optional[TensorId], Hashable] = {TensorId(name, 0): name for name in (_VALUE, _GRADIENT)}
    ends.update((TensorId(name, 0), (_INPUT, place)) for place, name in enumerate(names))
    found = {place: TensorId(one.op.name, one.value_index) for place, one in enumerate(made) if one is not None}
    return {place: _form(index, tensor, ends) for place, tensor in found.items()}


def _form(graph: Graph, tensor: Optional[TensorId], ends: Dict[Optional[TensorId], Hashable]) -> Hashable:
    """Returns what a tensor is computed by: the types of the ops with their constants, back to `ends`.

    Args:
      graph: of the tensor.
      tensor: the tensor; None stands for a gradient that is handed on as it is.
      ends: {tensor: what stands for it}.

    Returns:
      The form, which equal computations share.
    """
    if tensor in ends or tensor is None:
        return ends.get(tensor, _GRADIENT)
    node = graph.nodes[tensor.node]
    inputs = graph.inputs(tensor.node)
    if node.op == "Identity":
        return _form(graph, inputs[0], ends)
    constant = tf.make_ndarray(node.attr["value"].tensor).tobytes() if node.op == "Const" else b""
    return (node.op, tensor.output, constant, *(_form(graph, before, ends) for before in inputs))
