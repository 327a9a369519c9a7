"""Lifts of programs that normalize each layer by the moments of all towers' batches, written by hand."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.options import LegacyOptions
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import assert_same, lifted, plain, setup_of, verified
from workloads.lifted.replication import own_number_only
from workloads.lifted.tensors.lift_taps import find_taps
from workloads.support.errors import InputError

v1 = tf.compat.v1
TOWERS, LAYERS = 2, 2


def shared(name, shape, layer):
    with v1.variable_scope(f"layer{layer}", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def on_towers(function, parts):
    """[what a function makes of each tower's part], under the device of the tower."""
    made = []
    for tower, part in enumerate(parts):
        with tf.device(f"/gpu:{tower}"):
            made.append(function(part))
    return made


def normalized(outputs, own_variance, moved, layer):
    """Each tower's outputs, normalized by the moments of all towers; adds a change of a moving mean to `moved`."""
    mean = tf.add_n(on_towers(lambda x: tf.reduce_mean(x, 0), outputs)) / TOWERS
    if own_variance:
        squares = tf.add_n(on_towers(lambda x: tf.reduce_mean(tf.square(x - mean), 0), outputs)) / TOWERS
    else:
        squares = tf.add_n(on_towers(lambda x: tf.reduce_mean(tf.square(x), 0), outputs)) / TOWERS - tf.square(mean)
    moving = plain(f"mean{layer}", [3])
    moved.append(v1.assign_sub(moving, 0.25 * (moving - mean)))
    return on_towers(lambda x: tf.tanh((x - mean) / tf.sqrt(squares + 0.5)), outputs)


def built(own_variance, own_gradients):
    def build():
        hidden = tf.split(v1.placeholder(tf.float32, [TOWERS * 4, 3], "x"), TOWERS)
        labels = tf.split(v1.placeholder(tf.float32, [TOWERS * 4, 3], "y"), TOWERS)
        moved = []
        for layer in range(LAYERS):
            weight = shared("w", [3, 3], layer)
            hidden = normalized(on_towers(lambda x, w=weight: x @ w, hidden), own_variance, moved, layer)
        last = shared("w", [3, 3], LAYERS)
        losses = on_towers(lambda pair: tf.reduce_mean(tf.square(pair[0] @ last - pair[1])), list(zip(hidden, labels)))
        weights = v1.trainable_variables()
        if own_gradients:
            found = on_towers(lambda loss: tf.gradients(loss, weights), losses)
        else:
            found = [tf.gradients(tf.add_n(losses), weights)]
        gradients = [tf.add_n(own) / TOWERS for own in zip(*found)]
        update = v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(list(zip(gradients, weights)))
        return tf.group(update, *moved, name="train")

    return build


@pytest.mark.parametrize(
    "own_variance, own_gradients, exchanges",
    [
        (False, False, 2 * LAYERS),  # both moments at once, forward and backward in each layer
        (True, False, 4 * LAYERS),  # the variance needs the mean of all towers
        (False, True, None),  # each tower differentiates its loss through the other towers' layers
    ],
)
def test_moments_are_exchanged_in_each_layer_of_a_step(own_variance, own_gradients, exchanges, tmp_path):
    setup = lifted(built(own_variance, own_gradients), tmp_path)
    plan = setup.job.workload.plan
    if exchanges is not None:
        assert len(plan.phases[0].all_exchanges) == exchanges
    inputs = {entry.name: (entry.kind, len(set(entry.tensors))) for entry in plan.inputs}
    assert inputs == {"x": ("batch", TOWERS), "y": ("batch", TOWERS)} and not plan.common
    assert own_number_only(plan) == "each tower's gradients depend on all towers' results"
    assert_same(setup, steps=3)


@pytest.mark.parametrize("own_gradients", [False, True])
def test_taps_are_of_each_towers_own_layers(own_gradients, tmp_path):
    lift = lifted(built(own_variance=False, own_gradients=own_gradients), tmp_path).job.workload
    (taps,) = find_taps(lift, ("*Tanh*",))
    assert [tap.tensors for tap in taps.taps] == [["Tanh:0", "Tanh_1:0"], ["Tanh_2:0", "Tanh_3:0"]]
    setup = setup_of(lift.folder, taps=("*",))
    result = verified(dataclasses.replace(setup, legacy=LegacyOptions(exact=True, taps=("*",))), 2)
    assert result.passed and result.stages["activations"].tensors, result.first


def test_the_source_of_such_a_step_is_refused_with_the_reason(tmp_path):
    setup = lifted(built(own_variance=True, own_gradients=False), tmp_path)
    with pytest.raises(InputError, match="they exchange results several times in a step"):
        source_of(setup, "standalone")
