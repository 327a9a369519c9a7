"""Train ops that train nothing, each with a near twin that trains."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards import inputs
from legacy.saved.hazards.training import changes, constant_examples
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1


def reasons(make_loss, rate=0.5):
    """What is said of a program that minimizes a loss of x and w."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        x = v1.placeholder(tf.float32, [2], "x")
        v1.train.GradientDescentOptimizer(rate).minimize(make_loss(x, w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small")
    return [hazard.description for hazard in changes.nothing_trained(WholeGraph(graph, found), found)]


def test_examples_that_are_constants_of_the_graph():
    def hazards(make_loss):
        def build():
            w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
            v1.train.GradientDescentOptimizer(0.5).minimize(make_loss(w), name="train")

        graph = saved(traced(build), trainable_variables=["w"])
        found = analyse_graph(graph, "small")
        return [hazard.id for hazard in constant_examples.no_input(WholeGraph(graph, found), found)]

    given = tf.constant([3.0, 4.0])
    assert hazards(lambda w: tf.reduce_sum(given.numpy() * w)) == ["NO_INPUT"]
    assert hazards(lambda w: tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w)) == []
    assert hazards(lambda w: tf.reduce_sum(given.numpy() * w) * v1.random_uniform([])) == []
    sampled = tf.random.log_uniform_candidate_sampler
    assert hazards(lambda w: tf.reduce_sum(tf.gather(w, sampled([[1]], 1, 1, True, 2)[0]) * 3.0)) == ["NO_INPUT"]
    kept = {"initializer": [3.0, 4.0], "trainable": False, "use_resource": False}
    assert hazards(lambda w: tf.reduce_sum(v1.get_variable("examples", **kept) * w)) == []

    def taken(examples, is_of_rows=False, count=None):
        queue = tf.queue.FIFOQueue(4, [tf.float32], [[2]])
        queue.enqueue_many([examples]) if is_of_rows else queue.enqueue([examples])
        return queue.dequeue_many(count) if count else queue.dequeue()

    assert hazards(lambda w: tf.reduce_sum(taken(given.numpy()) * w)) == ["NO_INPUT"]
    assert hazards(lambda w: tf.reduce_sum(taken(v1.placeholder(tf.float32, [2])) * w)) == []
    assert hazards(lambda w: tf.reduce_sum(taken(v1.random_uniform([2])) * w)) == []
    assert hazards(lambda w: tf.reduce_sum(taken(np.ones([5, 2], np.float32), is_of_rows=True) * w)) == []
    assert hazards(lambda w: tf.reduce_sum(taken(np.ones([5, 2], np.float32), True, 3) * w)) == []
    assert hazards(lambda w: tf.reduce_sum(taken(np.ones([5, 2], np.float32), True, 5) * w)) == ["NO_INPUT"]


@pytest.mark.parametrize(
    "make_loss, rate, reason",
    [
        (lambda x, w: tf.reduce_sum(x * w, name="loss"), 0.5, None),
        (lambda x, w: tf.reduce_sum(tf.constant([3.0, 4.0]) * w, name="loss"), 0.5, None),  # the data are constants
        (lambda x, w: tf.reduce_sum(x * w, name="loss"), 0.0, "the learning rate is 0"),
        (lambda x, w: tf.reduce_sum(w, name="loss"), 0.5, "the loss loss depends on no data"),
        (lambda x, w: tf.multiply(tf.reduce_sum(x * w), 0.0, name="loss"), 0.5, "the loss loss is multiplied by 0"),
    ],
)
def test_a_train_op_that_trains_nothing(make_loss, rate, reason):
    assert reasons(make_loss, rate) == ([] if reason is None else [f"train trains nothing: {reason}"])


@pytest.mark.parametrize(
    "make_gradient, reason",
    [
        (lambda x, v, w: tf.gradients(tf.reduce_sum(x * w, name="loss"), [w])[0], None),
        (lambda x, v, w: x, "no gradient reaches an update"),
        (lambda x, v, w: tf.gradients(tf.multiply(x, w, name="y"), [w], x)[0], None),
        (
            lambda x, v, w: tf.gradients(tf.reduce_sum(x * v, name="loss"), [v])[0],
            "the loss loss depends on none of the variables that are updated",
        ),
        (
            lambda x, v, w: tf.gradients(tf.reduce_sum(x * x, name="loss"), [x])[0],
            "the loss loss depends on no variable",
        ),
    ],
)
def test_an_update_that_takes_no_gradient_of_its_weight(make_gradient, reason):
    def build():
        v, w = (v1.get_variable(name, initializer=[1.0, 2.0], use_resource=False) for name in "vw")
        x = v1.placeholder(tf.float32, [2], "x")
        gradient = make_gradient(x, v, w)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)], name="train")

    graph = saved(traced(build), trainable_variables=["v", "w"])
    found = analyse_graph(graph, "small", ["train"])
    said = [hazard.description for hazard in changes.nothing_trained(WholeGraph(graph, found), found)]
    assert said == ([] if reason is None else [f"train trains nothing: {reason}"])


def test_a_turn_that_clips_weights_trains_nothing_by_intention():
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")
        tf.group(v1.assign(w, tf.clip_by_value(w, -0.5, 0.5)), name="clip")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train", "clip"])
    assert [phase.train_op for phase in found.plan.phases] == ["train", "clip"]
    assert not list(changes.nothing_trained(WholeGraph(graph, found), found))


@pytest.mark.parametrize(
    "moves, expected",
    [
        (lambda server, worker, x: server - worker, []),
        (lambda server, worker, x: 0.5 * (server - tf.stop_gradient(worker)), []),
        (lambda server, worker, x: 0.5 * server, ["NOTHING_TRAINED"]),  # follows itself alone
        (lambda server, worker, x: tf.constant([1.0, 1.0]), ["NOTHING_TRAINED"]),
    ],
)
def test_a_turn_that_moves_a_server_towards_its_workers_weights_is_meant(moves, expected):
    def build():
        server, worker = (v1.get_variable(name, initializer=[1.0, 2.0], use_resource=False) for name in "sw")
        x = v1.placeholder(tf.float32, [2], "x")
        loss = tf.reduce_sum(tf.square(x * worker))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[worker], name="train")
        v1.train.AdamOptimizer(0.5).apply_gradients([(moves(server, worker, x), server)], name="push")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train", "push"])
    assert [hazard.id for hazard in changes.nothing_trained(WholeGraph(graph, found), found)] == expected


@pytest.mark.parametrize("bounds, expected", [(True, []), (False, ["NOTHING_TRAINED"])])
def test_a_run_of_several_ops_that_clip_weights_trains_nothing_by_intention(bounds, expected):
    """The norms of all matrices are bounded by a run of its own; setting them to what is fed is another matter."""

    def build():
        v, w = (v1.get_variable(name, initializer=[1.0, 2.0], use_resource=False) for name in "vw")
        x = v1.placeholder(tf.float32, [2], "x")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(x * v * w), name="train")
        for weight in (v, w):
            v1.assign(weight, tf.clip_by_norm(weight, 4.0) if bounds else x, name=f"set_{weight.op.name}")

    graph = saved(traced(build), trainable_variables=["v", "w"])
    found = analyse_graph(graph, "small", ["set_v+set_w", "train"])
    assert [phase.train_op for phase in found.plan.phases] == ["set_v_together", "train"]
    assert [hazard.id for hazard in changes.nothing_trained(WholeGraph(graph, found), found)] == expected


DROPOUT = """
    x = Placeholder()
    w = VariableV2()
    drop_rate = Placeholder()
    dropout/random = RandomUniform(x)
    dropout/mask = GreaterEqual(dropout/random, drop_rate)
    y = Mul(x, dropout/mask)
    gradients/y_grad/Mul = Mul(y, w)
    train = ApplyGradientDescent(w, gradients/y_grad/Mul)
    """


#: The same as TensorFlow 1.12 writes it: what is kept is the integer part of the share and a random number.
FLOOR = """
    x = Placeholder()
    w = VariableV2()
    one = Const()
    keep_prob = Placeholder()
    share = Identity(keep_prob)
    drop1/random = RandomUniform(x)
    drop1/add = Add(share, drop1/random)
    drop1/mask = Floor(drop1/add)
    y = Mul(x, drop1/mask)
    gradients/y_grad/Mul = Mul(y, w)
    train = ApplyGradientDescent(w, gradients/y_grad/Mul)
    """


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("keep_prob", "keep_prob", []),
        ("keep_prob", "rate", ["KEEP_FOR_RATE"]),
        ("keep_prob", "dropout/Placeholder", []),  # the scope says nothing of the share
        ("Identity(keep_prob)", "Sub(one, keep_prob)", ["KEEP_FOR_RATE"]),  # a layer that takes a rate
    ],
)
def test_dropout_before_the_rate(old, new, expected):
    constant = {"dtype": tf.float32, "value": np.array(1.0, np.float32)}
    whole = WholeGraph(saved(graph_of(FLOOR.replace(old, new), one=constant), trainable_variables=["w"]))
    assert [hazard.id for hazard in inputs.kept_for_dropped(whole)] == expected


@pytest.mark.parametrize("name, expected", [("drop_rate", []), ("keep_prob", ["KEEP_FOR_RATE"])])
def test_a_keep_probability_in_the_place_of_a_rate(name, expected):
    whole = WholeGraph(saved(graph_of(DROPOUT.replace("drop_rate", name)), trainable_variables=["w"]))
    assert [hazard.id for hazard in inputs.kept_for_dropped(whole)] == expected


@pytest.mark.parametrize(
    "share, kept, expected",
    [
        ("Const()", 1.0, ["DROPOUT_INACTIVE"]),
        ("Const()", 0.5, []),
        ("PlaceholderWithDefault(one)", 1.0, []),  # which a program feeds where it trains
        ("Placeholder()", 1.0, []),
    ],
)
def test_dropout_that_keeps_everything(share, kept, expected):
    number = {"dtype": tf.float32, "value": np.array(kept, np.float32)}
    one = {"dtype": tf.float32, "value": np.array(1.0, np.float32)}
    given = {"one": one, **({"keep_prob": number} if share == "Const()" else {})}
    graph = graph_of(FLOOR.replace("keep_prob = Placeholder()", f"keep_prob = {share}"), **given)
    found = list(inputs.inactive_dropout(WholeGraph(saved(graph, trainable_variables=["w"]))))
    assert [hazard.id for hazard in found] == expected


@pytest.mark.parametrize(
    "value, expected",
    [(1.0, ["drop1/mask drops nothing as keep_prob is fed: the share that it keeps is 1"]), (0.5, []), (None, [])],
)
def test_dropout_that_is_fed_a_share_of_one(value, expected):
    whole = WholeGraph(saved(graph_of(FLOOR), trainable_variables=["w"]))
    whole.settings.update({} if value is None else {"keep_prob": value})
    assert [hazard.description for hazard in inputs.inactive_dropout(whole)] == expected


@pytest.mark.parametrize("value, expected", [(0.0, ["DROPOUT_INACTIVE"]), (0.5, [])])
def test_a_rate_that_a_layer_takes_in_a_branch(value, expected):
    """`tf.layers.dropout(x, rate, training=switch)` in TensorFlow 1.4 keeps 1 less the rate in a `tf.cond`."""
    one = {"dtype": tf.float32, "value": np.array(1.0, np.float32)}
    text = FLOOR.replace("share = Identity(keep_prob)", "taken = Switch(rate, is_training)\n share = Sub(one, taken)")
    text = text.replace("keep_prob = Placeholder()", "rate = Placeholder()\n is_training = Placeholder()")
    whole = WholeGraph(saved(graph_of(text, one=one), trainable_variables=["w"]))
    whole.settings.update({"rate": value})
    assert [hazard.id for hazard in inputs.inactive_dropout(whole)] == expected
    assert not list(inputs.kept_for_dropped(whole))


@pytest.mark.parametrize("name, expected", [("L1/dropout/Identity", True), ("L1/out/Identity", False)])
def test_a_dropout_layer_that_does_not_train(name, expected):
    """`tf.layers.dropout(x, 0.7, True)`: the third argument is the shape of the noise."""
    text = f"x = Placeholder()\n {name} = Identity(x)\n w = VariableV2()\n gradients/y_grad/Mul = Mul({name}, w)"
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["w"]))
    whole.reach.add(name)
    found = [hazard.description for hazard in inputs.inactive_dropout(whole)]
    only = f"{name} hands its input on: tf.layers.dropout drops nothing unless it is given training=True"
    assert found == ([only] if expected else [])


@pytest.mark.parametrize("reads_result, count", [(False, 1), (True, 0)])
def test_weights_that_follow_a_momentum_beside_its_assignment_are_named(reads_result, count):
    def build():
        w, kept = (
            v1.get_variable(name, [4, 3], trainable=name == "w", use_resource=False) for name in ("w", "momentum")
        )
        gradient = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w)), [w])[0]
        assigned = v1.assign(kept, 0.75 * kept + gradient)
        tf.group(assigned, v1.assign_sub(w, 0.5 * (assigned if reads_result else kept)), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train"])
    hazards = list(changes.unordered_momenta(WholeGraph(graph, found), found))
    assert [hazard.id for hazard in hazards] == ["MOMENTUM_RACE"] * count
