"""Ops whose result shares a reference variable's memory, as TensorFlow's kernels show it."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.shared_memory import shares_memory
from workloads.lifted.graph import Graph

v1, raw = tf.compat.v1, tf.raw_ops

#: {what is done to a matrix of 4 rows of 64 bytes: the result}.
VIEWS = {
    "transpose to itself": lambda w: tf.transpose(w, [0, 1]),
    "transpose of a row": lambda w: tf.transpose(tf.reshape(w, [1, 64]), [1, 0]),
    "all of it": lambda w: w[:],
    "a new axis": lambda w: w[None],
    "slice of all": lambda w: tf.slice(w, [0, 0], [4, 16]),
    "slice of rows": lambda w: tf.slice(w, [1, 0], [2, 16]),
    "rows": lambda w: w[1:3],
    "one row": lambda w: w[1],
    "one part": lambda w: tf.split(w, 1, axis=1)[0],
    "parts of rows": lambda w: tf.split(w, 2, axis=0)[1],
    "parts of sizes": lambda w: tf.split(w, [1, 3], axis=0)[1],
    "unstack": lambda w: tf.unstack(w)[1],
    "stack of one": lambda w: raw.Pack(values=[w]),
    "sum of one": lambda w: raw.AddN(inputs=[w]),
    "cast to its dtype": lambda w: raw.Cast(x=w, DstT=tf.float32),
    "sum over no axis": lambda w: raw.Sum(input=w, axis=tf.constant([], tf.int32)),
    "mean over no axis": lambda w: raw.Mean(input=w, axis=tf.constant([], tf.int32)),
    "tile of one": lambda w: tf.tile(w, [1, 1]),
    "pad by nothing": lambda w: tf.pad(w, [[0, 0], [0, 0]]),
    "broadcast to its shape": lambda w: tf.broadcast_to(w, [4, 16]),
    "ensured shape": lambda w: tf.ensure_shape(w, [4, 16]),
    "several identities": lambda w: raw.IdentityN(input=[w])[0],
    "default of a placeholder": lambda w: v1.placeholder_with_default(w, [4, 16]),
    "print": lambda w: v1.Print(w, [1]),
    "switch": lambda w: raw.Switch(data=w, pred=tf.constant(True))[1],
    "merge": lambda w: raw.Merge(inputs=raw.Switch(data=w, pred=tf.constant(True)))[0],
    "expanded": lambda w: tf.expand_dims(w, 0),
}
COPIES = {
    "transpose": lambda w: tf.transpose(w, [1, 0]),
    "columns": lambda w: tf.slice(w, [0, 0], [4, 8]),
    "parts of columns": lambda w: tf.split(w, 2, axis=1)[1],
    "unstack of columns": lambda w: tf.unstack(w, axis=1)[1],
    "sum of two": lambda w: raw.AddN(inputs=[w, w]),
    "cast": lambda w: raw.Cast(x=w, DstT=tf.float64),
    "sum": lambda w: tf.reduce_sum(w, axis=0),
    "rows by number": lambda w: tf.gather(w, [0, 1, 2, 3]),
    "rectified": lambda w: tf.nn.relu(w),
    "tile of two": lambda w: tf.tile(w, [2, 1]),
}


def changes_with_the_variable(make):
    """Whether a result that was made before an update in place has changed behind it."""
    with tf.Graph().as_default() as graph:
        variable = v1.Variable(np.zeros((4, 16), np.float32), use_resource=False)
        made = make(variable.value())
        with tf.control_dependencies([made]):
            update = v1.assign_add(variable, tf.ones((4, 16)))
        with tf.control_dependencies([update]):
            seen = tf.identity(made + 0)
        as_written = v1.OptimizerOptions(opt_level=-1)
        options = v1.GraphOptions(optimizer_options=as_written)
        options.rewrite_options.disable_meta_optimizer = True
        with v1.Session(config=v1.ConfigProto(graph_options=options)) as session:
            session.run(variable.initializer)
            changed = bool(np.any(session.run(seen)))
    return changed, Graph(graph.as_graph_def()), made.op


def is_said_to_share(graph, op):
    position = 1 if op.type == "Split" else 0
    return shares_memory(graph, ImportedGraph(graph), op.name, position)


@pytest.mark.parametrize("what", VIEWS)
def test_what_shares_memory_changes_with_the_variable(what):
    changed, graph, op = changes_with_the_variable(VIEWS[what])
    assert changed and is_said_to_share(graph, op)


@pytest.mark.parametrize("what", COPIES)
def test_a_copy_does_not(what):
    changed, graph, op = changes_with_the_variable(COPIES[what])
    assert not changed and not is_said_to_share(graph, op)


def test_only_the_input_that_is_handed_on_shares_memory():
    with tf.Graph().as_default() as graph:
        sizes = tf.reshape(v1.Variable([2, 8], use_resource=False).value(), [2])
        tf.raw_ops.Reshape(tensor=tf.zeros([4, 4]), shape=sizes, name="shaped")
    read = Graph(graph.as_graph_def())
    assert not shares_memory(read, ImportedGraph(read), "shaped", 1)
    assert shares_memory(read, ImportedGraph(read), "shaped", 0)
