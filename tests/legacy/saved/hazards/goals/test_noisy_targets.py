"""Denoising losses whose target is clean, or the noisy input itself."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.noisy_targets import noisy_targets
from tests.legacy.saved.hazards import minimized


def normal(x):
    return x + tf.random.normal(tf.shape(x), stddev=0.1)


def masked(x):
    return x * tf.cast(tf.random.uniform(tf.shape(x)) > 0.3, tf.float32)


def dropped(x):
    return tf.nn.dropout(x, rate=0.3)


def brighter(x):
    return x + 0.1 * tf.random.normal([])


def spread(x):
    return (x + tf.random.uniform(tf.shape(x))) / 256.0


@pytest.mark.parametrize(
    "change, is_clean, count",
    [
        (normal, False, 1),
        (masked, False, 1),
        (dropped, False, 1),
        (normal, True, 0),
        (masked, True, 0),
        (brighter, False, 0),  # an augmentation, by one number
        (spread, False, 0),  # whole numbers that are made continuous
    ],
)
def test_a_target_that_is_the_noisy_input_is_named(change, is_clean, count):
    def loss():
        x = minimized.fed("x", 8, 4)
        noisy = change(x)
        result = noisy @ minimized.variable("w", 4, 4)
        return tf.reduce_mean(tf.math.squared_difference(result, x if is_clean else noisy))

    assert minimized.found(noisy_targets, loss) == ["TARGET_IS_NOISY"] * count


def test_noise_that_the_network_does_not_read_is_no_such_target():
    def loss():
        x = minimized.fed("x", 8, 4)
        return tf.reduce_mean(tf.math.squared_difference(x @ minimized.variable("w", 4, 4), normal(x)))

    assert minimized.found(noisy_targets, loss) == []


def flipped(x):
    flips = tf.cast(tf.random.uniform([8, 1]) < 0.5, tf.float32)
    return flips * x + (1.0 - flips) * tf.reverse(x, [1])


def flipped_as_many_as_there_are(x):
    flips = tf.cast(tf.random.uniform(tf.stack([tf.shape(x)[0], 1])) < 0.5, tf.float32)
    return flips * x + (1.0 - flips) * tf.reverse(x, [1])


def shaded(x):
    return x + 0.1 * tf.random.normal([8, 1])


def of_its_own_probabilities(x):
    return tf.where(tf.random.uniform(tf.shape(x)) < x, tf.ones_like(x), tf.zeros_like(x))


@pytest.mark.parametrize("change", [flipped, flipped_as_many_as_there_are, shaded, of_its_own_probabilities])
def test_augmented_and_sampled_examples_are_targets_of_an_autoencoder(change):
    def loss():
        changed = change(minimized.fed("x", 8, 4))
        return tf.reduce_mean(tf.square(changed @ minimized.variable("w", 4, 4) - changed))

    assert minimized.found(noisy_targets, loss) == []


def test_a_network_that_tells_the_noise_subtracts_it_from_noisy_data():
    def loss():
        x = minimized.fed("x", 8, 4)
        noisy = normal(x)
        return tf.reduce_mean(tf.square((noisy - noisy @ minimized.variable("w", 4, 4)) - x))

    assert minimized.found(noisy_targets, loss) == []


@pytest.mark.parametrize("hides, count", [(True, 0), (False, 1)])
def test_a_network_may_tell_hidden_parts_of_noisy_data(hides, count):
    def loss():
        x = minimized.fed("x", 8, 4)
        noisy = normal(x)
        kept = tf.cast(tf.random.uniform(tf.shape(x)) > 0.3, tf.float32)
        result = (noisy * kept if hides else noisy) @ minimized.variable("w", 4, 4)
        return tf.reduce_mean(tf.square((result - noisy) * (1.0 - kept)))

    assert minimized.found(noisy_targets, loss) == ["TARGET_IS_NOISY"] * count


@pytest.mark.parametrize("is_masked, count", [(True, 0), (False, 1)])
@pytest.mark.parametrize("of_errors", [True, False])
def test_errors_of_what_a_mask_leaves_are_those_of_known_data(is_masked, count, of_errors):
    def loss():
        x = minimized.fed("x", 8, 4)
        kept = tf.cast(tf.random.uniform(tf.shape(x)) > 0.3, tf.float32)
        known = x * kept
        result = known @ minimized.variable("w", 4, 4)
        mask = kept if is_masked else 1.0
        return tf.reduce_mean(tf.square((result - known) * mask if of_errors else result * mask - known))

    assert minimized.found(noisy_targets, loss) == ["TARGET_IS_NOISY"] * count
