"""Losses of two towers: equal ones stay, a term of the first tower's becomes conditional."""

import pytest
import tensorflow as tf

from legacy.source.basics.rendering import expression_text
from legacy.source.differences import merge_losses
from legacy.source.learning import Unwritten
from tests.legacy.source.tiny import recovered


def merged(one, two):
    first, (loss,) = recovered(one, {"x": []}, {"w": [2]})
    second, (other,) = recovered(two, {"x": []}, {"w": [2]})
    return expression_text(merge_losses(first, loss, second, other))


def data(x, w):
    return tf.reduce_mean(x) * tf.reduce_sum(w)


def test_equal_losses_stay_as_they_are():
    assert merged(data, data) == "<mul:0>"


def test_a_term_that_only_the_first_tower_has_stands_under_a_condition():
    text = merged(lambda x, w: (data(x, w) + tf.nn.l2_loss(w)) / 2.0, lambda x, w: data(x, w) / 2.0)
    assert text == "(<mul:0> + (<L2Loss:0> if scope.replica == 0 else 0.0)) / 2.0"


def test_other_differences_are_refused():
    with pytest.raises(Unwritten, match="towers: they differ"):
        merged(lambda x, w: tf.sqrt(data(x, w)), lambda x, w: tf.square(data(x, w)))
