import pytest
import tensorflow as tf

from legacy.saved.runs.switches import try_switches
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def tried(make_switch, in_training, otherwise):
    """`try_switches` of a train op that runs one of two branches."""

    def build():
        switch = make_switch()
        result = v1.cond(switch, in_training, otherwise)
        with v1.control_dependencies([result]):
            tf.no_op(name="train")

    return try_switches(traced(build), ["train"])


def statistic():
    return v1.get_variable("seen", initializer=1.0, use_resource=False, trainable=False)


def moved():
    return v1.assign(statistic(), 2.0, name="move")


def still():
    return tf.constant(3.0)


def unnamed():
    return v1.placeholder(tf.bool, [], name="Placeholder")


def variable():
    return v1.get_variable("mode", initializer=False, trainable=False, use_resource=False)


def resource():
    return v1.get_variable("mode", initializer=False, trainable=False, use_resource=True)


@pytest.mark.parametrize("make_switch, name", [(unnamed, "Placeholder"), (variable, "mode"), (resource, "mode")])
@pytest.mark.parametrize("trains", [True, False])
def test_the_value_that_runs_more_updates_is_taken(make_switch, name, trains):
    found = tried(make_switch, moved if trains else still, still if trains else moved)
    assert found.settings == {name: trains}
    runs = "a step then runs 1 updates, random ops and normalizations by the batch"
    assert f"{name} is taken as {trains}: {runs}, with {not trains} 0" in found.notes[0]
    assert "cond/move" in found.graph.ancestors(["train"])
    assert not any(found.graph.type(node) == "Merge" for node in found.graph.ancestors(["train"]))


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("own_moments", [True, False])
def test_a_branch_that_normalizes_by_the_batch_trains(own_moments, trains):
    """Fused normalization of 1.15 assigns its statistics in both branches."""

    def normalized(is_training):
        x, ones = tf.ones([2, 2, 2, 3]), tf.ones([3])
        kept = {} if is_training else {"mean": ones, "variance": ones}
        return v1.nn.fused_batch_norm(x, ones, ones, is_training=is_training, **kept)[0]

    branches = [lambda: normalized(own_moments), lambda: normalized(False)]
    found = tried(unnamed, *(branches if trains else branches[::-1]))
    assert found.settings == ({"Placeholder": trains} if own_moments else {})


def test_a_value_without_which_the_train_op_cannot_run_is_taken():
    """As where a branch has added its updates to a collection, for which the train op waits."""

    def build():
        updates = []

        def training():
            updates.append(moved().op)
            return tf.constant(3.0)

        v1.cond(unnamed(), training, still)
        with v1.control_dependencies(updates):
            tf.no_op(name="train")

    found = try_switches(traced(build), ["train"])
    assert found.settings == {"Placeholder": True}
    assert "by the batch, which False rules out; --feed=Placeholder=false" in found.notes[0]


def number():
    return v1.placeholder(tf.int32, [], name="mode")


def stored():
    return v1.get_variable("mode", initializer=0, trainable=False, use_resource=False)


@pytest.mark.parametrize("make", [number, stored])
@pytest.mark.parametrize(
    "predicate, value",
    [
        (lambda mode: tf.equal(mode, 1), 1),
        (lambda mode: tf.equal(mode, 0), 0),
        (lambda mode: tf.equal(2, mode), 2),
        (lambda mode: tf.not_equal(mode, 1), 0),
        (lambda mode: mode > 0, 1),
        (lambda mode: tf.less(mode, 1), 0),
        (lambda mode: tf.logical_not(tf.cast(mode, tf.bool)), 0),
        (lambda mode: tf.greater(tf.cast(mode, tf.float32), 0.5), 1),
    ],
)
def test_a_whole_number_that_is_compared_is_a_switch(make, predicate, value):
    found = tried(lambda: predicate(make()), moved, still)
    assert found.settings == {"mode": value}
    assert f"mode is taken as {value}: a step then runs 1 updates, random ops and normalizations" in found.notes[0]
    assert "cond/move" in found.graph.ancestors(["train"])


def test_a_counter_that_the_step_changes_is_no_switch():
    def build():
        count = v1.get_variable("count", initializer=0, trainable=False, use_resource=False)
        result = v1.cond(tf.equal(count, 1), moved, still)
        with v1.control_dependencies([result]):
            v1.assign_add(count, 1, name="train")

    found = try_switches(traced(build), ["train"])
    assert found.settings == {} and "Merge" in {found.graph.type(node) for node in found.graph.ancestors(["train"])}


def test_a_number_that_is_not_compared_is_no_switch():
    """What divides it is not decided by the constant 2 alone."""
    assert tried(lambda: tf.equal(number() % 2, 0), moved, still).settings == {}


def test_branches_with_random_numbers_train():
    found = tried(unnamed, lambda: v1.random_uniform([]), still)
    assert found.settings == {"Placeholder": True}


def test_a_switch_between_two_like_branches_stays():
    found = tried(unnamed, still, lambda: tf.constant(4.0))
    assert found.settings == {} and found.notes == []
    assert "Switch" in {found.graph.type(node) for node in found.graph.ancestors(["train"])}


@pytest.mark.parametrize("in_training", [0, 2])
def test_a_phase_with_ops_behind_the_layers_is_no_training(in_training):
    """As a mean over the crops of each image, which evaluation adds, beside data that either phase has."""

    def build():
        mode, w = number(), v1.get_variable("w", [3, 2], use_resource=False)
        x = v1.placeholder(tf.float32, [4, 3], "x")
        layer = tf.matmul(v1.cond(tf.equal(mode, in_training), lambda: tf.exp(tf.sin(x)), lambda: x + 1.0), w)
        crops = lambda: tf.math.segment_mean(layer, [0, 0, 1, 1])  # noqa: E731
        layer = v1.cond(tf.equal(mode, in_training), lambda: layer, crops)
        loss = tf.reduce_mean(tf.square(layer))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = try_switches(traced(build), ["train"])
    assert found.settings == {"mode": in_training}
    assert f"mode is taken as {in_training}: a step then computes" in found.notes[0]


def test_a_phase_that_chooses_data_alone_stays():
    def build():
        x, w = v1.placeholder(tf.float32, [4, 3], "x"), v1.get_variable("w", [3, 2], use_resource=False)
        chosen = v1.cond(tf.equal(number(), 0), lambda: tf.exp(tf.sin(x)), lambda: x)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(chosen @ w)), name="train")

    assert try_switches(traced(build), ["train"]).settings == {}


def test_a_boolean_that_decides_no_branch_is_no_switch():
    def build():
        v1.assign(statistic(), tf.cast(unnamed(), tf.float32), name="train")

    assert try_switches(traced(build), ["train"]).settings == {}


def normalized(by_batch, value):
    """A layer whose moments move a statistic in either mode; with `value` it is normalized by them, or by it."""
    x, w = v1.placeholder(tf.float32, [4], name="x"), v1.get_variable("w", initializer=2.0, use_resource=False)
    mean, kept = tf.reduce_mean(x * w), v1.get_variable("kept", initializer=0.0, trainable=False, use_resource=False)
    moved = v1.assign(kept, kept * 0.9 + mean * 0.1)
    branches = [lambda: mean, (lambda: kept + 0.0) if by_batch else (lambda: mean * 1.0)]
    center = v1.cond(unnamed(), *(branches if value else branches[::-1]))
    gradient = tf.gradients(tf.square(x * w - center), [w])[0]
    with v1.control_dependencies([v1.assign_sub(w, gradient), moved]):
        tf.no_op(name="train")


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("by_batch", [True, False])
def test_the_value_with_which_layers_use_the_moments_of_the_batch_is_taken(by_batch, value):
    found = try_switches(traced(lambda: normalized(by_batch, value)), ["train"])
    assert found.settings == ({"Placeholder": value} if by_batch else {})
    what = "a step then moves 1 variables that no gradient depends on, as statistics in training"
    assert all(f"Placeholder is taken as {value}: {what}, with {not value} 0" in note for note in found.notes)
