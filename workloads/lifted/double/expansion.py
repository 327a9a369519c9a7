"""Expansion of a node into the nodes of a formula, with the same name, outputs and control inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, NamedTuple

import tensorflow as tf

from workloads.lifted.double.formulas import FORMULAS
from workloads.lifted.graph import forget_placement
from workloads.lifted.graph.tensor_names import control_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

v1 = tf.compat.v1


class Expansion(NamedTuple):
    """A node as a formula.

    Attributes:
      entrances: an Identity for each of the node's inputs, which is still to be connected.
      nodes: all other nodes; the last one has the node's name and outputs.
      functions: FunctionDefs that they call.
    """

    entrances: List[Any]
    nodes: List[Any]
    functions: List[Any]


def expand(node: Any, dtypes: Sequence[int], in_loop: bool) -> Expansion:
    """Returns the formula of a node.

    What the formula reads passes through its entrances. They have the node's control inputs, so that a variable that
    is an input of the node is read when the node would have read it.

    Args:
      node: the NodeDef, with all attributes; its op has a formula.
      dtypes: of its data inputs, in float64.
      in_loop: whether it is inside a `while` loop, where constants too must belong to the loop's frame.

    Returns:
      The `Expansion`.
    """
    scope = node.name + "/in_float64/"
    with v1.Graph().as_default() as graph:
        holders = [v1.placeholder(dtype, name=f"input_{place}") for place, dtype in enumerate(dtypes)]
        results = [tf.identity(result, f"output_{i}") for i, result in enumerate(FORMULAS[node.op](node, holders))]
    controls = control_inputs(node)
    content = graph.as_graph_def()
    entrances: List[Any] = []
    nodes: List[Any] = []
    for inner in content.node:
        forget_placement(inner)
        inner.name, inner.device = scope + inner.name, node.device
        if inner.op == "Placeholder":
            dtype = inner.attr["dtype"].type
            inner.Clear()
            inner.name, inner.op, inner.device = f"{scope}input_{len(entrances)}", "Identity", node.device
            inner.attr["T"].type = dtype
            inner.input.extend(controls)
            entrances.append(inner)
            continue
        for place, text in enumerate(inner.input):
            inner.input[place] = "^" + scope + text[1:] if text.startswith("^") else scope + text
        if "frame_name" in inner.attr:
            inner.attr["frame_name"].s = scope.encode("utf-8") + inner.attr["frame_name"].s
        if in_loop and not inner.input:
            inner.input.append(f"^{scope}input_0")
        nodes.append(inner)
    nodes.append(_exit(node, scope, results))
    return Expansion(entrances, nodes, list(content.library.function))


def _exit(node: Any, scope: str, results: Sequence[tf.Tensor]) -> Any:
    """Returns the NodeDef that has a node's name and the results as its outputs."""
    made = v1.NodeDef(name=node.name, op="IdentityN", device=node.device)
    made.input.extend(scope + result.op.name for result in results)
    made.attr["T"].list.type.extend(result.dtype.as_datatype_enum for result in results)
    return made
