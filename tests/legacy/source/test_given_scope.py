"""The scope of a proof: it notes all changes of statistics, and refuses a variable of another shape."""

import pytest
import tensorflow as tf

from legacy.source.given_scope import GivenFrame, GivenScope


def scope():
    return GivenScope(GivenFrame({"mean": tf.constant([2.0, 4.0])}, {"drop": tf.constant([0.5])}, 1, 2, 3))


def test_every_change_of_a_statistic_is_noted_from_the_given_value():
    given = scope()
    given.get("mean", (2,))
    given.update("mean", lambda now: now * 2.0)
    given.update("mean", lambda now: now + 1.0)
    assert [(name, value.numpy().tolist()) for name, value in given.changes] == [("mean", [4, 8]), ("mean", [3, 5])]


def test_it_gives_values_numbers_and_the_replica():
    given = scope()
    assert given.uniform("drop", [1]).numpy().tolist() == [0.5]
    assert given.replica == 1 and given.replicas == 2 and int(given.step) == 3


def test_a_variable_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"mean: \(3,\) in the source, \(2,\) in the old program"):
        scope().get("mean", (3,))
