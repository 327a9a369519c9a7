"""Gradients that are added up over several runs before an update: reduced in each run, at any number of replicas."""

import dataclasses

import pytest
import tensorflow as tf

from tests.legacy.source.test_trained_updates import weight
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, plain, split_batch, towers
from workloads.lifted.sources import LiftedSynthetic
from workloads.support.errors import InputError

v1 = tf.compat.v1


def summed(combine):
    """A program whose runs add `combine(the towers' gradients)` to a variable, by which one more updates a weight."""

    def build():
        xs, w = split_batch(), weight("w", [3, 2])
        gradients = towers(lambda tower: tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2), [w])[0])
        total = plain("total", [3, 2])
        v1.assign_add(total, combine(gradients), name="add")
        v1.assign(total, tf.zeros([3, 2]), name="reset")
        return v1.train.AdamOptimizer(0.25).apply_gradients([(total, w)], name="train")

    return build


def source_and_setup(combine, tmp_path, style="workload"):
    setup = lifted(summed(combine), tmp_path, train_op=["add", "add", "train", "reset"])
    return source_of(setup, style), setup


@pytest.mark.parametrize(
    "combine, how",
    [
        (lambda gradients: tf.add_n(gradients) / TOWERS, "MEAN"),
        (tf.add_n, "SUM"),
        (lambda gradients: tf.add_n(gradients) * 0.25, "SUM"),
    ],
)
def test_each_run_reduces_its_gradients_on_any_number_of_replicas(combine, how, tmp_path):
    source, setup = source_and_setup(combine, tmp_path)
    assert f"ReduceOp.{how}" in source.text and "replicas only" not in source.text
    assert 'variables["total"].assign(tf.zeros_like(variables["total"]))' in source.text, "a text of any shape"
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas, steps=8)
    other = "MEAN" if how == "SUM" else "SUM"
    wrong = assert_port_verified(
        setup, tmp_path, source, changed=lambda text: text.replace(f"ReduceOp.{how}", f"ReduceOp.{other}")
    )
    assert not wrong.passed
    assert_trains_alike(setup, tmp_path, steps=8)


@pytest.mark.parametrize("combine", [lambda gradients: tf.maximum(*gradients), lambda gs: tf.add_n(gs) / 3.0])
def test_what_is_no_exact_multiple_of_a_sum_uses_the_gradients_of_each_tower(combine, tmp_path):
    source, setup = source_and_setup(combine, tmp_path)
    assert "For 2 replicas only" in source.text
    assert_port_verified(setup, tmp_path, source, steps=8)


def with_a_rate(rate):
    """A program as those of `summed`, of which the run that updates the weight has this learning rate of the batch."""

    def build():
        xs, w = split_batch(), weight("w", [3, 2])
        losses = towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2))
        total = plain("total", [3, 2])
        v1.assign_add(total, tf.gradients(tf.add_n(losses), [w])[0], name="add")
        v1.assign(total, tf.zeros([3, 2]), name="reset")
        return v1.train.AdamOptimizer(rate(xs)).apply_gradients([(total, w)], name="train")

    return build


def test_a_number_that_the_run_without_a_loss_is_fed_is_a_constant(tmp_path):
    fed = with_a_rate(lambda xs: 0.5 * v1.placeholder(tf.float32, [], "share"))
    setup = lifted(fed, tmp_path, train_op=["add", "add", "train", "reset"])
    setup = dataclasses.replace(setup, make_source=lambda job: LiftedSynthetic(job, {"share": 0.25}))
    source = source_of(setup, "workload", {"share": "0.25"})
    assert "SHARE = 0.25" in source.text and "SHARE = 0.25" in source_of(setup, settings={"share": "0.25"}).text
    assert_port_verified(setup, tmp_path, source, steps=8, settings={"share": 0.25})


def test_a_rate_that_the_run_without_a_loss_makes_of_the_batch_is_not_written(tmp_path):
    of_data = with_a_rate(lambda xs: 0.5 * tf.reduce_mean(tf.abs(xs[0])))
    setup = lifted(of_data, tmp_path, train_op=["add", "add", "train", "reset"])
    with pytest.raises(InputError, match="is made of each batch before the towers"):
        source_of(setup, "workload")
