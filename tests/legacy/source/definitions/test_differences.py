"""Losses of several towers: equal ones stay, a term of one tower becomes conditional."""

import pytest
import tensorflow as tf

from legacy.source.basics.rendering import expression_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.differences import adopt_values, merge_losses
from tests.legacy.source.tiny import recovered


def merged(*builds):
    towers = [recovered(build, {"x": []}, {"w": [2]}) for build in builds]
    return expression_text(merge_losses([tower for tower, _ in towers], [loss for _, (loss,) in towers]))


def data(x, w):
    return tf.reduce_mean(x) * tf.reduce_sum(w)


def test_equal_losses_stay_as_they_are():
    assert merged(data, data) == "<mul:0>"


def test_a_term_that_only_the_first_tower_has_stands_under_a_condition():
    text = merged(lambda x, w: (data(x, w) + tf.nn.l2_loss(w)) / 2.0, lambda x, w: data(x, w) / 2.0)
    assert text == "(<mul:0> + (<L2Loss:0> if scope.replica == 0 else 0.0)) / 2.0"


def test_a_term_of_the_last_tower_stands_under_the_condition_that_the_replica_is_the_last():
    text = merged(lambda x, w: data(x, w) / 2.0, lambda x, w: (data(x, w) + tf.nn.l2_loss(w)) / 2.0)
    assert text == "(<mul:0> + (<L2Loss:0> if scope.replica == scope.replicas - 1 else 0.0)) / 2.0"


@pytest.mark.parametrize("number, condition", [(0, "== 0"), (1, "== 1"), (2, "== scope.replicas - 1")])
def test_of_three_towers_the_one_that_differs_is_in_the_condition(number, condition):
    builds = [data, data, data]
    builds[number] = lambda x, w: data(x, w) + tf.nn.l2_loss(w)
    assert merged(*builds) == f"<mul:0> + (<L2Loss:0> if scope.replica {condition} else 0.0)"


def test_a_sum_that_the_last_tower_has_in_place_of_a_term_is_a_choice():
    text = merged(data, lambda x, w: tf.add_n([data(x, w), tf.nn.l2_loss(w), tf.reduce_sum(w)]))
    assert text.startswith("add_in_order([<mul:0>, <L2Loss:0>,") and text.endswith(
        "if scope.replica == scope.replicas - 1 else <mul:0>"
    )


def test_terms_that_the_other_tower_lacks_in_a_sum_make_the_sum_conditional():
    text = merged(lambda x, w: tf.add_n([data(x, w), tf.nn.l2_loss(w), tf.reduce_sum(w)]), data)
    assert text == "add_in_order([<mul:0>, <L2Loss:0>, <Sum_1:0>]) if scope.replica == 0 else <mul:0>"


def test_other_differences_are_refused():
    with pytest.raises(Unwritten, match="towers: they differ"):
        merged(lambda x, w: tf.sqrt(data(x, w)), lambda x, w: tf.reduce_max(tf.sin(w)) / tf.reduce_mean(x))


def test_values_of_another_tower_are_found_again_or_adopted():
    first, (_, _) = recovered(lambda x, w: [data(x, w), tf.sqrt(w)], {"x": []}, {"w": [2]})
    second, (_, end) = recovered(lambda x, w: [data(x, w), tf.sin(tf.sqrt(w)) * x[0]], {"x": []}, {"w": [2]})
    (moved,) = adopt_values(first, second, [end], {})
    names = [target for item in first.ordered([moved]) for target in item.targets]
    assert "Sqrt:0" in names and "Sin:0" in names and names.count("w:0") == 1
    assert first.shape("Sin:0") == [2]
