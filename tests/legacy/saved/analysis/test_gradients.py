import pytest
import tensorflow as tf

from legacy.saved.analysis import gradients, phases
from legacy.saved.analysis.context import Context
from tests.legacy.saved.graphs import graph_of, traced, two_towers
from workloads.lifted.graph import TensorId
from workloads.lifted.pieces.cutter import Cutter

v1 = tf.compat.v1


def probed(build, trainable=("w",)):
    """(combines, gradients of each tower, raw gradients of each tower) of a program with the train op "train"."""
    context = Context(traced(build), trainable)
    phase = phases.analyse_phase(context, "train")
    shapes = {name: (v.dtype, v.shape) for name, v in context.state.variables.items()}
    aliases = {f"{node}:{output}": variable for (node, output), variable in context.state.aliases.items()}
    cutter = Cutter(context.graph, aliases, shapes, context.record_signature, {})
    combines, of_towers = gradients.probe_gradients(context, phase, cutter)
    return combines, of_towers, gradients.raw_gradients(context, of_towers)


def test_a_mean_of_two_gradients_is_recognised_with_its_parts():
    (combine,), of_towers, raw = probed(two_towers)
    assert (combine.weight, combine.kind, combine.tensor) == ("w", "mean", "mean:0")
    assert [tower["w"].split("/")[0] for tower in of_towers] == ["tower_0", "tower_1"]
    assert combine.parts == [[tower["w"]] for tower in of_towers]
    assert raw == of_towers  # nothing clips


def clipping():
    w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
    halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2, name="halves")
    clipped = []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            gradient = tf.gradients(tf.reduce_sum(tf.multiply(halves[tower], w), name="loss"), [w])[0]
            clipped.append(tf.minimum(gradient, 1.0, name="clipped"))
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(clipped, name="total"), name="train")


def test_a_clipped_gradient_is_followed_back_to_the_raw_one():
    (combine,), of_towers, raw = probed(clipping)
    assert (combine.kind, combine.tensor) == ("sum", "total:0")
    assert of_towers == [{"w": "tower_0/clipped:0"}, {"w": "tower_1/clipped:0"}]
    assert all("/gradients/" in tower["w"] for tower in raw)


def by_hand():
    w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
    halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2)
    found = []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            found.append(tf.gradients(tf.reduce_sum(tf.multiply(halves[tower], w), name="loss"), [w])[0])
    tf.raw_ops.AssignSub(ref=w, value=tf.add_n(found, name="total"), name="train")


def test_an_assignment_by_hand_counts_as_a_gradient_where_it_trains():
    (combine,), of_towers, _ = probed(by_hand)
    assert (combine.weight, combine.kind) == ("w", "sum") and all("w" in tower for tower in of_towers)
    assert probed(by_hand, trainable=()) == ([], [{}, {}], [{}, {}])


def sparse():
    w = tf.raw_ops.VariableV2(shape=[5, 2], dtype=tf.float32, name="w")
    halves = tf.split(v1.placeholder(tf.int32, [4], name="rows"), 2)
    found = []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            taken = tf.raw_ops.Gather(params=w, indices=halves[tower])
            found.append(tf.gradients(tf.reduce_sum(taken * taken, name="loss"), [w])[0])
    values = tf.concat([each.values for each in found], 0, name="values")
    indices = tf.concat([each.indices for each in found], 0, name="indices")
    tf.raw_ops.ScatterSub(ref=w, indices=indices, updates=values, name="train")


def test_a_sparse_gradient_has_rows_and_indices():
    combines, of_towers, _ = probed(sparse)
    assert {combine.weight: (combine.kind, combine.tensor) for combine in combines} == {
        "w": ("concat", "values:0"),
        "w (indices)": ("concat", "indices:0"),
    }
    assert all(set(tower) == {"w", "w (indices)"} for tower in of_towers)


def nearest(text, is_candidate=lambda node, output: True):
    return gradients.nearest_derivative(graph_of(text), TensorId("end", 0), is_candidate)


def test_the_nearest_tensor_of_a_gradient_graph_is_found_breadth_first():
    text = (
        "gradients/far = Neg()\n gradients/near = Neg(gradients/far)\n norm = Sum()\n end = Mul(gradients/near, norm)"
    )
    assert nearest(text) == ("gradients/near", 0)
    assert nearest(text, lambda node, output: node != "gradients/near") == ("gradients/far", 0)
    assert nearest("x = Neg()\n end = Neg(x)") is None


def test_two_equally_near_tensors_are_none():
    assert nearest("gradients/a = Neg()\n gradients/b = Neg()\n end = Add(gradients/a, gradients/b)") is None


def test_a_gradient_of_another_shape_than_its_dense_variable_is_not_the_raw_one():
    context = Context(traced(clipping), ["w"])
    of_towers = [{"w": "tower_0/clipped:0"}, {"w (part 1)": "tower_1/clipped:0"}]
    first, second = gradients.raw_gradients(context, of_towers)
    assert list(first) == ["w"] and second == {}  # parts have no raw gradient of their own
    context.state.variables["w"] = context.state.variables["w"]._replace(shape=[3])
    assert gradients.raw_gradients(context, of_towers)[0] == {}


def clipped_rows(clip, count=4):
    """Towers that look rows up, and make the clipped gradient of the table dense."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[5, 2], dtype=tf.float32, name="w")
        halves = tf.split(v1.placeholder(tf.int32, [count], name="rows"), 2)
        clipped = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                taken = tf.raw_ops.Gather(params=w, indices=halves[tower])
                clipped.append(clip(tf.gradients(tf.reduce_sum(taken * taken, name="loss"), [w])[0]))
        delta = tf.add_n(clipped, name="total")
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=delta, name="train")

    return build


def test_rows_that_are_made_dense_before_they_are_clipped_are_the_raw_gradient():
    _, of_towers, raw = probed(clipped_rows(lambda rows: tf.clip_by_norm(tf.convert_to_tensor(rows), 1.0)))
    assert [tower["w"].rpartition("/")[2] for tower in raw] == ["UnsortedSegmentSum:0"] * 2 and raw != of_towers
    for count in (4, None):
        _, _, raw = probed(clipped_rows(lambda rows: tf.convert_to_tensor(tf.clip_by_norm(rows, 1.0)), count))
        assert raw == [{}, {}]  # what is made dense is clipped


def test_a_clipped_gradient_whose_number_of_rows_the_graph_leaves_open_is_behind_the_raw_one():
    """As of a weight behind images that are flattened by their sizes."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[3, 2], dtype=tf.float32, name="w")
        clipped = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                product = tf.raw_ops.MatMul(a=v1.placeholder(tf.float32, [4, None], name="x"), b=w)
                found = tf.gradients(tf.reduce_sum(product * product, name="loss"), [w])[0]
                clipped.append(tf.clip_by_value(found, -1.0, 1.0))
        delta = tf.add_n(clipped, name="total")
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=delta, name="train")

    _, of_towers, raw = probed(build)
    assert [list(tower) for tower in raw] == [["w"], ["w"]] and raw != of_towers


def test_rows_of_one_tower_are_concatenated_and_never_added():
    def build():
        w = tf.raw_ops.VariableV2(shape=[5, 2], dtype=tf.float32, name="w")
        taken = tf.raw_ops.Gather(params=w, indices=v1.placeholder(tf.int32, [4], name="rows"))
        (found,) = tf.gradients(tf.reduce_sum(taken * taken, name="loss"), [w])
        tf.raw_ops.ScatterSub(ref=w, indices=found.indices, updates=found.values, name="train")

    combines, _, _ = probed(build)
    assert [(combine.weight, combine.kind) for combine in combines] == [("w", "concat"), ("w (indices)", "concat")]


def test_a_dense_gradient_whose_number_of_rows_the_graph_leaves_open_is_no_rows():
    """As behind dropout by a fed share of unknown shape: an update of a whole weight takes the weight's own shape."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[3, 2], dtype=tf.float32, name="w")
        x = v1.placeholder(tf.float32, [4, 3], name="x") / v1.placeholder(tf.float32, None, name="keep")
        product = tf.raw_ops.MatMul(a=x, b=w)  # as 1.x multiplies what may have any rank
        found = [tf.gradients(tf.reduce_sum(loss), [w])[0] for loss in (product, product * product)]
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.reduce_mean(tf.stack(found), 0), name="train")

    ((combine,), _, _) = probed(build)
    assert (combine.weight, combine.kind) == ("w", "sum")


def open_rows(size):
    """A dense gradient of one tower, of a product with what was divided by a number of open shape."""
    w = tf.raw_ops.VariableV2(shape=[3, 2], dtype=tf.float32, name="w")
    x = tf.divide(v1.placeholder(tf.float32, [4, 3], name="x"), v1.placeholder_with_default(2.0, size, name="keep"))
    y = tf.matmul(x, w, name="y")
    with tf.name_scope("gradients/y_grad/"):
        gradient = tf.raw_ops.MatMul(a=x, b=tf.ones_like(y), transpose_a=True, name="MatMul_1")
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=gradient, name="train")
    return gradient


@pytest.mark.parametrize("size", [None, []])
def test_a_dense_gradient_of_any_number_of_rows_has_those_of_its_variable(size):
    ((combine,), _, _) = probed(lambda: open_rows(size))
    assert combine.kind == "sum"


def linear_behind(towers):
    """A program whose bias "b" has a gradient without data in the first `towers` of two towers."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        b = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="b")
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2)
        found = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                output = tf.tanh(tf.multiply(halves[tower], w)) + (b if tower < towers else 0.0)
                found.append(tf.gradients(tf.reduce_sum(output, name="loss"), [w, b]))
        of_w, of_b = ([one for one in own if one is not None] for own in zip(*found))
        changed = [
            tf.raw_ops.ApplyGradientDescent(var=variable, alpha=0.5, delta=tf.add_n(own), name=f"train_{name}")
            for variable, own, name in ((w, of_w, "w"), (b, of_b, "b"))
        ]
        tf.group(*(one.op for one in changed), name="train")

    return build


def test_a_gradient_without_data_is_each_towers_own():
    combines, of_towers, _ = probed(linear_behind(2), ("w", "b"))
    assert {combine.weight: combine.kind for combine in combines} == {"w": "sum", "b": "sum"}
    assert [sorted(tower) for tower in of_towers] == [["b", "w"], ["b", "w"]]


def test_a_gradient_without_data_of_one_tower_only_is_none_of_the_towers():
    combines, _, _ = probed(linear_behind(1), ("w", "b"))
    assert [combine.weight for combine in combines] == ["w"]


def divided_by_a_count():
    """Gradients of unknown shape, as a loop leaves them, whose mean is divided by the number of all towers' words."""
    w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
    halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2, name="halves")
    found, counts = [], []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            gradient = tf.gradients(tf.reduce_sum(tf.multiply(halves[tower], w), name="loss"), [w])[0]
            found.append(v1.placeholder_with_default(gradient, None, name="gradient"))
            counts.append(tf.reduce_sum(halves[tower], name="count"))
    mean = tf.reduce_mean(tf.stack(found), 0, name="mean")
    delta = tf.divide(mean, tf.add_n(counts, name="counts"), name="divided")
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=delta, name="train")


def test_a_count_is_not_taken_for_a_gradient_whose_shape_is_not_known():
    (combine,), of_towers, _ = probed(divided_by_a_count)
    assert (combine.kind, combine.tensor) == ("mean", "mean:0")
    assert of_towers == [{"w": "tower_0/gradient:0"}, {"w": "tower_1/gradient:0"}]
