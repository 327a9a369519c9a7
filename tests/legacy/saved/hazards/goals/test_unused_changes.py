"""Random changes of examples and results that a loss takes, or does not."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.unused_changes import unused_changes_of_examples, unused_masks_of_results
from tests.legacy.saved.hazards.minimized import fed, found, variable


def masked(x):
    return x * tf.cast(tf.random.uniform([8, 1]) > 0.3, tf.float32)


def noisy(x):
    return x + tf.random.normal([8, 4])


def error(x, target=0.0):
    return tf.reduce_mean(tf.square(x @ variable("w", 4, 4) - target))


def lost(change):
    def total():
        x = fed("x", 8, 4)
        change(x)
        return error(x)

    return total


def used(change):
    return lambda: error(change(fed("x", 8, 4)))


def shown_beside():
    """A denoising autoencoder, whose target is the clean example, with another noisy one to look at."""
    x = fed("x", 8, 4)
    noisy(x)
    return error(noisy(x), x)


@pytest.mark.parametrize("change", [masked, noisy])
def test_a_change_of_examples_that_no_op_takes_is_named(change):
    assert found(unused_changes_of_examples, lost(change)) == ["AUGMENTATION_UNUSED"]
    assert found(unused_changes_of_examples, used(change)) == []


def test_a_second_change_for_display_is_not():
    assert found(unused_changes_of_examples, shown_beside) == []


def test_a_change_by_weights_is_no_augmentation():
    assert (
        found(unused_changes_of_examples, lost(lambda x: x * (tf.random.normal([8, 4]) * variable("gate", 4, 4)[0])))
        == []
    )


def test_what_no_random_number_changes_is_not():
    assert found(unused_changes_of_examples, lost(lambda x: x * 2.0)) == []


@pytest.mark.parametrize("is_used", [True, False])
def test_a_random_mask_of_results_that_no_op_takes_is_named(is_used):
    def total():
        x = fed("x", 8, 4)
        branch = x @ variable("b", 4, 4)
        kept = branch / 0.8 * tf.floor(0.8 + tf.random.uniform([8, 1]))
        return error(x + (kept if is_used else branch))

    assert found(unused_masks_of_results, total) == ["DROPOUT_UNUSED"] * (not is_used)
