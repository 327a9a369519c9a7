"""Random numbers that a program draws once for all towers, and that each tower's loss uses."""

import dataclasses

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, assert_same, lifted, setup_of, split_batch, towers, weights
from workloads.support.errors import InputError

v1 = tf.compat.v1


def classes():
    """Classes that all towers take for others than their examples'."""
    return v1.random_uniform([5], 0, 3, tf.int32)


def factor():
    return v1.random_uniform([], 0.25, 0.75)


def with_classes(x, drawn):
    sampled = tf.nn.embedding_lookup(weights(), drawn)
    return tf.reduce_sum(tf.tanh(tf.matmul(x, weights())) ** 2) + tf.reduce_sum(sampled**2)


def scaled(x, drawn):
    return tf.reduce_sum(tf.tanh(tf.matmul(x * drawn, weights())) ** 2)


def program(draw, loss, each=False, update=lambda gradient, drawn: gradient):
    """A program whose towers' losses use what is drawn before them; `each` tower draws for itself."""

    def build():
        drawn, parts = draw(), split_batch()
        made = towers(lambda n: tf.gradients(loss(parts[n], draw() if each else drawn), [weights()])[0])
        mean = tf.add_n([tf.convert_to_tensor(gradient) for gradient in made]) / TOWERS
        optimizer = v1.train.MomentumOptimizer(0.125, 0.5)
        return optimizer.apply_gradients([(update(mean, drawn), weights())])

    return build


def verified(setup, tmp_path, source, replicas, changed=str):
    """Verifies a source of style "workload" at a number of replicas."""
    if "(StepWorkload)" in source.text:
        return assert_port_verified(setup, tmp_path, source, replicas, changed=changed)
    job = dataclasses.replace(setup.job, replicas=replicas, global_batch=replicas * BATCH)
    setup = dataclasses.replace(setup, job=job, replicated=replicas != TOWERS)
    return assert_workload_verified(setup, tmp_path, source, changed)


def by_sign(gradient, drawn):
    """An update that no fields of a workload describe."""
    return tf.sign(gradient)


def drawn_again(gradient, drawn):
    return gradient * drawn


@pytest.mark.parametrize(
    "draw, loss, update",
    [
        (classes, with_classes, None),
        (factor, scaled, None),
        (classes, with_classes, by_sign),
        (factor, scaled, drawn_again),
    ],
)
def test_all_replicas_draw_the_same_numbers(draw, loss, update, tmp_path):
    setup = lifted(program(draw, loss, update=update or (lambda gradient, drawn: gradient)), tmp_path)
    plan = setup.job.workload.plan
    assert [entry.kind for entry in plan.inputs + plan.common] == ["batch"] and len(plan.common_noise) == 1
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), 4), replicated=True))
    source = source_of(setup, "workload")
    assert "scope.common." in source.text and ("(StepWorkload)" in source.text) == (update is not None)
    for replicas in (TOWERS, 4):
        verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)


def test_numbers_of_each_replica_are_others(tmp_path):
    setup = lifted(program(classes, with_classes, update=by_sign), tmp_path)
    alone = lambda text: text.replace("scope.common.", "scope.")  # noqa: E731
    with pytest.raises(InputError, match="drawn once for all towers, and the port's '.*' by each tower"):
        verified(setup, tmp_path, source_of(setup, "workload"), TOWERS, alone)


@pytest.mark.parametrize("draw, loss", [(classes, with_classes), (factor, scaled)])
def test_towers_that_draw_for_themselves_have_their_own(draw, loss, tmp_path):
    setup = lifted(program(draw, loss, each=True), tmp_path)
    source = source_of(setup, "workload")
    assert "scope.common." not in source.text and not setup.job.workload.plan.common_noise
    verified(setup, tmp_path, source, TOWERS)


def test_a_number_of_random_data_is_of_these_data(tmp_path):
    """Made-up examples and their mean hold the same random numbers."""

    def build():
        x = v1.random_normal([TOWERS * BATCH, 3])
        mean = tf.reduce_mean(x)
        made = towers(lambda n: tf.gradients(scaled(tf.split(x, TOWERS)[n], mean), [weights()])[0])
        return v1.train.GradientDescentOptimizer(0.125).apply_gradients([(tf.add_n(made) / TOWERS, weights())])

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert sorted(entry.kind for entry in plan.inputs + plan.common) == ["batch", "setting"] and not plan.common_noise
    with pytest.raises(InputError, match="is drawn anew in each step; a source would have it as a constant"):
        source_of(setup, "workload")
