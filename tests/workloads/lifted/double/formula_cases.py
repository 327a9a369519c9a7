"""Runs an op's float32 kernel and its formula in float64 on the same numbers."""

import numpy as np
import tensorflow as tf

from workloads.lifted.double.expansion import expand
from workloads.lifted.double.signatures import WIDER, Signatures, fill_defaults

v1 = tf.compat.v1


def kernel_and_formula(op, arrays, **attributes):
    """({place: float32 result}, {place: float64 result}) of one op; `arrays` in the order of its inputs."""
    with v1.Graph().as_default():
        holders = [v1.placeholder(array.dtype, array.shape) for array in arrays]
        names = [argument.name for argument in Signatures({}).definition(op).input_arg]
        results = getattr(tf.raw_ops, op)(**dict(zip(names, holders)), **attributes)
        results = list(results) if isinstance(results, tuple) else [results]
        with v1.Session() as session:
            single = session.run(results, dict(zip(holders, arrays)))
        node = results[0].op.node_def
    return single, formula(node, arrays)


def formula(node, arrays):
    """The results of a node's formula in float64."""
    fill_defaults(node, Signatures({}).definition(node.op))
    dtypes = [tf.as_dtype(array.dtype).as_datatype_enum for array in arrays]
    expansion = expand(node, [WIDER.get(dtype, dtype) for dtype in dtypes], in_loop=False)
    graph_def = v1.GraphDef(node=expansion.nodes)
    graph_def.library.function.extend(expansion.functions)
    fed = {}
    for entrance, array in zip(expansion.entrances, arrays):
        holder = graph_def.node.add(name=entrance.name, op="Placeholder")
        holder.attr["dtype"].type = entrance.attr["T"].type
        fed[entrance.name + ":0"] = array
    count = len(expansion.nodes[-1].input)
    with v1.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        return session.run([f"{node.name}:{place}" for place in range(count)], fed)


def numbers(seed, *shape):
    """float32 normal numbers."""
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def assert_same_mathematics(op, arrays, places=None, limit=3e-6, **attributes):
    """Asserts that the formula is the kernel's mathematics, up to the rounding of float32, and itself in float64."""
    single, double = kernel_and_formula(op, arrays, **attributes)
    assert len(single) == len(double)
    for place in range(len(single)) if places is None else places:
        first, second = single[place], double[place]
        assert second.dtype == np.float64 and first.shape == second.shape, (op, place, first.shape, second.shape)
        scale = np.abs(second).max() + 1e-30
        assert np.abs(first - second).max() <= limit * scale, (op, place, np.abs(first - second).max() / scale)
    return single, double
