"""Devices that have different parts of one program, beside towers with mistakes, which are copies all the same."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.different_parts import different_parts
from legacy.saved.tower_search.search import find_towers
from tests.legacy.saved.facts.tower_pages import variable
from tests.legacy.saved.graphs import saved, traced, two_towers

v1 = tf.compat.v1


def layer(x, name, width):
    """tanh(x w + b) of a layer's variables."""
    size = x.shape[1]
    return tf.tanh(tf.matmul(x, variable(name + "/w", size, width)) + variable(name + "/b", width))


def critic(x):
    return tf.reduce_mean(layer(layer(x, "critic/1", 5), "critic/2", 1))


def made(noise):
    return layer(layer(noise, "maker/1", 5), "maker/2", 3)


def of(scope):
    return [one for one in v1.trainable_variables() if one.name.startswith(scope)]


def update(losses):
    """Makes the train op "train": the sum of gradients of (loss, its variables)."""
    sums = {}
    for loss, weights in losses:
        for gradient, weight in zip(v1.gradients(loss, weights, colocate_gradients_with_ops=True), weights):
            sums.setdefault(weight.name, []).append((gradient, weight))
    pairs = [(tf.add_n([given for given, _ in rows if given is not None]), rows[0][1]) for rows in sums.values()]
    v1.train.GradientDescentOptimizer(0.1).apply_gradients(pairs, name="train")


def halves_of_a_critic(x, noise, labels):
    with tf.device("/gpu:0"):
        real = critic(x)
    with tf.device("/gpu:1"):
        fake = critic(made(noise))
    update([(fake - real, of("critic")), (-fake, of("maker"))])


def halves_of_a_critic_with_a_fixed_maker(x, noise, labels):
    with tf.device("/gpu:0"):
        real = critic(x)
    with tf.device("/gpu:1"):
        fake = critic(made(noise))
    update([(fake - real, of("critic"))])


def losses_of_two_players(x, noise, labels):
    with tf.device("/gpu:0"):
        apart = critic(made(noise)) - critic(x)
    with tf.device("/gpu:1"):
        like = -critic(made(noise))
    update([(apart, of("critic")), (like, of("maker"))])


def tasks(x, noise, labels):
    with tf.device("/gpu:0"):
        classes = tf.reduce_mean(tf.square(layer(layer(x, "trunk", 5), "classes", 2) - labels))
        first = of("")
    with tf.device("/gpu:1"):
        copied = tf.reduce_mean(tf.square(layer(layer(x, "trunk", 5), "copied", 3) - x))
    update([(classes, first), (copied, [*of("trunk"), *of("copied")])])


def actor_and_critic(x, noise, labels):
    with tf.device("/gpu:1"):
        value = layer(layer(x, "value/1", 5), "value/2", 1)
        error = tf.reduce_mean(tf.square(labels[:, :1] - value))
    with tf.device("/gpu:0"):
        action = layer(layer(x, "actor/1", 5), "actor/2", 2)
        gain = tf.reduce_mean(action * tf.stop_gradient(labels[:, :1] - value))
    update([(error, of("value")), (-gain, of("actor"))])


def cycles(x, noise, labels):
    other = v1.placeholder(tf.float32, [4, 3], "other")
    with tf.device("/gpu:0"):
        there = tf.reduce_mean(tf.square(layer(layer(x, "there", 3), "back", 3) - x))
    with tf.device("/gpu:1"):
        back = tf.reduce_mean(tf.square(layer(layer(other, "back", 3), "there", 3) - other))
    update([(there + back, of(""))])


def penalty(x):
    """A gradient penalty of the critic."""
    (gradient,) = v1.gradients(critic(x), [x])
    return tf.reduce_mean(tf.square(tf.sqrt(tf.reduce_sum(tf.square(gradient), 1)) - 1.0))


def values_and_a_penalty(x, noise, labels):
    fake = made(noise)
    with tf.device("/gpu:0"):
        apart = critic(fake) - critic(x)
    with tf.device("/gpu:1"):
        steep = penalty(0.5 * (x + fake))
    update([(apart + steep, of("critic"))])


def one_critic_in_two_scopes(x, noise, labels):
    with tf.name_scope("critic"):
        real = critic(x)
    fakes = made(noise)
    with tf.name_scope("critic"):
        fake = critic(fakes)
    update([(fake - real, of("critic")), (-fake, of("maker"))])


def towers_of(make_loss):
    """A program of two towers; each tower's loss is that of its half of the batch, given the tower's number."""

    def build(x, noise, labels):
        losses = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                losses.append(make_loss(tower, tf.split(x, 2)[tower], tf.split(noise, 2)[tower]))
        update([(loss, of("")) for loss in losses])

    return build


def variables_of_its_own(tower, x, noise):
    return tf.reduce_mean(layer(layer(x, f"own{tower}/1", 5), f"own{tower}/2", 1))


def last_layer_of_its_own(tower, x, noise):
    return tf.reduce_mean(layer(layer(x, "first", 5), f"last{tower}", 1))


def one_more_head(tower, x, noise):
    hidden = layer(x, "hidden", 5)
    value = tf.reduce_mean(layer(hidden, "last", 1))
    return value if tower else value + tf.reduce_mean(layer(hidden, "head", 4))


def both_players(tower, x, noise):
    return critic(made(noise)) - critic(x)


def critic_with_a_penalty(tower, x, noise):
    return critic(x) + penalty(x)


def front_layers_of_their_own(trained):
    """Towers of which each has a placeholder and a first layer of its own, where the train op changes some of them."""

    def build(x, noise, labels):
        losses = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                own = layer(v1.placeholder(tf.float32, [2, 3], "own"), f"front{tower}", 4)
                losses.append(tf.reduce_mean(layer(own, "shared", 1)))
        update(
            [
                (loss, [*of("shared"), *(of(f"front{tower}") if tower in trained else [])])
                for tower, loss in enumerate(losses)
            ]
        )

    return build


def graph_of_program(build):
    names = []

    def make():
        batch = [v1.placeholder(tf.float32, [4, size], name) for name, size in [("x", 3), ("noise", 2), ("labels", 2)]]
        build(*batch)
        names.extend(one.op.name for one in v1.trainable_variables())

    return saved(traced(make), trainable_variables=names)


def number_of_towers(build):
    """(towers of the analysis, of the graph alone, sentences that name different parts)."""
    graph = graph_of_program(build)
    plan = analyse_graph(graph, "small", ["train"]).plan
    return plan.towers, WholeGraph(graph).count, [note for note in plan.notes if "as one tower" in note]


@pytest.mark.parametrize(
    "build, why",
    [
        (halves_of_a_critic, "device 0 gives the layer with critic/1/w other data than device 1, behind other layers"),
        (
            halves_of_a_critic_with_a_fixed_maker,
            "device 0 gives the layer with critic/1/w other data than device 1, behind other layers",
        ),
        (losses_of_two_players, "device 0 alone trains critic/1/w, and device 1 maker/1/w, of another shape"),
        (tasks, "device 0 alone uses classes/w, and device 1 copied/w, of another shape"),
        (actor_and_critic, "what tower 0 computes is made from what tower 1 computes: sub_1 takes Tanh_1:0"),
        (values_and_a_penalty, "device 1 has a penalty of derivatives alone, and device 0 the rest of its loss"),
        (cycles, "device 0 gives the layer with there/w other data than device 1, behind other layers"),
    ],
)
def test_devices_with_different_parts_are_no_towers(build, why):
    towers, in_the_graph, (note,) = number_of_towers(build)
    assert (towers, in_the_graph) == (1, 1) and note.endswith(why)


def test_one_model_for_examples_and_for_made_ones_is_no_towers():
    assert number_of_towers(one_critic_in_two_scopes)[:2] == (1, 1)


@pytest.mark.parametrize(
    "build",
    [
        towers_of(variables_of_its_own),
        towers_of(last_layer_of_its_own),
        towers_of(one_more_head),
        towers_of(both_players),
        towers_of(critic_with_a_penalty),
        front_layers_of_their_own(trained=[0, 1]),
        front_layers_of_their_own(trained=[0]),
    ],
)
def test_towers_with_mistakes_are_towers(build):
    assert number_of_towers(build) == (2, 2, [])


def test_towers_whose_weights_are_not_known_may_be_copies():
    graph = traced(two_towers)
    towers = find_towers(graph, ImportedGraph(graph), ["w"], graph.inputs("train")[1:])
    assert different_parts(graph, towers, []) == different_parts(graph, towers, ["w"]) == ""
