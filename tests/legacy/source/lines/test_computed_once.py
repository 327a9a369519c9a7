"""What is computed of data alone, in the same way, is computed once."""

import tensorflow as tf

from legacy.source.basics.expressions import Definition, values_used
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.computed_once import computed_once
from tests.legacy.source.tiny import recovered


def texts(build):
    """The expressions of the definitions of what `build` computes of x, some data, and a weight."""
    recovery, (end,) = recovered(build, {"x": [3]}, {"w": [3]})
    definitions = computed_once([*recovery.ordered([end]), Definition((), end)])
    known = {target for one in definitions for target in one.targets}
    assert all(tensor in known for one in definitions for tensor in values_used(one.expression))
    return [expression_text(one.expression) for one in definitions]


def test_a_mask_that_two_layers_make_is_made_once():
    found = texts(lambda x, w: tf.cast(x > 0.5, tf.float32) * w + tf.sin(w) * tf.cast(x > 0.5, tf.float32))
    assert sum("tf.cast" in text for text in found) == sum("> 0.5" in text for text in found) == 1


def test_what_depends_on_a_weight_stays():
    """The gradient of each has a part of its own."""
    found = texts(lambda x, w: tf.sin(w) + tf.cos(x) * tf.sin(w))
    assert sum("tf.sin" in text for text in found) == 2


def test_what_depends_on_sizes_alone_stays():
    found = texts(lambda x, w: w * tf.cast(tf.shape(x)[0], tf.float32) + tf.cast(tf.shape(x)[0], tf.float32))
    assert sum("tf.cast" in text for text in found) != 1


def test_other_values_stay():
    found = texts(lambda x, w: tf.cast(x > 0.5, tf.float32) * w + tf.cast(x > 0.25, tf.float32))
    assert sum("> 0." in text for text in found) == 2
