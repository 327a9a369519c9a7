import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.integer_bounds import CLASSES, class_limit, least_mark, upper_bound
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def bound(use, shape=(4,)):
    """The bound of a placeholder of int32, from what `use` makes of it."""
    graph = traced(lambda: use(v1.placeholder(tf.int32, shape, name="labels")))
    return upper_bound(graph, ImportedGraph(graph), TensorId("labels", 0))


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda x: (tf.equal(x, 1), tf.equal(tf.reshape(x, [2, 2]), -1)), -1),
        (lambda x: tf.cast(tf.not_equal(tf.cast(x, tf.float32), -2.0), tf.float32), -2),
        (lambda x: (tf.equal(x, 1), tf.equal(x, 0)), 0),
        (lambda x: tf.equal(x, [-1, 0, 1, 2]), 0),  # no mark of all
        (lambda x: (tf.equal(x, -1), tf.gather(tf.zeros([5, 3]), x)), 0),  # rows, and an error for -1
    ],
)
def test_the_least_negative_mark_is_that_which_labels_are_compared_with(use, expected):
    graph = traced(lambda: use(v1.placeholder(tf.int32, [4], name="labels")))
    assert least_mark(graph, ImportedGraph(graph), TensorId("labels", 0)) == expected


def table(rows):
    return tf.zeros([rows, 3])


def resource_gather(labels):
    handle = tf.raw_ops.Identity(input=tf.raw_ops.VarHandleOp(shape=[6, 3], dtype=tf.float32))
    tf.raw_ops.ResourceGather(resource=handle, indices=labels, dtype=tf.float32)


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda labels: tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=tf.zeros([4, 7]), labels=labels), 7),
        (lambda labels: tf.raw_ops.Gather(params=table(5), indices=labels), 5),
        (lambda labels: tf.raw_ops.GatherV2(params=table(5), indices=labels, axis=0), 5),
        (resource_gather, 6),
        (lambda labels: tf.one_hot(labels, 9), 9),
        (lambda labels: tf.raw_ops.ReverseSequence(input=tf.zeros([4, 8]), seq_lengths=labels, seq_dim=1), 8),
    ],
)
def test_ops_that_take_labels_or_rows_set_a_bound(use, expected):
    assert bound(use) == expected


@pytest.mark.parametrize(
    "use",
    [
        lambda labels: tf.negative(labels),
        lambda labels: tf.raw_ops.GatherV2(params=labels, indices=[0], axis=0),  # the table, not the rows
        lambda labels: tf.one_hot(labels, v1.placeholder(tf.int32, [], name="depth")),
        lambda labels: tf.gather(v1.placeholder(tf.float32, name="any_rank"), labels),
        lambda labels: tf.one_hot(labels * 2, 9),  # other numbers
    ],
)
def test_other_uses_set_none(use):
    assert bound(use) == 0


def loop(labels, steps, name="time"):
    """A loop as `dynamic_rnn` makes it: a row is kept once the counter has reached its length."""
    rows = tf.zeros([4])

    def body(time, sums):
        return time + 1, tf.where(tf.greater_equal(time, labels), sums, sums + 1.0)

    v1.disable_control_flow_v2()
    try:
        v1.while_loop(lambda time, _: tf.less(time, steps), body, (tf.constant(0, name=name), rows))
    finally:
        v1.enable_control_flow_v2()


@pytest.mark.parametrize(
    "steps, expected",
    [
        (lambda: 5, 6),
        (lambda: tf.shape(v1.placeholder(tf.float32, [4, 7, 3]))[1], 8),
        (lambda: v1.placeholder(tf.int32, [], name="steps"), 0),
    ],
    ids=["a number", "a dimension", "not known"],
)
def test_lengths_of_sequences_are_at_most_the_turns_of_the_loop(steps, expected):
    assert bound(lambda labels: loop(labels, steps())) == expected


@pytest.mark.parametrize("strategy", ["div", "mod"])
def test_integers_that_choose_a_part_of_a_table_are_rows_of_the_whole(strategy):
    parts = lambda sizes: [table(size) for size in sizes]  # noqa: E731
    assert bound(lambda ids: v1.nn.embedding_lookup(parts([4, 4, 3]), ids, partition_strategy=strategy)) == 11
    assert bound(lambda ids: v1.nn.embedding_lookup(parts([4]), ids, partition_strategy=strategy)) == 4


def test_integers_that_are_dealt_out_to_no_tables_have_no_bound():
    dealt = lambda ids: tf.dynamic_partition(ids // 2, ids % 2, 2)  # noqa: E731
    assert bound(dealt) == 0
    assert bound(lambda ids: tf.gather(table(5), dealt(ids)[0])) == 0


@pytest.mark.parametrize("adjoint, expected", [(False, 7), (True, 0)])
def test_the_columns_of_a_sparse_matrix_are_the_rows_of_what_it_is_multiplied_with(adjoint, expected):
    def build():
        indices = v1.placeholder(tf.int64, [5, 2], name="labels")
        tf.raw_ops.SparseTensorDenseMatMul(
            a_indices=indices,
            a_values=tf.zeros([5]),
            a_shape=[7, 7],
            b=tf.zeros([7, 2]),
            adjoint_a=adjoint,
        )
        tf.gather(tf.zeros([9, 2]), indices[:, 0])

    graph = traced(build)
    assert upper_bound(graph, ImportedGraph(graph), TensorId("labels", 0)) == (expected or 9)


def test_labels_of_a_sequence_stay_below_the_blank():
    def use(labels):
        indices = tf.zeros([4, 2], tf.int64)
        tf.raw_ops.CTCLoss(
            inputs=tf.zeros([3, 4, 6]), labels_indices=indices, labels_values=labels, sequence_length=[3] * 4
        )

    assert bound(use) == 5


def ctc(labels):
    places = tf.zeros([2, 2], tf.int64)
    return tf.raw_ops.CTCLoss(
        inputs=tf.zeros([6, 2, 7]), labels_indices=places, labels_values=labels, sequence_length=[6, 6]
    )


def test_elements_of_labels_have_the_bound_of_the_op_that_takes_them():
    """As labels whose padding is left out, by `gather_nd` or a mask; the places are no labels."""
    picked = lambda x: ctc(tf.gather_nd(tf.reshape(x, [2, 2]), [[0, 0], [1, 1]]))  # noqa: E731
    masked = lambda x: ctc(tf.boolean_mask(x, tf.constant([True, False, True, False])))  # noqa: E731
    place = lambda x: ctc(tf.gather_nd(tf.zeros([5], tf.int32), tf.reshape(x, [2, 2])[:, :1]))  # noqa: E731

    assert bound(picked) == bound(masked) == 6
    assert not bound(place)


def test_sequences_of_labels_are_as_long_as_their_steps():
    def use(lengths):
        tf.raw_ops.CTCLoss(
            inputs=tf.zeros([7, 4, 6]),
            labels_indices=tf.zeros([4, 2], tf.int64),
            labels_values=[1] * 4,
            sequence_length=lengths,
        )

    assert bound(use) == 8


def test_labels_that_are_joined_with_themselves_are_bounded_once():
    assert bound(lambda labels: tf.one_hot(tf.concat([labels, labels], 0), 6)) == 6


def test_the_lowest_bound_of_all_uses_counts_through_ops_that_only_rearrange():
    def use(labels):
        first, second = tf.split(tf.reshape(tf.cast(labels, tf.int64), [2, 2]), 2)
        tf.gather(table(8), first)
        tf.gather(table(5), second)
        tf.one_hot(labels, 6)

    assert bound(use) == 5


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda maps: tf.one_hot(tf.squeeze(tf.cast(maps, tf.int64), 1), 9), 9),
        (lambda maps: tf.raw_ops.UniqueWithCounts(x=tf.reshape(maps, [-1])), CLASSES),
        (lambda maps: [tf.one_hot(tf.cast(maps, tf.int32), 5), tf.raw_ops.Unique(x=tf.reshape(maps, [-1]))], 5),
        (lambda maps: tf.cast(tf.sqrt(maps), tf.int32), 0),
        (lambda maps: tf.cast(maps, tf.int32), 0),
    ],
)
def test_floats_that_an_op_takes_as_classes_are_whole_numbers(use, expected):
    graph = traced(lambda: use(v1.placeholder(tf.float32, [4, 1], name="maps")))
    assert class_limit(graph, ImportedGraph(graph), TensorId("maps", 0)) == expected


def flattened(labels, begin, other=False):
    """Cross entropy of [?, ?, 7] logits as 1.x computes it: their classes are a part of the logits' own shape."""
    logits = v1.placeholder(tf.float32, [None, None, 7], name="logits")
    whole = tf.shape(v1.placeholder(tf.float32, [None, None, 9], name="other") if other else logits)
    rank = tf.constant(3)
    place = tf.raw_ops.Pack(values=[tf.raw_ops.Sub(x=rank, y=begin)], axis=0)
    classes = tf.strided_slice(whole, place, place + 1, shrink_axis_mask=1)
    flat = tf.raw_ops.Reshape(tensor=logits, shape=tf.stack([-1, classes]))
    tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=flat, labels=labels)


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda x: flattened(x, 1), 7),
        (lambda x: (flattened(x, 1), tf.gather(table(9), x)), 7),  # of a table with a row more, as for padding
        (lambda x: flattened(x, 2), 0),  # another dimension
        (lambda x: flattened(x, 1, other=True), 0),  # that of another tensor
    ],
)
def test_classes_that_are_flattened_by_their_own_shape_set_a_bound(use, expected):
    assert bound(use) == expected
