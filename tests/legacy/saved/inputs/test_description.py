import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.description import InputDescriber, batch_size
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def build():
    tf.split(v1.placeholder(tf.float32, [4, 3], name="images"), 2, name="halves")
    labels = v1.placeholder(tf.int64, [None], name="labels")
    tf.one_hot(tf.identity(labels, name="own_labels"), 5)
    v1.placeholder(tf.float32, [], name="rate")
    v1.placeholder(tf.float32, name="any_rank")
    table = v1.placeholder(tf.float32, [7, 3], name="table")
    tf.add(table, v1.placeholder(tf.float32, [7, 3], name="shift"), name="moved")


GRAPH = traced(build)
IMPORTED = ImportedGraph(GRAPH)
ORIGINS = {name: (f"queue/{name}:0", "QueueDequeue") for name in ("images", "labels", "table", "shift")}


def described(*rows, batch=2, shared=False, common=False):
    rows = [[TensorId(*tensor) for tensor in row] for row in rows]
    return InputDescriber(GRAPH, IMPORTED, ORIGINS, batch, shared).describe(rows, common)


def test_an_input_is_named_after_its_only_placeholder():
    (halves,) = described([("halves", 0), ("halves", 1)])
    assert (halves.name, halves.origin, halves.tensors) == ("images", "queue/images:0", ["halves:0", "halves:1"])
    assert (halves.dtype, halves.shape, halves.kind, halves.limit) == ("float32", [2, 3], "batch", 0)


def test_integers_have_their_bound_and_open_batches_are_batches():
    (labels,) = described([("labels", 0)])
    assert (labels.shape, labels.kind, labels.limit) == ([None], "batch", 5)


def test_an_input_that_is_made_from_two_placeholders_has_its_own_name():
    (moved,) = described([("moved", 0)])
    assert (moved.name, moved.origin, moved.kind) == ("moved", "moved:0", "whole")


def test_a_name_that_is_taken_gives_way_to_the_node_and_then_to_the_tensor():
    rows = [[("images", 0)], [("halves", 0)], [("halves", 1)]]
    assert [entry.name for entry in described(*rows)] == ["images", "halves", "halves:1"]


def test_kinds_of_inputs():
    def kind(*row, **options):
        return described(list(row), **options)[0].kind

    assert kind(("rate", 0)) == kind(("any_rank", 0)) == "setting"
    assert kind(("halves", 0), ("halves", 0)) == "same" and kind(("halves", 0), common=True) == "same"
    assert (
        kind(("halves", 0), ("halves", 0), shared=True)
        == kind(("labels", 0), ("labels", 0), shared=True)
        == "same batch"
    )
    assert kind(("halves", 0), ("halves", 0), shared=True, batch=4) == "same"
    assert kind(("halves", 0), shared=True, common=True) == "same"
    assert kind(("halves", 0), batch=2) == "batch" and kind(("halves", 0), batch=4) == "whole"


def test_the_batch_size_is_the_first_dimension_that_most_own_inputs_share():
    def size(*rows):
        return batch_size(GRAPH, IMPORTED, [[TensorId(*tensor) for tensor in row] for row in rows])

    halves, table = [("halves", 0), ("halves", 1)], [("table", 0)]
    assert size(halves, table, [("halves", 1)]) == 2
    assert size(table, table, halves) == 7
    assert size([("halves", 0), ("halves", 0)], table) == 7  # one tensor for both towers, and another for each
    assert size([("halves", 0), ("halves", 0)], [("rate", 0)]) == 2
    assert size([("labels", 0)]) is None and size([("rate", 0)]) is None and size() is None


def test_a_first_dimension_before_an_open_one_is_time_unless_there_is_nothing_else():
    def build():
        v1.placeholder(tf.float32, [5, None, 3], name="frames")
        v1.placeholder(tf.int32, [None], name="lengths")

    graph = traced(build)
    rows = [[TensorId("frames", 0)], [TensorId("lengths", 0)]]
    assert batch_size(graph, ImportedGraph(graph), rows) is None
    assert batch_size(graph, ImportedGraph(graph), rows[:1]) == 5


@pytest.mark.parametrize("last, size", [(slice(4, 8), 8), (slice(4, None), None)])
def test_inputs_of_any_number_of_rows_have_those_that_constant_slices_take(last, size):
    """As where what one tower computes is made from another's rows, so that all are one tower."""

    def build():
        x, labels = (v1.placeholder(tf.float32, [None, 3], name) for name in ("x", "labels"))
        tf.add(tf.tanh(x[:4]), tf.tanh(labels[last]))

    graph = traced(build)
    rows = [[TensorId("x", 0)], [TensorId("labels", 0)]]
    assert batch_size(graph, ImportedGraph(graph), rows) == size


@pytest.mark.parametrize("sequences, size, kinds", [(2, 2, ["whole", "batch"]), (3, None, ["batch", "whole"])])
def test_open_times_before_as_many_sequences_as_there_are_lengths_are_no_examples(sequences, size, kinds):
    """Labels of three classes are examples, though their number is open and two lengths are beside them."""

    def build():
        frames = v1.placeholder(tf.float32, [None, sequences, 3], "frames")
        lengths = v1.placeholder(tf.int32, [2], "lengths")
        tf.reverse_sequence(v1.placeholder(tf.float32, [2, 7], "words"), lengths, seq_axis=1, batch_axis=0)
        tf.square(frames, name="squares")

    graph = traced(build)
    imported, rows = ImportedGraph(graph), [[TensorId("frames", 0)], [TensorId("lengths", 0)]]
    assert batch_size(graph, imported, rows) == size
    assert [entry.kind for entry in InputDescriber(graph, imported, {}, size).describe(rows)] == kinds


def test_an_array_of_unknown_rank_is_a_batch_and_a_scalar_is_none():
    def build():
        tf.reshape(tf.split(v1.placeholder(tf.float32, name="x"), 2, name="halves")[0], [-1, 3])

    graph = traced(build)
    (entry,) = InputDescriber(graph, ImportedGraph(graph), {}, None).describe([[TensorId("halves", 0)]])
    assert (entry.shape, entry.kind) == (None, "batch")


def test_the_parts_of_a_sparse_batch_are_no_settings_though_their_placeholders_have_no_shape():
    """CTC labels, as programs made them by hand; a value alone, without a shape, is a setting."""

    def build():
        parts = [v1.placeholder(tf.int64, name="indices"), v1.placeholder(tf.int32, name="values")]
        labels = tf.SparseTensor(*parts, v1.placeholder(tf.int64, name="shape"))
        v1.nn.ctc_loss(labels, v1.placeholder(tf.float32, [5, 2, 4], name="logits"), tf.constant([5, 5]))
        tf.multiply(v1.placeholder(tf.float32, name="rate"), 2.0)

    graph = traced(build)
    rows = [[TensorId(name, 0)] for name in ("indices", "values", "rate")]
    entries = InputDescriber(graph, ImportedGraph(graph), {}, None).describe(rows)
    assert [entry.kind for entry in entries] == ["batch", "batch", "setting"]
    assert [entry.shape for entry in entries] == [[None, None], [None], None]


def test_a_fed_scalar_that_one_minus_is_taken_of_is_a_share():
    """Such as a rate of dropout; `keep` and a rate are none, nor is an array of targets."""

    def build():
        drop, keep, x = [v1.placeholder(tf.float32, shape, name) for name, shape in SCALARS.items()]
        tf.divide(x * keep, 1.0 - drop, name="dropped")
        tf.subtract(2.0, keep)
        tf.subtract(1.0, x)

    graph = traced(build)
    found = InputDescriber(graph, ImportedGraph(graph), {}, None).describe([[TensorId(name, 0)] for name in SCALARS])
    assert [entry.kind for entry in found] == ["setting", "setting", "batch"]
    assert [entry.is_share for entry in found] == [True, False, False]


SCALARS = {"one": None, "other": None, "x": [None, 3]}


@pytest.mark.parametrize(
    "dtype, origin, kind",
    [
        (tf.int32, "QueueDequeueV2", "whole"),
        (tf.int64, "IteratorGetNext", "whole"),
        (tf.int32, "Placeholder", "setting"),
        (tf.float32, "QueueDequeueV2", "setting"),
    ],
)
def test_a_place_in_a_text_that_a_queue_gives_is_no_setting(dtype, origin, kind):
    """`tf.train.range_input_producer` gives the place from which a part of a constant text is taken."""

    def build():
        place = v1.placeholder(dtype, [], "place")
        tf.gather(tf.range(9), tf.cast(place, tf.int32), name="words")

    graph = traced(build)
    describer = InputDescriber(graph, ImportedGraph(graph), {"place": ("queue:0", origin)}, None, False)
    (found,) = describer.describe([[TensorId("place", 0)]])
    assert found.kind == kind


def test_slices_whose_shape_their_program_set_have_its_batch():
    def sliced():
        tf.split(tf.identity(v1.placeholder(tf.float32, name="x")), 2, name="part")

    graph = traced(sliced)
    rows = [[TensorId("part", 0), TensorId("part", 1)]]
    assert batch_size(graph, ImportedGraph(graph), rows) is None
    shapes = v1.AttrValue()
    shapes.list.shape.extend([tf.TensorShape([3, 8]).as_proto()] * 2)
    graph.nodes["part"].attr["_output_shapes"].CopyFrom(shapes)
    assert batch_size(graph, ImportedGraph(graph), rows) == 3
