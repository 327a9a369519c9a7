"""Datasets that are cached behind random numbers, or shuffled behind the batching, beside usual orders."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data import pipelines
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, make, one_shot=True):
    """The hazards of a program that takes its batches from what `make` makes of a dataset of 8 rows."""

    def build():
        dataset = make(v1.data.Dataset.from_tensor_slices(tf.ones([8, 4])))
        make_iterator = v1.data.make_one_shot_iterator if one_shot else v1.data.make_initializable_iterator
        w = v1.get_variable("w", [4, 1], use_resource=False)
        loss = tf.reduce_mean(tf.square(make_iterator(dataset).get_next() @ w))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w], name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def noisy(x):
    return x + tf.random.uniform([4])


def in_a_branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: noisy(x), lambda: x)


@pytest.mark.parametrize("one_shot", [True, False])
@pytest.mark.parametrize("draw", [noisy, in_a_branch])
def test_random_numbers_before_a_cache_are_named(draw, one_shot):
    assert found(pipelines.random_before_cache, lambda d: d.map(draw).cache().repeat().batch(2), one_shot) == [
        "DRAWN_ONCE"
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.cache().map(noisy).repeat().batch(2),
        lambda d: d.map(lambda x: x * 2.0).cache().repeat().batch(2),
        lambda d: d.map(noisy).cache().batch(2),  # one pass
        lambda d: d.repeat().map(noisy).cache().batch(2),  # never taken from the cache
    ],
)
def test_random_numbers_that_are_drawn_anew_or_for_one_pass_are_not(make):
    assert found(pipelines.random_before_cache, make) == []


@pytest.mark.parametrize("one_shot", [True, False])
@pytest.mark.parametrize("last", [lambda d: d.repeat(), lambda d: d.repeat(3).prefetch(1)])
def test_a_shuffle_behind_the_batching_is_named(last, one_shot):
    assert found(pipelines.shuffled_batches, lambda d: last(d.batch(2).shuffle(4)), one_shot) == ["BATCHES_SHUFFLED"]


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.shuffle(8).batch(2).repeat(),
        lambda d: d.shuffle(8).batch(2).shuffle(4).repeat(),
        lambda d: d.batch(2).shuffle(4),
        lambda d: d.repeat().batch(3).shuffle(4).repeat(),
        lambda d: d.batch(2).shuffle(4).repeat().batch(2),  # windows of two, which are the examples
    ],
)
def test_a_shuffle_of_examples_or_for_one_pass_is_not(make):
    assert found(pipelines.shuffled_batches, make) == []
