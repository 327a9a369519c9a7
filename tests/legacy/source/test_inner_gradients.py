"""Losses that contain derivatives: gradient penalties, first steps of an inner training, adversarial examples."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from legacy.source.basics.cut import Cut
from legacy.source.basics.forward import Forward
from legacy.source.definitions.inner_gradients import find_inner_gradients
from legacy.source.source import SourceOptions, source_of_analysis
from tests.legacy.source import tiny
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, split_batch, towers
from workloads.lifted.pieces.piece import Feed, Piece, VariableVersion
from workloads.lifted.sources import LiftedSynthetic

v1 = tf.compat.v1


def sources_of(build, tmp_path, **options):
    """(setup of a program's lift, {style: source}); the last ops of a penalty's value are in the whole graph only."""
    setup, found = lifted(build, tmp_path, **options), {}

    def use(analysis, values):
        found.update(
            (style, source_of_analysis(analysis, values, SourceOptions({}, style)))
            for style in ("workload", "standalone")
        )

    train_ops = [phase.train_op for phase in setup.job.workload.plan.phases]
    lift_graph(str(tmp_path / "graph.meta"), None, options=LiftOptions(train_op=train_ops), use=use)
    return setup, found


def weight(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=3), use_resource=False)


def dense(x, name, units):
    return tf.matmul(x, weight(name + "/kernel", [int(x.shape[-1]), units])) + weight(name + "/bias", [units])


def critic(x):
    x = tf.nn.relu(dense(x, "first", 8))
    return dense(tf.tanh(dense(x, "second", 8)), "last", 1)


def layer_normalized(x, name):
    mean, variance = tf.nn.moments(x, [1, 2, 3], keepdims=True)
    channels = int(x.shape[-1])
    return tf.nn.batch_normalization(
        x, mean, variance, weight(name + "/offset", [channels]), weight(name + "/scale", [channels]), 1e-5
    )


def convolutional_critic(x):
    x = tf.reshape(tf.concat([x, x * 0.5, x * x, tf.sin(x)], 1)[:, :8], [-1, 2, 2, 2])
    x = tf.nn.conv2d(x, weight("conv1", [3, 3, 2, 4]), strides=1, padding="SAME")
    x = tf.nn.relu(layer_normalized(x, "norm"))
    x = tf.nn.conv2d(x, weight("conv2", [2, 2, 4, 4]), strides=2, padding="SAME")
    return dense(tf.reshape(tf.nn.relu(x), [-1, 4]), "last", 1)


def trained(make_loss, rate=0.01):
    """The train op of a loss of one tower's examples, by all weights that it is made from."""
    xs = split_batch()

    def gradients(tower):
        loss = make_loss(xs[tower])
        weights = v1.trainable_variables()
        return tf.gradients(loss, weights), weights

    rows = towers(gradients)
    weights = rows[0][1]
    pairs = [(parts, w) for *parts, w in zip(*(own for own, _ in rows), weights) if parts[0] is not None]
    means = [(tf.add_n([tf.convert_to_tensor(part) for part in parts]) / TOWERS, w) for parts, w in pairs]
    return v1.train.AdamOptimizer(rate).apply_gradients(means)


def penalized(judge, change=lambda gradient: gradient):
    """The loss of a critic, with a penalty on its derivative between real and generated examples."""

    def make_loss(real):
        fake = tf.tanh(real * 0.5 + 0.25)
        between = real + tf.random.uniform([BATCH, 1], seed=5) * (fake - real)
        gradient = change(tf.gradients(judge(between), [between])[0])
        slopes = tf.sqrt(tf.reduce_sum(tf.square(gradient), axis=1) + 1e-8)
        return tf.reduce_mean(judge(fake)) - tf.reduce_mean(judge(real)) + 10.0 * tf.reduce_mean((slopes - 1.0) ** 2)

    return make_loss


def penalized_on_real(real):
    value = critic(real)
    (gradient,) = tf.gradients(tf.reduce_sum(value), [real])
    return tf.reduce_mean(tf.nn.softplus(-value)) + 5.0 * tf.reduce_mean(tf.reduce_sum(gradient**2, 1))


def after_a_step(x):
    """The loss after a step of gradient descent, through which it is differentiated."""
    kernel, out = weight("kernel", [3, 4]), weight("out", [4, 1])

    def loss(kernel, out, x):
        return tf.reduce_mean((tf.matmul(tf.tanh(tf.matmul(x, kernel)), out) - tf.reduce_sum(x, 1, keepdims=True)) ** 2)

    of_kernel, of_out = tf.gradients(loss(kernel, out, x), [kernel, out])
    return loss(kernel - 0.25 * of_kernel, out - 0.25 * of_out, x * 0.5)


def adversarial(x):
    """The loss of examples that were moved to make it larger; their moves are data."""
    (gradient,) = tf.gradients(tf.reduce_mean(critic(x) ** 2), [x])
    moved = x + 0.25 * tf.sign(tf.stop_gradient(gradient))
    return tf.reduce_mean(critic(moved) ** 2)


PROGRAMS = {
    "dense": (lambda: trained(penalized(critic)), "tf.gradients("),
    "convolutions": (lambda: trained(penalized(convolutional_critic)), "tf.gradients("),
    "real": (lambda: trained(penalized_on_real), "tf.gradients("),
    "step": (lambda: trained(after_a_step), " = tf.gradients("),
    "adversarial": (lambda: trained(adversarial), "tf.gradients("),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_derivative_inside_of_a_loss_is_written_as_one(name, tmp_path):
    build, wanted = PROGRAMS[name]
    setup, sources = sources_of(build, tmp_path)
    loss = sources["workload"].text.partition("@dataclasses")[0]
    assert loss.count(wanted) == 1 and "raw_ops" not in loss, loss
    assert_workload_verified(setup, tmp_path, sources["workload"])
    assert_trains_alike(setup, tmp_path, sources["standalone"])


def generated(x):
    return tf.tanh(dense(x, "made", 3))


def generator_and_critic():
    """Each has an optimizer of its own; the penalty is on examples between real and generated ones."""
    xs = split_batch()

    def gradients(tower):
        real, fake = xs[tower], generated(xs[tower] * 0.5)
        between = real + tf.random.uniform([BATCH, 1], seed=5) * (fake - real)
        slopes = tf.sqrt(tf.reduce_sum(tf.gradients(critic(between), [between])[0] ** 2, axis=1) + 1e-8)
        of_generator = -tf.reduce_mean(critic(fake))
        of_critic = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real)) + tf.reduce_mean((slopes - 1.0) ** 2)
        weights = v1.trainable_variables()
        made = [w for w in weights if w.op.name.startswith("net/made")]
        rest = [w for w in weights if w not in made]
        return [list(zip(tf.gradients(a, b), b)) for a, b in ((of_critic, rest), (of_generator, made))]

    rows = towers(gradients)
    steps = []
    for number, name in enumerate(("train_critic", "train_generator")):
        pairs = [(tf.add_n([a, b]) / TOWERS, w) for (a, w), (b, _) in zip(rows[0][number], rows[1][number])]
        steps.append(v1.train.AdamOptimizer(0.01, beta1=0.0).apply_gradients(pairs, name=name))
    return steps[0]


def test_generator_and_critic_each_with_an_optimizer(tmp_path):
    train_op = ["train_critic", "train_generator"]
    setup, sources = sources_of(generator_and_critic, tmp_path, train_op=train_op)
    assert "raw_ops" not in sources["workload"].text.partition("def train_critic(")[0]
    assert sources["workload"].text.count("tf.gradients(") == 1
    assert_port_verified(setup, tmp_path, sources["workload"])
    assert_trains_alike(setup, tmp_path, sources["standalone"])


CHANGED = {
    "scaled": lambda gradient: gradient * 0.5,
    "clipped": lambda gradient: tf.clip_by_value(gradient, -0.25, 0.25),
}


@pytest.mark.parametrize("name", list(CHANGED))
def test_what_is_done_to_a_derivative_stays(name, tmp_path):
    setup, sources = sources_of(lambda: trained(penalized(critic, CHANGED[name])), tmp_path)
    loss = sources["workload"].text.partition("@dataclasses")[0]
    assert ("* 0.5" if name == "scaled" else "tf.clip_by_value(") in loss
    assert_workload_verified(setup, tmp_path, sources["workload"])


def moved_by_hand(x):
    """Examples that the derivative of a cross entropy moves, which the program takes from the op's second result."""
    labels = tf.cast(x[:, 0] > 0.5, tf.int32)
    op = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=dense(x, "classes", 3), labels=labels)
    return tf.reduce_mean(critic(x + 0.25 * tf.stop_gradient(op.backprop)) ** 2)


def test_a_second_result_of_an_op_is_no_part_of_a_function_that_lacks_it(tmp_path):
    setup, sources = sources_of(lambda: trained(moved_by_hand), tmp_path)
    assert "tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(" in sources["workload"].text
    assert_workload_verified(setup, tmp_path, sources["workload"])


def penalty(x, w):
    value = tf.tanh(tf.matmul(x, w)) + tf.sin(tf.matmul(x, w))
    return [tf.gradients(value, [x])[0] * 2.0, value]


def recognised(change=lambda graph_def, node: None, values=("add:0",), make=penalty):
    """The derivatives that are recognised in a graph after `change` of its nodes."""
    with tf.Graph().as_default() as graph:
        results = make(v1.placeholder(tf.float32, [BATCH, 3], "x"), v1.placeholder(tf.float32, [3, 2], "w"))
    graph_def = graph.as_graph_def()
    for node in list(graph_def.node):
        change(graph_def, node)
    feeds = {"x": Feed("cut", "x:0", "x"), "w": Feed("read", VariableVersion("w", 0), "w")}
    cut = Cut(Piece(graph_def, list(feeds.values()), []), feeds, [result.name for result in results])
    return find_inner_gradients(Forward(cut, tiny.plan_of({"x": [3]}, BATCH)), {"gradients/": list(values)})


def test_a_derivative_is_recognised_by_its_numbers():
    (found,) = recognised()
    assert (found.values, found.by, found.results) == (("add:0",), ("x:0",), ("gradients/AddN:0",))


@pytest.mark.parametrize("classes", [tf.float32, tf.int32])
def test_a_derivative_is_recognised_beside_classes_that_are_looked_up(classes):
    """Numbers that are made up are no classes of a table of one row."""

    def conditional(x, w):
        first = tf.cast(v1.placeholder(classes, [BATCH], "classes"), tf.int32) * 3
        value = tf.tanh(tf.matmul(x, w) + tf.gather(w, first), name="value")
        return [tf.gradients(value, [x])[0] * 2.0, value]

    (gradient,) = recognised(values=("value:0",), make=conditional)
    assert (gradient.values, gradient.by) == (("value:0",), ("x:0",))


def behind(graph_def, node, op, **inputs):
    """Puts an op behind a node of a gradient graph; its further inputs are constants."""
    old = node.name
    made = graph_def.node.add(name=old, op=op)
    made.attr["T"].type = tf.float32.as_datatype_enum
    node.name = old + "/before"
    made.input.append(node.name)
    for name, value in inputs.items():
        constant = graph_def.node.add(name=f"{old}/{name}", op="Const")
        constant.attr["dtype"].type = tf.float32.as_datatype_enum
        constant.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(value))
        made.input.append(constant.name)


def scaled(graph_def, node):
    if node.name == "gradients/Tanh_grad/TanhGrad":
        behind(graph_def, node, "Mul", factor=0.5)


def limited_far_away(graph_def, node):
    if node.name == "gradients/Tanh_grad/TanhGrad":
        behind(graph_def, node, "Minimum", limit=1e30)


def with_a_term_left_out(graph_def, node):
    if node.name == "gradients/AddN":
        node.op = "Identity"
        del node.input[1:]
        node.attr.pop("N")


def of_another_value(graph_def, node):
    if node.name == "gradients/Tanh_grad/TanhGrad":
        node.input[0] = "Sin"


def guarded(graph_def, node):
    """As TensorFlow 1.x guards the gradient of `sparse_softmax_cross_entropy_with_logits` from a second derivative."""
    if node.name == "gradients/Tanh_grad/TanhGrad":
        behind(graph_def, node, "PreventGradient")


def test_a_derivative_may_have_a_guard_from_a_second_one():
    (found,) = recognised(guarded)
    assert found.by == ("x:0",)


@pytest.mark.parametrize("change", [scaled, limited_far_away, with_a_term_left_out, of_another_value])
def test_a_derivative_changed_by_hand_is_none(change):
    assert not recognised(change)


def test_a_derivative_of_another_value_is_none():
    assert not recognised(values=["Tanh:0"])


def guided(x, w):
    """A rectifier whose gradient the program has replaced by one of its own."""
    with v1.get_default_graph().gradient_override_map({"Relu": "GuidedForTest"}):
        value = tf.nn.relu(tf.matmul(x, w), name="add")
    return [tf.gradients(value, [x])[0] * 2.0, value]


def test_a_gradient_function_of_the_programs_own_is_no_derivative():
    @tf.RegisterGradient("GuidedForTest")
    def _(op, gradient):
        return tf.nn.relu(gradient) * tf.cast(op.outputs[0] > 0.5, tf.float32)

    assert not recognised(make=guided)


#: Value of the scalar that is fed.
KEPT = {"keep_prob": 0.5}


def borrowed():
    """Two towers with dropout by a fed share; the second one's loss takes the first one's layer, as by a slip."""
    xs, made = split_batch(), []
    keep = v1.placeholder(tf.float32, None, "keep_prob")  # of any rank, as before it is fed

    def gradients(tower):
        made.append(tf.tanh(dense(xs[tower], "first", 4)))
        dropped = made[0] / keep * tf.floor(keep + tf.random.uniform([BATCH, 4]))
        judged = tf.raw_ops.MatMul(a=dropped, b=weight("last", [4, 1]))  # as 1.x multiplies what may have any rank
        return tf.gradients(tf.reduce_mean(tf.square(judged)), v1.trainable_variables())

    rows = zip(*towers(gradients, scope=None))
    means = [tf.reduce_mean(tf.concat([tf.expand_dims(part, 0) for part in parts], 0), 0) for parts in rows]
    return v1.train.AdamOptimizer(0.01).apply_gradients(zip(means, v1.trainable_variables()))


def test_gradients_of_losses_with_dropout_that_share_a_layer_are_derivatives(tmp_path):
    """The numbers that decide it are those of a fed share, which is a scalar wherever a graph leaves its rank open."""
    setup = dataclasses.replace(lifted(borrowed, tmp_path), make_source=lambda job: LiftedSynthetic(job, KEPT))
    source = source_of(setup, "workload", {name: str(value) for name, value in KEPT.items()})
    assert source.text.count("tf.gradients(") == 1 and "raw_ops.TanhGrad" not in source.text
    assert_port_verified(setup, tmp_path, source, settings=KEPT)
