"""Inputs whose first dimension is as long as a batch by chance: the towers' batches could have another size."""

from __future__ import annotations

import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.graph.imported import without_placement
from workloads.lifted.graph import parse_tensor_name, tensor_name
from workloads.lifted.plan import Input

v1 = tf.compat.v1


def has_rows_of_its_own(found: Analysis, entry: Input) -> bool:
    """Tells whether the rows of an input that towers share are no examples, as of a matrix that is fed for a target.

    So it is where the losses could be computed with batches of another size beside the same input, which meets them
    before any weight: then none of its dimensions is that of the examples.

    Args:
      found: the analysis.
      entry: an input of which all towers take the same tensor, as long as a batch.

    Returns:
      Whether that is certain; False where a size is written into the graph, or a shape is not known.
    """
    plan, graph = found.plan, found.cut.graph
    own = [other for other in plan.inputs if other.kind == "batch" and (other.shape or [None])[0] == plan.batch]
    losses = [parse_tensor_name(loss).node for phase in plan.phases for loss in phase.losses]
    if plan.batch is None or not own or not losses or not all(name in graph.nodes for name in losses):
        return False
    needed, shared = graph.ancestors(losses, controls=False), parse_tensor_name(entry.tensors[0]).node
    of_batch = graph.descendants([parse_tensor_name(name).node for one in own for name in one.tensors], controls=False)
    alone = graph.descendants([shared], controls=False, stop=of_batch) & needed - of_batch
    if alone & graph.descendants(found.trained, controls=False):
        return False  # a model of its own, as of examples without labels beside those with labels
    known = _known_with_another_batch(found, own, needed, plan.batch)
    return bool(known) and graph.descendants([shared], controls=False) & needed <= known


def _known_with_another_batch(found: Analysis, own: list[Input], needed: set[str], batch: int) -> set[str]:
    """The nodes whose shapes are known where the towers' batches have one example more; none where that does not fit.

    Args:
      found: the analysis.
      own: the inputs of which each tower has a batch.
      needed: the nodes of the losses.
      batch: the number of a tower's examples in the graph.
    """
    graph, plain = found.cut.graph, v1.GraphDef()
    entries = {name: one for one in own for name in one.tensors}
    replaced = {parse_tensor_name(name).node for name in entries}
    of_batch = graph.descendants(replaced, controls=False)
    for node in without_placement(graph).node:
        if node.name in needed - replaced:
            del node.input[len(graph.inputs(node.name)) :]
            node.attr.pop("_output_shapes", None)
            if node.op == "Reshape" and node.name in of_batch:
                plain.node.extend(_resized(found, node, batch))
            plain.node.append(node)
    used = {tensor_name(*parse_tensor_name(name)) for node in plain.node for name in node.input}
    try:
        with tf.Graph().as_default() as made:
            larger = {
                name: v1.placeholder(one.dtype, [batch + 1, *(one.shape or [])[1:]]) for name, one in entries.items()
            }
            tf.import_graph_def(plain, input_map={name: larger[name] for name in larger.keys() & used}, name="")
    except (ValueError, tf.errors.OpError):
        return set()
    # What is computed from unknown rows, as of a loop, may take the rows of the other operand for its own.
    tensors = {one.name: [*one.inputs, *one.outputs] for one in made.get_operations()}
    return {name for name, all_of_it in tensors.items() if all(one.shape.is_fully_defined() for one in all_of_it)}


def _resized(found: Analysis, reshape: tf.compat.v1.NodeDef, batch: int) -> list[tf.compat.v1.NodeDef]:
    """Gives a Reshape to a constant size that of one example more; returns the new constant, if there is one."""
    size = found.context.imported.constant(*found.cut.graph.inputs(reshape.name)[1])
    if size is None or not size.size or size[0] < batch or size[0] % batch:
        return []
    larger = v1.NodeDef(name=f"{reshape.name}/size_of_another_batch", op="Const")
    larger.attr["dtype"].type = tf.as_dtype(size.dtype).as_datatype_enum
    numbers = [size[0] // batch * (batch + 1), *size[1:].tolist()]
    larger.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(numbers, size.dtype))
    reshape.input[1] = larger.name
    return [larger]
