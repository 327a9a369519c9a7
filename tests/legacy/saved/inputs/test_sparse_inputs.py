import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.sparse_inputs import sparse_parts
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def parts(build, *tensors):
    graph = traced(build)
    return sparse_parts(graph, ImportedGraph(graph), [TensorId(*tensor) for tensor in tensors])


def test_a_sparse_placeholder_is_known_by_its_names():
    found = parts(
        lambda: v1.sparse_placeholder(tf.float32, name="words"),
        ("words/indices", 0),
        ("words/values", 0),
        ("words/shape", 0),
    )
    assert found == {(f"words/{part}", 0): f"words/{part}" for part in ("indices", "values", "shape")}


def test_other_tensors_are_known_by_the_op_that_takes_them_together():
    def build():
        rows = v1.placeholder(tf.int64, [None, 2], name="rows")
        numbers = v1.placeholder(tf.float32, [None], name="numbers")
        size = tf.identity(v1.placeholder(tf.int64, [2], name="size"))
        v1.sparse_tensor_dense_matmul(tf.SparseTensor(rows, numbers, size), tf.zeros([7, 2]))

    found = parts(build, ("rows", 0), ("numbers", 0), ("size", 0))
    assert found == {("rows", 0): "rows/indices", ("numbers", 0): "rows/values", ("size", 0): "rows/shape"}


@pytest.mark.parametrize("dense", [True, False])
def test_a_dense_tensor_is_made_of_parts_whose_names_begin_apart(dense):
    def build():
        rows = v1.placeholder(tf.int64, [None, 2], name="letters/cut")
        size, numbers = v1.placeholder(tf.int64, [2], name="size"), v1.placeholder(tf.int64, [None], name="numbers")
        if dense:
            v1.sparse_to_dense(rows, size, numbers, tf.constant(0, tf.int64))
        else:
            tf.scatter_nd(rows, numbers, size)

    found = parts(build, ("letters/cut", 0), ("size", 0), ("numbers", 0))
    named = {("letters/cut", 0): "letters/indices", ("numbers", 0): "letters/values", ("size", 0): "letters/shape"}
    assert found == (named if dense else {})


def test_weights_of_a_lookup_have_the_indices_of_its_ids():
    def build():
        ids, others = (v1.sparse_placeholder(tf.int64, name=name) for name in ("ids", "others"))
        weights = v1.sparse_placeholder(tf.float32, name="weights")
        rows = tf.gather(tf.zeros([7, 2]), ids.values) * weights.values[:, None]
        total = tf.reduce_sum(tf.math.segment_sum(rows, ids.indices[:, 0]))
        total += tf.reduce_sum(tf.math.segment_sum(tf.ones_like(others.values, tf.float32), others.indices[:, 0]))

    names = [f"{name}/{part}" for name in ("others", "ids") for part in ("indices", "values")]
    found = parts(build, *((name, 0) for name in names), ("weights/values", 0))
    assert found == {**{(name, 0): name for name in names}, ("weights/values", 0): "ids/values"}


def test_indices_or_values_alone_are_dense():
    def build():
        v1.placeholder(tf.int64, [None], name="words/indices")
        v1.placeholder(tf.float32, [None], name="other/values")
        tf.gather(tf.zeros([7, 2]), v1.placeholder(tf.int64, [None], name="rows"))

    assert parts(build, ("words/indices", 0), ("other/values", 0), ("rows", 0)) == {}


def test_lists_of_sparse_tensors_have_a_tensor_of_each_number():
    """As of crossed columns, whose op takes any number of sparse tensors, and dense ones after them."""

    def crossed(sparse):
        def build():
            rows, numbers = v1.placeholder(tf.int64, [None, 2], name="rows"), v1.placeholder(tf.int64, [None], name="n")
            dense = [v1.placeholder(tf.int64, [None, 1], name=name) for name in ("occupation", "education")]
            tf.raw_ops.SparseCross(
                indices=[rows] if sparse else [],
                values=[numbers] if sparse else [],
                shapes=[tf.constant([4, 1], tf.int64)] if sparse else [],
                dense_inputs=dense,
                hashed_output=True,
                num_buckets=16,
                hash_key=7,
                out_type=tf.int64,
                internal_type=tf.int64,
            )

        return build

    inputs = [("rows", 0), ("n", 0), ("occupation", 0), ("education", 0)]
    assert parts(crossed(False), *inputs[2:]) == {}
    assert parts(crossed(True), *inputs) == {("rows", 0): "rows/indices", ("n", 0): "rows/values"}
