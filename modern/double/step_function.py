"""A training step that was traced in float32, as a function in float64.

A written port in float64 would not be the mathematics of its float32 program: a constant such as 0.1 would be another
number than in float32, and a dtype that the port names itself would stay. So the traced graph is rewritten, as an old
graph is: constants, inputs and random numbers have the values that they have in float32, and all else is float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from modern.mirrored.step.step_tensors import Tensors
from workloads.lifted.double.errors import NotInDouble
from workloads.lifted.double.functions import FunctionLibrary
from workloads.lifted.double.graph_rewriter import GraphRewriter
from workloads.lifted.graph import Graph
from workloads.lifted.graph.importing import import_graph

#: Function of a per-replica batch to a nested structure of per-replica values.
Step = Callable[[Tensors], Any]


def step_in_float64(step: Step, batch: Tensors, handles: Mapping[int, tf.Tensor]) -> Step:
    """Returns a step that computes in float64.

    Args:
      step: the step in float32, which can be traced.
      batch: a per-replica batch, whose shapes and dtypes all batches have.
      handles: {id of a variable's handle: handle of the float64 variable that takes its place}.

    Returns:
      a function of such batches, with float64 values in the structure of the step's.

    Raises:
      NotInDouble: an op has no form in float64, or the step uses a variable that is not named.
    """

    def rewrite(traced: Any) -> Any:
        placeholders = [tensor.op.name for tensor in traced.graph.inputs]
        of_captured = placeholders[len(placeholders) - len(traced.captured_inputs) :]
        return _graph_in_float64(traced.graph.as_graph_def(), placeholders, of_captured)

    return rewritten_step(step, batch, rewrite, lambda tensor: _captured(tensor, handles), "the port in float64")


def rewritten_step(
    step: Step,
    batch: Tensors,
    rewrite: Callable[[Any], Any],
    replace_captured: Callable[[tf.Tensor], tf.Tensor],
    subject: str,
) -> Step:
    """Returns a step whose traced graph was rewritten.

    Args:
      step: the step, which can be traced.
      batch: a per-replica batch, whose shapes and dtypes all batches have.
      rewrite: function from the concrete function to a GraphDef, whose nodes keep the names of the traced ones.
      replace_captured: returns what takes the place of a tensor from outside of the step.
      subject: of error messages.

    Returns:
      a function of such batches, with values in the structure of the step's.
    """
    traced = tf.function(step, autograph=False).get_concrete_function(batch)
    captured = [replace_captured(tensor) for tensor in traced.captured_inputs]
    placeholders = [tensor.op.name for tensor in traced.graph.inputs]
    graph_def = rewrite(traced)
    for node in graph_def.node:
        node.attr.pop("_class", None)  # it may be colocated with a placeholder, which is replaced
    outputs = [tensor.name for tensor in traced.graph.outputs]

    @tf.function(autograph=False)
    def rewritten(values: list[tf.Tensor]) -> list[tf.Tensor]:
        return import_graph(graph_def, dict(zip(placeholders, values)), outputs, subject)

    def run(batch: Tensors) -> Any:
        results = rewritten([*tf.nest.flatten(batch, expand_composites=True), *captured])
        return tf.nest.pack_sequence_as(traced.structured_outputs, results, expand_composites=True)

    return run


def _captured(tensor: tf.Tensor, handles: Mapping[int, tf.Tensor]) -> tf.Tensor:
    """Returns what takes the place of a tensor from outside of the step: of a variable, its float64 variable."""
    if tensor.dtype != tf.resource:
        return tensor
    if id(tensor) not in handles:
        raise NotInDouble("the port has variables beside those of the comparison, which have no form in float64")
    return handles[id(tensor)]


def _graph_in_float64(graph_def: Any, kept: list[str], captured: list[str]) -> Any:
    """Returns a rewritten GraphDef.

    Args:
      graph_def: of the step.
      kept: its placeholders.
      captured: those of them that stand for variables and other tensors from outside.

    Returns:
      the GraphDef, whose nodes keep their names.
    """
    graph = Graph(graph_def)
    library = FunctionLibrary(graph_def.library)
    varying = graph.descendants(captured, controls=False)
    rewriter = GraphRewriter(graph, library.signatures, library.double, set(graph.nodes), set(kept), varying)
    rewritten = rewriter.rewrite()
    library.add(rewritten.functions)
    made = tf.compat.v1.GraphDef(versions=graph_def.versions, library=library.result())
    made.node.extend(rewritten.nodes)
    for function in made.library.function:  # an import makes them known to its graph, but not to what runs the graph
        context.context().add_function_def(function)
    return made
