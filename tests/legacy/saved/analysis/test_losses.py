import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis import losses
from legacy.saved.analysis.context import Context
from legacy.saved.analysis.loss_scale import loss_scale
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.tower_search.towers import Towers
from tests.legacy.saved.graphs import graph_of, traced, two_towers
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.cutter import Cutter

v1 = tf.compat.v1


def test_a_gradient_graph_starts_from_the_node_that_its_first_op_is_named_after():
    graph = graph_of("""
        loss = Sum()
        gradients/Fill = Fill()
        gradients/loss_grad/Tile = Tile(gradients/Fill)
        gradients_1/grad_ys_0 = Identity()
        gradients_1/other_grad/Mul = Mul(gradients_1/grad_ys_0)
    """)
    members = set(graph.nodes)
    assert differentiated(graph, members) == ["loss"]  # "other" is no node
    assert differentiated(graph, members - {"gradients/Fill"}) == []
    assert differentiated(graph, members - {"gradients/loss_grad/Tile"}) == []
    assert differentiated(graph, members - {"loss"}) == ["loss"]


def test_what_is_differentiated_for_a_penalty_on_gradients_is_no_loss():
    graph = graph_of("""
        critic = Reshape()
        gradients/grad_ys_0 = Const()
        gradients/critic_grad/Reshape = Reshape(gradients/grad_ys_0)
        penalty = Square(gradients/critic_grad/Reshape)
        loss = AddV2(critic, penalty)
        gradients_1/Fill = Const()
        gradients_1/loss_grad/Sum = Sum(gradients_1/Fill)
    """)
    assert differentiated(graph, set(graph.nodes)) == ["loss"]


@pytest.mark.parametrize(
    "summed, addend, found",
    [
        ("gradients/AddN", "gradients/loss_grad/Tile", ["loss"]),
        ("total", "gradients/loss_grad/Tile", ["loss"]),
        ("total", "data", ["loss", "part"]),
    ],
)
def test_a_part_that_is_computed_again_from_a_sum_of_gradients_is_no_loss(summed, addend, found):
    graph = graph_of(f"""
        part = Reshape()
        loss = Sum()
        gradients/Fill = Const()
        gradients/loss_grad/Tile = Tile(gradients/Fill)
        data = Placeholder()
        {summed} = AddN({addend}, {addend})
        gradients/again_grad/gradients/grad_ys_0 = Identity({summed})
        gradients/again_grad/gradients/part_grad/Mul = Mul(gradients/again_grad/gradients/grad_ys_0)
    """)
    assert differentiated(graph, set(graph.nodes)) == found


def test_a_constant_axis_of_a_gradient_op_is_no_derivative():
    graph = graph_of(
        """
        gradients/Const = Const()
        split = Split()
        gradients/split_grad/concat = ConcatV2(gradients/Const)
    """,
        **{"gradients/Const": {"dtype": tf.int32}},
    )
    assert differentiated(graph, set(graph.nodes)) == []


@pytest.mark.parametrize("value, targets", [([0.0, 0.0], []), ([1.0, 0.0], ["unstack"])])
def test_zeros_for_an_output_that_nothing_uses_start_no_gradient_graph(value, targets):
    """As in a loop that takes a state apart, and uses one part of it."""
    constant = {"dtype": tf.float32, "value": np.array(value, np.float32)}
    graph = graph_of(
        """
        gradients/Const_1 = Const()
        unstack = Unpack()
        gradients/unstack_grad/stack = Pack(gradients/Const_1)
    """,
        **{"gradients/Const_1": constant},
    )
    assert differentiated(graph, set(graph.nodes)) == targets


def found(build, combined=()):
    """(losses, loss scale) of a program with the train op "train"."""
    context = Context(traced(build))
    members = context.graph.ancestors(["train"])
    tensors = losses.find_losses(context.graph, context.towers, members).main
    shapes = {name: (v.dtype, v.shape) for name, v in context.state.variables.items()}
    aliases = {f"{node}:{output}": variable for (node, output), variable in context.state.aliases.items()}
    cutter = Cutter(context.graph, aliases, shapes, lambda name: context.signature(parse_tensor_name(name)), {})
    scale = loss_scale(context.graph, context.imported, context.towers, cutter, members, tensors, combined)
    return tensors, scale


def test_each_tower_has_the_loss_that_it_differentiates():
    assert found(two_towers) == ([("tower_0/loss", 0), ("tower_1/loss", 0)], 1.0)


def towers_with(make_delta, scale=lambda loss: loss):
    """Two towers of which `make_delta` gets the losses and the variable, and returns what is subtracted."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2)
        tensors = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_sum(tf.multiply(halves[tower], w, name="product"), name="loss")
                tensors.append(scale(loss))
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=make_delta(tensors, w), name="train")

    return build


@pytest.mark.parametrize("factor", [0.5, 0.25])
def test_a_loss_of_all_towers_is_followed_back_to_theirs_and_weighted_by_its_derivative(factor):
    def gradient_of_sum(tensors, w):
        return tf.gradients(tf.multiply(tf.add_n(tensors), factor, name="whole"), [w])[0]

    assert found(towers_with(gradient_of_sum)) == ([("tower_0/loss", 0), ("tower_1/loss", 0)], factor)


@pytest.mark.parametrize(
    "total, weights",
    [
        (lambda first, second, w: tf.reduce_sum([*first, *second]) / 8.0, []),
        (lambda first, second, w: tf.reduce_mean([first[0], second[0], first[1], second[1]]), []),
        (lambda first, second, w: tf.add_n(first) / 2.0 + 0.5 * tf.add_n(second), []),
        (lambda first, second, w: tf.add_n(first) / 2.0 + tf.reduce_mean(second) + tf.nn.l2_loss(w) * 0.1, []),
        (lambda first, second, w: tf.add_n(first) / 2.0 + tf.add_n(second) * 0.25, [0.5, 0.25]),
        (lambda first, second, w: tf.add_n(first) / 2.0 + tf.square(first[0] * second[1]), None),  # not linear
        (
            lambda first, second, w: tf.add_n([first[0], *first]) / 2.0 + tf.add_n(second) / 2.0,
            None,
        ),  # one counts twice
        (lambda first, second, w: tf.add_n(first) + second[1], None),  # one tower has more of them
    ],
)
def test_the_terms_of_a_sum_over_all_towers_are_losses_of_theirs(total, weights):
    second = []

    def with_second(loss):
        second.append(tf.square(loss, name="second"))
        return loss

    def gradient(first, w):
        return tf.gradients(tf.identity(total(first, second, w), name="whole"), [w])[0]

    context = Context(traced(towers_with(gradient, with_second)))
    found = losses.find_losses(context.graph, context.towers, context.graph.ancestors(["train"]))
    if weights is not None:
        assert found.main == [("tower_0/loss", 0), ("tower_1/loss", 0)] and list(found.weights) == weights
    assert found.others == ([] if weights is None else [[("tower_0/second", 0), ("tower_1/second", 0)]])


@pytest.mark.parametrize("is_alike", [True, False])
def test_a_loss_over_what_all_towers_count_is_that_of_its_tower(is_alike):
    """As a sum over words divided by all towers', each differentiated alone: no count of another tower is a term."""
    counts = []

    def with_count(loss):
        counts.append(tf.reduce_sum(tf.square(loss), name="count"))
        return loss

    def gradient(tensors, w):
        total = tf.add_n(counts)
        second = tensors[1] if is_alike else tf.add_n(tensors)
        minimized = [tensors[0] / total, second / total]
        return tf.add_n([tf.gradients(loss, [w], stop_gradients=[total])[0] for loss in minimized])

    context = Context(traced(towers_with(gradient, with_count)))
    found = losses.find_losses(context.graph, context.towers, context.graph.ancestors(["train"]))
    assert found.main == [("tower_0/loss", 0), ("tower_1/loss", 0)] and found.others == []


@pytest.mark.parametrize("stop, count", [(tf.stop_gradient, 1), (tf.identity, 0)])
def test_terms_that_are_weighted_outside_of_the_towers_are_those_of_the_tower_that_differentiates_them(stop, count):
    """Each tower's classes and boxes count by its share of all points, which are no terms; not if they are learned."""
    boxes, points = [], []

    def with_boxes(loss):
        boxes.append(tf.square(loss, name="boxes"))
        points.append(tf.reduce_sum(tf.square(loss), name="points"))
        return loss

    def gradient(classes, w):
        shares = [stop(own / tf.add_n(points)) for own in points]
        weighted = [share * (a + b * share) for share, a, b in zip(shares, classes, boxes)]
        return tf.add_n([tf.gradients(loss, [w])[0] for loss in weighted])

    context = Context(traced(towers_with(gradient, with_boxes)))
    found = losses.find_losses(context.graph, context.towers, context.graph.ancestors(["train"]))
    losses_of = [[("tower_0/loss", 0), ("tower_1/loss", 0)], [("tower_0/boxes", 0), ("tower_1/boxes", 0)]]
    assert ([found.main, *found.others] == losses_of) == bool(count)


def test_a_loss_of_all_towers_that_cannot_be_run_with_made_up_losses_counts_once():
    def gradient_of_checked_sum(tensors, w):
        whole = tf.multiply(tf.add_n(tensors), 0.25, name="weighted")
        checked = tf.reshape(whole, v1.placeholder(tf.int32, [1], name="sizes") - 3)
        return tf.gradients(tf.reduce_sum(checked, name="whole"), [w])[0]

    tensors, scale = found(towers_with(gradient_of_checked_sum))
    assert (len(tensors), scale) == (2, 1.0)


def test_where_other_terms_cannot_be_run_with_made_up_losses_the_factors_are_the_weight():
    second = []

    def with_second(loss):
        sizes = v1.placeholder(tf.int32, [1], name="sizes") - 3
        second.append(tf.reduce_sum(tf.reshape(tf.square(loss), sizes), name="second"))
        return loss

    def gradient(first, w):
        return tf.gradients(tf.add_n(first) / 2.0 + 0.1 * tf.add_n(second), [w])[0]

    assert found(towers_with(gradient, with_second)) == ([("tower_0/loss", 0), ("tower_1/loss", 0)], 0.5)


def own_gradients(tensors, w):
    return tf.add_n([tf.gradients(tensor, [w])[0] for tensor in tensors])


def test_a_loss_divided_by_the_number_of_towers_has_that_weight():
    assert found(towers_with(own_gradients, lambda loss: loss / 2.0))[1] == 0.5
    assert found(towers_with(own_gradients, lambda loss: loss * 0.5))[1] == 0.5
    assert found(towers_with(own_gradients, lambda loss: loss * 0.25))[1] == 1.0  # a factor of the model's own


def test_a_factor_that_the_combining_takes_back_is_the_weight_of_the_loss():
    assert found(towers_with(own_gradients, lambda loss: loss * 128.0), [1 / 256])[1] == 128.0
    assert found(towers_with(own_gradients, lambda loss: loss * 128.0), [1 / 128])[1] == 1.0


def test_terms_that_a_sum_hands_its_derivative_to_are_followed_to_the_sum():
    """Of loss = a + b * 0.5 + copy(c), plain tf.gradients differentiates each term by itself."""
    text = """
        a = Mean()
        b = Mul()
        c = L2Loss()
        copy = Identity(c)
        ab = AddV2(a, b)
        loss = AddV2(ab, copy)
        report = AddV2(loss, other)
        other = Mean()
        gradients/grad_ys_0 = Fill()
        gradients/a_grad/Tile = Tile(gradients/grad_ys_0)
        gradients/b_grad/Mul = Mul(gradients/grad_ys_0)
        gradients/c_grad/mul = Mul(gradients/grad_ys_0)
    """
    graph = graph_of(text)
    assert differentiated(graph, set(graph.nodes)) == ["loss"]
    apart = graph_of(text.replace("loss = AddV2", "loss = Maximum"))  # no sum of the three
    assert differentiated(apart, set(apart.nodes)) == ["a", "b", "c"]


def test_further_losses_are_distinguished_from_the_first():
    def both(tensors, w):
        others = [tf.reduce_mean(tensor) * 3.0 for tensor in tensors]
        grads = [tf.gradients(tensor, [w])[0] for tensor in tensors + others]
        return tf.add_n(grads)

    context = Context(traced(towers_with(both)))
    found_losses = losses.find_losses(context.graph, context.towers, context.graph.ancestors(["train"]))
    assert [tensor.node for tensor in found_losses.main] == ["tower_0/loss", "tower_1/loss"]
    assert found_losses.nodes() == {"tower_0/loss", "tower_1/loss", "mul", "mul_1"} and len(found_losses.others) == 1


def test_a_zero_that_losses_are_added_to_is_left_out():
    def accumulated(tensors, w):
        return tf.gradients(tensors[1], [w])[0]

    totals = []

    def add(loss):
        totals.append((totals[-1] if totals else tf.constant(0.0)) + loss)
        return totals[-1]

    assert found(towers_with(accumulated, add))[0] == [("tower_0/loss", 0), ("tower_1/loss", 0)]


def test_without_a_gradient_graph_there_are_no_losses():
    tensors, scale = found(towers_with(lambda tensors, w: tf.stack(tensors)))
    assert tensors == [] and scale == 1.0


@pytest.mark.parametrize("order", [("everything", "own"), ("own", "everything")])
def test_of_several_sums_of_the_terms_the_loss_is_the_one_without_further_addends(order):
    """A program that collects losses in one list reports the sum of all, beside the sum that it differentiates."""
    sums = {"own": "own = AddN(data, penalty)", "everything": "everything = AddN(other, data, penalty)"}
    graph = graph_of(f"""
        other = Mean()
        data = Mean()
        penalty = Mul()
        {sums[order[0]]}
        {sums[order[1]]}
        gradients/grad_ys_0 = Const()
        gradients/data_grad/Tile = Tile(gradients/grad_ys_0)
        gradients/penalty_grad/Mul = Mul(gradients/grad_ys_0)
    """)
    assert differentiated(graph, set(graph.nodes)) == ["own"]


def test_a_sum_with_addends_that_are_not_differentiated_is_taken_where_it_is_the_only_one():
    graph = graph_of("""
        data = Mean()
        penalty = Mul()
        loss = AddN(data, penalty, constant)
        constant = Const()
        gradients/grad_ys_0 = Const()
        gradients/data_grad/Tile = Tile(gradients/grad_ys_0)
        gradients/penalty_grad/Mul = Mul(gradients/grad_ys_0)
    """)
    assert differentiated(graph, set(graph.nodes)) == ["loss"]


def test_a_mask_that_losses_are_multiplied_by_is_no_loss():
    graph = graph_of("""
        weight = VariableV2()
        labels = Placeholder()
        mask = Cast(labels)
        loss = Square(weight)
    """)
    terms = [losses.TensorId(name, 0) for name in ("mask", "loss")]
    assert [losses._depends_on_variables(graph, term) for term in terms] == [False, True]


@pytest.mark.parametrize("product, loss", [("Mul(label0, logits0)", "logits0"), ("Mul(label0, label0)", "label0")])
def test_labels_that_a_loss_of_all_towers_takes_first_are_no_loss(product, loss):
    """Negative control: where nothing else of the tower is left."""
    text = f"""
        w = VariableV2()
        label0 = OneHot()
        logits0 = MatMul(w)
        logits1 = MatMul(w)
        product = {product}
        sum = Sub(product, logits1)
    """
    masks = {"label0": 3, "logits0": 3, "logits1": 5, "product": 7, "sum": 7}
    towers = Towers(2, "", masks, {}, set())
    found = losses._nearest_of_towers(graph_of(text), towers, "sum")
    assert {tower: tensor.node for tower, tensor in found.items()} == {0: loss, 1: "logits1"}
