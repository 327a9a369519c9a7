"""Variables that a step updates twice, beside those updated once or by each tower alone."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates import twice
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def two_updates(make_train):
    """The hazards of a program of two towers; `make_train` gets the gradients of each, the optimizers, and w."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ w)), [w])[0])
        optimizers = v1.train.GradientDescentOptimizer(0.5), v1.train.GradientDescentOptimizer(0.25, name="Other")
        tf.group(make_train(gradients, optimizers, w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard[:2] for hazard in twice.updated_twice(WholeGraph(graph, analysis), analysis)]


def test_an_update_that_is_left_beside_the_combined_one_is_named():
    def both(gradients, optimizers, w):
        mean = tf.add_n(gradients) / 2.0
        return [optimizers[0].apply_gradients([(mean, w)]), optimizers[1].apply_gradients([(gradients[1], w)])]

    ((hazard, _),) = two_updates(both)
    assert hazard == "UPDATED_TWICE"


def test_one_update_or_one_of_each_tower_is_not():
    assert two_updates(lambda gradients, optimizers, w: optimizers[0].apply_gradients([(tf.add_n(gradients), w)])) == []
    each = lambda gradients, optimizers, w: [o.apply_gradients([(g, w)]) for g, o in zip(gradients, optimizers)]  # noqa: E731
    assert two_updates(each) == []


@pytest.mark.parametrize("second, is_named", [("critic", False), ("both", True), ("part", True), ("weighed", False)])
def test_optimizers_of_an_actor_and_its_critic_may_share_layers(second, is_named):
    """Not so two of which one's loss is a part of the other's, as that without penalties which was left."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        shared = tf.tanh(v1.placeholder(tf.float32, [8, 4], "x") @ w)
        actor, critic = tf.reduce_mean(tf.square(shared[:, 0])), tf.reduce_mean(tf.abs(shared[:, 1]), name="critic")
        losses = {"critic": critic, "both": actor + critic, "part": actor + tf.reduce_sum(w**2)}
        losses["weighed"] = critic * tf.stop_gradient(actor)
        rules = v1.train.RMSPropOptimizer(0.5), v1.train.RMSPropOptimizer(0.5, name="Other")
        tf.group([rule.minimize(loss) for rule, loss in zip(rules, (actor, losses[second]))], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    assert bool(list(twice.updated_twice(WholeGraph(graph, analysis), analysis))) == is_named


@pytest.mark.parametrize("rule", [v1.train.AdamOptimizer, v1.train.MomentumOptimizer])
@pytest.mark.parametrize("is_one, has_same_weights", [(True, False), (False, False), (True, True)])
def test_one_adam_of_two_train_ops_counts_each_of_them(rule, is_one, has_same_weights):
    def build():
        x = v1.placeholder(tf.float32, [8, 4], "x")
        optimizers = [rule(0.5) if rule is v1.train.AdamOptimizer else rule(0.5, 0.5) for _ in range(2)]
        weights = {name: v1.get_variable(name, [4, 3], use_resource=False) for name in "vw"}
        for name, optimizer in zip("vw", optimizers[:1] * 2 if is_one else optimizers):
            loss = tf.reduce_mean(tf.square(x @ weights["v"] + x @ weights["w"]))
            trained = list(weights.values()) if has_same_weights else [weights[name]]
            optimizer.minimize(loss, var_list=trained, name=f"train_{name}")

    graph = saved(traced(build), trainable_variables=["v", "w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train_v", "train_w"])
    found = [hazard.id for hazard in twice.powers_raised_twice(WholeGraph(graph, analysis), analysis)]
    is_shared = is_one and not has_same_weights and rule is v1.train.AdamOptimizer
    assert found == (["CORRECTION_COUNTS_TWICE"] if is_shared else [])
