"""Gradients of other variables, of no data, and of towers with unequal weights, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.gradients import (
    clipped_to_one_sign,
    gradients_of_others,
    gradients_without_data,
    rows_of_one_tower,
    towers_of_unequal_weight,
)
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def program(pairs=lambda tower, gradients: gradients, listed=(0, 1), stop=False):
    """A program of two towers with weights u and v of one shape, and its analysis."""

    def build():
        weights = [v1.get_variable(name, [4, 4], use_resource=False) for name in "uv"]
        halves = tf.split(v1.placeholder(tf.float32, [4, 4], "x"), 2)
        towers = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                hidden = tf.tanh(halves[tower] @ weights[0])
                loss = tf.reduce_mean(tf.square((tf.stop_gradient(hidden) if stop else hidden) @ weights[1]))
                loss += 0.1 * tf.add_n([tf.nn.l2_loss(weight) for weight in weights])
                towers.append(pairs(tower, tf.gradients(loss, weights)))
        sums = [tf.add_n([towers[tower][i] for tower in listed]) / len(listed) for i in range(2)]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(sums, weights), name="train")

    whole = saved(traced(build), trainable_variables=["u", "v"])
    found = analyse_graph(whole, "made-for-a-test")
    return WholeGraph(whole, found), found


@pytest.mark.parametrize("swapped", [(), (0, 1), (1,)])
def test_gradients_of_other_variables_are_named(swapped):
    whole, _ = program(lambda tower, gradients: gradients[::-1] if tower in swapped else gradients)
    found = list(gradients_of_others(whole))
    assert [hazard.id for hazard in found] == ["GRADIENT_OF_ANOTHER"] * bool(swapped)
    assert all("of 2 variables (u, v) take gradients of others" in hazard.description for hazard in found)


@pytest.mark.parametrize("trained", [1, 2])
def test_gradients_of_copies_of_a_variable_are_not_accused(trained):
    def build():
        halves = tf.split(v1.placeholder(tf.float32, [4, 4], "x"), 2)
        weights, gradients = [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.variable_scope(f"tower_{tower}"):
                weights.append(v1.get_variable("w", [4, 4], use_resource=False))
                gradients.append(
                    tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ weights[tower])), weights[-1:])[0]
                )
        pairs = [(tf.add_n(gradients) / 2.0, weight) for weight in weights[:trained]]  # of one: VARIABLES_NOT_SHARED
        tf.nn.l2_loss(weights[1], name="norm")  # a use that is no tower's
        with tf.device("/gpu:0"):
            v1.is_variable_initialized(weights[1])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(pairs, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["tower_0/w", "tower_1/w"]))
    assert not list(gradients_of_others(whole))


@pytest.mark.parametrize("stop", [True, False])
def test_weights_that_penalties_alone_train_are_named(stop):
    found = [hazard.description for hazard in gradients_without_data(*program(stop=stop))]
    assert len(found) == stop and all("the gradients of 1 variable (u) depend on no data" in text for text in found)


@pytest.mark.parametrize("is_decayed", [True, False])
def test_gradients_that_the_weights_of_a_linear_head_make_are_of_no_penalty(is_decayed):
    """Tests that a critic's last bias, whose gradient is one of a mean of linear scores, is named where it decays."""

    def build():
        real, made = (v1.placeholder(tf.float32, [4, 3], name) for name in ("real", "made"))
        kernel, head = (v1.get_variable(name, [3, 3], use_resource=False) for name in ("kernel", "head"))
        bias = v1.get_variable("bias", [3], use_resource=False)
        scores = [tf.reduce_mean((x @ kernel + bias) @ head) for x in (made, real)]
        loss = scores[0] - scores[1] + (tf.nn.l2_loss(bias) if is_decayed else 0.0)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[kernel, head, bias], name="train")

    graph = saved(traced(build), trainable_variables=["kernel", "head", "bias"])
    found = analyse_graph(graph, "made-for-a-test")
    hazards = list(gradients_without_data(WholeGraph(graph, found), found))
    assert [hazard.id for hazard in hazards] == ["GRADIENT_WITHOUT_DATA"] * is_decayed


@pytest.mark.parametrize("is_decayed", [True, False])
def test_a_scale_of_a_prior_that_follows_the_weights_is_trained_by_no_penalty(is_decayed):
    def build():
        w, scale = v1.get_variable("w", [3, 3], use_resource=False), v1.get_variable("scale", [], use_resource=False)
        error = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [4, 3], "x") @ w))
        divergence = tf.reduce_sum(tf.square(w)) * tf.exp(-scale) + 9.0 * scale
        loss = error + 0.01 * (tf.square(scale) if is_decayed else divergence)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w", "scale"])
    found = analyse_graph(graph, "made-for-a-test")
    hazards = list(gradients_without_data(WholeGraph(graph, found), found))
    assert [hazard.id for hazard in hazards] == ["GRADIENT_WITHOUT_DATA"] * is_decayed


def test_gradients_that_runs_add_up_are_of_their_data():
    def build():
        x = v1.placeholder(tf.float32, [4, 3], "x")
        w = v1.get_variable("w", [3, 3], use_resource=False)
        kept = v1.get_variable("kept", [3, 3], trainable=False, use_resource=False)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        (gradient, _), *_ = optimizer.compute_gradients(tf.reduce_mean(tf.square(x @ w)), [w])
        tf.group(v1.assign(kept, tf.zeros([3, 3])), name="zero")
        collect = tf.group(v1.assign_add(kept, gradient), name="collect")
        half = 0.5 * kept  # made before the addition is waited for
        with tf.control_dependencies([collect]):
            optimizer.apply_gradients([(half, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "made-for-a-test", ["zero", "collect", "train"])
    assert not list(gradients_without_data(WholeGraph(graph, found), found))


def kept_program(adds, is_used):
    """Two runs of a period: one keeps gradients of u and v, and one applies them; u may be in a penalty alone."""

    def build():
        u, v = (v1.get_variable(name, [3, 3], use_resource=False) for name in "uv")
        kept = [v1.get_variable(f"kept_{i}", [3, 3], trainable=False, use_resource=False) for i in range(2)]
        used = v1.placeholder(tf.float32, [4, 3], "x") @ v
        error = tf.reduce_mean(tf.square(used @ u if is_used else used))
        gradients = tf.gradients(error + 0.1 * tf.nn.l2_loss(u) + 0.1 * tf.nn.l2_loss(v), [u, v])
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        if adds:
            tf.group(*[v1.assign(one, tf.zeros([3, 3])) for one in kept], name="zero")
            tf.group(*[v1.assign_add(one, gradient) for one, gradient in zip(kept, gradients)], name="keep")
            both = kept
        else:
            tf.group(*[v1.assign(one, gradient) for one, gradient in zip(kept, gradients)], name="keep")
            both = [gradient + one for one, gradient in zip(kept, gradients)]
        optimizer.apply_gradients(list(zip(both, [u, v])), name="train")

    graph = saved(traced(build), trainable_variables=["u", "v"])
    found = analyse_graph(graph, "made-for-a-test", ["zero", "keep", "train"] if adds else ["keep", "train"])
    return list(gradients_without_data(WholeGraph(graph, found), found))


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("is_used", [True, False])
def test_weights_that_penalties_alone_train_by_way_of_kept_gradients_are_named(adds, is_used):
    hazards = kept_program(adds, is_used)
    assert [hazard.id for hazard in hazards] == ["GRADIENT_WITHOUT_DATA"] * (not is_used)
    assert all("1 variable (u)" in hazard.description for hazard in hazards)


def test_a_penalty_that_is_added_to_kept_gradients_of_data_is_not_accused():
    """Tests that a run which adds gradients of penalties to those of the run before trains by these as well."""

    def build():
        u, v = (v1.get_variable(name, [3, 3], use_resource=False) for name in "uv")
        kept = v1.get_variable("kept", [3, 3], trainable=False, use_resource=False)
        x = v1.placeholder(tf.float32, [4, 3], "x")
        tf.group(v1.assign(kept, tf.gradients(tf.reduce_mean(tf.square(x @ u @ v)), u)[0]), name="keep")
        later = tf.reduce_mean(tf.square(x @ v)) + 0.1 * tf.nn.l2_loss(u)
        first, second = tf.gradients(later, [u, v])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(first + kept, u), (second, v)], name="train")

    graph = saved(traced(build), trainable_variables=["u", "v"])
    found = analyse_graph(graph, "made-for-a-test", ["keep", "train"])
    assert not list(gradients_without_data(WholeGraph(graph, found), found))


@pytest.mark.parametrize("listed, count", [((0, 1), 0), ((0, 1, 1), 1)])
def test_towers_that_count_more_than_others_are_named(listed, count):
    found = [hazard.description for hazard in towers_of_unequal_weight(program(listed=listed)[0])]
    assert len(found) == count and all("count 0.3333, 0.6667 times" in text for text in found)


@pytest.mark.parametrize("change", ["clip", "skip", "choose"])
@pytest.mark.parametrize("factors, count", [((0.5, 0.5), 0), ((0.25, 0.75), 1)])
def test_towers_that_count_more_are_named_where_their_mean_is_changed(factors, count, change):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        halves, losses, gradients = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                losses.append(tf.reduce_mean(tf.square(halves[tower] @ w)))
                gradients.append(tf.gradients(losses[-1], [w])[0] * factors[tower])
        mean, is_finite = tf.add_n(gradients), tf.math.is_finite(tf.add_n(losses))
        if change == "clip":
            mean = tf.clip_by_global_norm([mean], 1.0)[0][0]
        elif change == "skip":
            mean = mean * tf.cast(is_finite, tf.float32)
        else:
            mean = tf.where(is_finite, mean, tf.zeros_like(mean))
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, w)], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    found = [hazard.description for hazard in towers_of_unequal_weight(whole)]
    assert len(found) == count and all("count 0.25, 0.75 times" in text for text in found)


@pytest.mark.parametrize("bounds, count", [((-1.0, 1.0), 0), ((0.0, 1.0), 1), ((-1.0, 0.0), 1)])
def test_gradients_that_are_clipped_to_one_sign_are_named(bounds, count):
    def clipped(tower, gradients):
        return [tf.maximum(tf.minimum(gradient, bounds[1]), bounds[0]) for gradient in gradients]

    found = [hazard.id for hazard in clipped_to_one_sign(program(clipped)[0])]
    assert found == ["GRADIENT_OF_ONE_SIGN"] * (count if bounds[0] == 0 else 0)


@pytest.mark.parametrize("own_rows", [True, False])
def test_rows_of_one_tower_for_the_values_of_all_are_named(own_rows):
    def build():
        table = v1.get_variable("table", [9, 4], use_resource=False)
        halves = tf.split(v1.placeholder(tf.int32, [4], "ids"), 2)
        slices = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_mean(tf.square(tf.gather(table, halves[tower])))
                slices.append(tf.gradients(loss, [table])[0])
        if own_rows:
            values, rows = (tf.concat([getattr(s, n) for s in slices], 0) for n in ("values", "indices"))
            values = values / 2.0
        else:
            values, rows = tf.add_n([s.values for s in slices]) / 2.0, slices[0].indices
        pair = (tf.IndexedSlices(values, rows), table)
        v1.train.AdagradOptimizer(0.5).apply_gradients([pair], name="train")

    whole = saved(traced(build), trainable_variables=["table"])
    found = analyse_graph(whole, "made-for-a-test")
    ids = [hazard.id for hazard in rows_of_one_tower(WholeGraph(whole, found), found)]
    assert ids == ([] if own_rows else ["ROWS_OF_ONE_TOWER"])


@pytest.mark.parametrize(
    "rows, weights, count", [((5, 3), (0.625, 0.375), 0), ((5, 3), (0.375, 0.625), 1), ((4, 4), (0.625, 0.375), 1)]
)
def test_towers_that_count_as_many_times_as_their_rows_make_a_mean(rows, weights, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        gradients = []
        for tower, part in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), rows)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(part @ w)), w)[0] * weights[tower])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradients[0] + gradients[1], w)], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert [hazard.id for hazard in towers_of_unequal_weight(whole)] == ["TOWERS_WEIGHTED"] * count
