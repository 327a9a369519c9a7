import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.batch_slices import DATA, batch_slices
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1
TOWER = (2, 4)


def slices_of(build, known=(), model=()):
    """The slices of a graph where "x" is common data, and nodes named t0*, t1* are labelled as towers 0 and 1."""
    graph = traced(build)
    labels = {name: int(name[1]) for name in graph.nodes if name.startswith(("t0", "t1"))}
    masks = {name: DATA | TOWER[labels[name]] if name in labels else 0 for name in graph.nodes}
    masks["x"] = DATA
    return batch_slices(graph, ImportedGraph(graph), masks, labels, known, model)


def batch():
    return v1.placeholder(tf.float32, [4, 3], name="x")


def test_towers_that_take_different_parts_of_a_batch_slice_it():
    def build():
        x = batch()
        tf.raw_ops.Slice(input=x, begin=[0, 0], size=[2, 3], name="t0_half")
        tf.raw_ops.Slice(input=x, begin=[2, 0], size=[2, 3], name="t1_half")

    assert slices_of(build) == {"t0_half", "t1_half"}
    assert slices_of(build, known={"t0_half", "t1_half"}) == set()


def prepared(first=tf.negative, second=tf.negative, begin=2):
    """Towers that each compute with the whole batch before they take their part."""

    def build():
        x = batch()
        for tower, (prepare, start) in enumerate(((first, 0), (second, begin))):
            whole = prepare(x, name=f"t{tower}_whole")
            tf.raw_ops.Slice(input=whole, begin=[start, 0], size=[2, 3], name=f"t{tower}_half")

    return build


def test_what_towers_compute_alike_of_the_whole_batch_before_they_slice_it_is_outside_of_them():
    assert slices_of(prepared()) == {"t0_whole", "t1_whole", "t0_half", "t1_half"}


def test_parts_of_what_towers_compute_differently_or_with_weights_and_equal_parts_are_no_slices():
    assert slices_of(prepared(second=tf.abs)) == set()
    assert slices_of(prepared(begin=0)) == set()
    assert slices_of(prepared(), model=["t0_whole", "t1_whole"]) == set()


def test_towers_that_take_the_same_part_do_not():
    def build():
        x = batch()
        for tower in range(2):
            tf.raw_ops.Slice(input=x, begin=[0, 0], size=[2, 3], name=f"t{tower}_half")

    assert slices_of(build) == set()


def test_one_tower_that_uses_the_batch_whole_makes_the_others_part_no_slice():
    def build():
        x = batch()
        tf.raw_ops.Slice(input=x, begin=[0, 0], size=[2, 3], name="t0_half")
        tf.negative(x, name="t1_neg")

    assert slices_of(build) == set()


def test_a_size_of_the_batch_is_no_part_of_it():
    def build():
        x = batch()
        tf.raw_ops.Slice(input=x, begin=[0, 0], size=[2, 3], name="t0_half")
        tf.raw_ops.Slice(input=x, begin=[2, 0], size=[2, 3], name="t1_half")
        tf.raw_ops.Shape(input=x, name="t0_shape")

    assert slices_of(build) == {"t0_half", "t1_half"}


def test_indices_that_are_not_constant_count_as_different():
    def build():
        x = batch()
        for tower in range(2):
            rows = v1.placeholder(tf.int32, [2], name=f"rows{tower}")
            tf.raw_ops.GatherV2(params=x, indices=rows, axis=0, name=f"t{tower}_rows")

    assert slices_of(build) == {"t0_rows", "t1_rows"}


def test_what_is_looked_up_by_data_is_no_part_of_a_batch():
    """As the weights of the classes of a tower's labels, which its loss takes, too."""

    def build(is_label):
        x = batch()
        for tower in range(2):
            labels = v1.placeholder(tf.int64, [2], name=f"labels{tower}")
            tf.raw_ops.GatherV2(params=x, indices=tf.cast(labels, tf.int32), axis=0, name=f"t{tower}_rows")
            if is_label:
                tf.one_hot(labels, 3, name=f"t{tower}_code")

    assert slices_of(lambda: build(True)) == set()
    assert slices_of(lambda: build(False)) == {"t0_rows", "t1_rows"}


def test_each_tower_may_split_the_batch_and_take_its_own_output():
    def build():
        x = batch()
        for tower in range(2):
            halves = tf.raw_ops.Split(axis=0, value=x, num_split=2, name=f"t{tower}_split")
            tf.negative(halves[tower], name=f"t{tower}_neg")

    assert slices_of(build) == {"t0_split", "t1_split"}


def test_one_split_under_the_first_towers_label_serves_all():
    def build():
        halves = tf.raw_ops.Split(axis=0, value=batch(), num_split=2, name="t0_split")
        tf.negative(halves[0], name="t0_neg")
        tf.negative(halves[1], name="t1_neg")

    assert slices_of(build) == {"t0_split"}


def test_a_split_inside_one_tower_is_its_own():
    def build():
        own = tf.negative(batch(), name="t0_own")
        halves = tf.raw_ops.Split(axis=0, value=own, num_split=2, name="t0_split")
        tf.add(halves[0], halves[1], name="t0_sum")

    assert slices_of(build) == set()


def stacks_of(deal, axis=0, stack=tf.stack):
    """The slices where towers stack rows of an unstacked batch, of which `deal` gives those of a tower."""

    def build():
        rows = tf.unstack(tf.identity(batch(), name="rows"), axis=axis)
        for tower in range(2):
            stack(deal(rows, tower), name=f"t{tower}_stack")

    graph = traced(build)
    own = [name for name in graph.nodes if name.startswith("t") and graph.type(name) != "Const"]
    labels = {name: int(name[1]) for name in own}
    masks = {name: DATA if name not in labels else DATA | TOWER[labels[name]] for name in graph.nodes}
    return batch_slices(graph, ImportedGraph(graph), masks, labels, ())


def test_rows_that_towers_stack_again_are_their_parts():
    assert stacks_of(lambda rows, tower: rows[tower::2]) == {"t0_stack", "t1_stack"}


def parallel(rows, name, axis=0):
    """What `tf.parallel_stack` makes; it runs in graphs of 1.x alone."""
    single = [tf.expand_dims(row, axis, name=f"{name}/row_{number}") for number, row in enumerate(rows)]
    return tf.raw_ops.ParallelConcat(values=single, shape=[len(rows), *rows[0].shape], name=f"{name}/all")


def test_rows_that_towers_stack_in_parallel_are_their_parts():
    found = stacks_of(lambda rows, tower: rows[tower::2], stack=parallel)
    assert {"t0_stack/all", "t1_stack/all", "t0_stack/row_0"} <= found
    assert stacks_of(lambda rows, tower: rows[tower : tower + 2], stack=parallel) == set()
    assert stacks_of(lambda rows, tower: [*rows[tower::2], tf.zeros([3])], stack=parallel) == set()


def test_rows_that_several_towers_stack_or_columns_or_what_is_stacked_beside_them_are_none():
    assert stacks_of(lambda rows, tower: rows[tower : tower + 2]) == set()
    assert stacks_of(lambda rows, tower: rows[tower::2], axis=1) == set()
    assert stacks_of(lambda rows, tower: [*rows[tower::2], tf.zeros([3])]) == set()
    assert stacks_of(lambda rows, tower: rows if tower == 0 else [tf.zeros([3])]) == set()


def test_other_nodes_keep_their_attributes():
    graph = traced(lambda: tf.negative(batch(), name="t0_neg"))
    before = graph.graph_def.SerializeToString(deterministic=True)
    masks = {name: DATA for name in graph.nodes}
    batch_slices(graph, ImportedGraph(graph), masks, {"t0_neg": 0}, ())
    assert graph.graph_def.SerializeToString(deterministic=True) == before
