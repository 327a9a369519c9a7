"""Where another form of a sum would change the order in which a gradient's parts are added."""

import tensorflow as tf

from legacy.source.ops.gradient_order import orders_gradients


def sum_of(build):
    """The op that adds what `build` makes of a placeholder."""
    with tf.Graph().as_default():
        return tf.add_n(build(tf.compat.v1.placeholder(tf.float32, [3], "x"))).op


def test_three_uses_in_several_terms_are_in_an_order():
    tied = sum_of(lambda x: [tf.square(x), tf.tanh(x), tf.exp(x)])
    assert all(orders_gradients(tied, position) for position in range(3))


def test_the_rows_of_two_lookups_are_in_an_order():
    lookups = sum_of(lambda x: [tf.gather(x, [0, 0, 1]), tf.tanh(tf.gather(x, [2, 0, 0]))])
    assert all(orders_gradients(lookups, position) for position in range(2))
    one = sum_of(lambda x: [tf.gather(x, [0, 0, 1]), tf.tanh(x)])
    assert not any(orders_gradients(one, position) for position in range(2))


def test_uses_behind_a_shape_have_no_gradient():
    shaped = sum_of(lambda x: [tf.zeros(tf.shape(tf.tanh(x) * tf.exp(x) * tf.sin(x))), tf.square(x)])
    assert not orders_gradients(shaped, 0)


def test_what_is_made_of_untrained_variables_has_no_gradient():
    def three(x):
        counter = tf.compat.v1.placeholder(tf.float32, [], "counter")
        rate = tf.where(counter <= 30.0, 0.5, 0.25)
        return [rate * tf.square(x), rate * tf.tanh(x), rate * tf.ones([3])]

    assert any(orders_gradients(sum_of(three), position) for position in range(3))
    assert not any(orders_gradients(sum_of(three), position, {"counter"}) for position in range(3))
    assert any(orders_gradients(sum_of(three), position, {"x"}) for position in range(3))


def test_two_uses_or_uses_in_one_term_are_in_none():
    two = sum_of(lambda x: [tf.square(x), tf.tanh(x), tf.ones([3])])
    assert not any(orders_gradients(two, position) for position in range(3))
    behind = sum_of(lambda x: [tf.square(x) + tf.tanh(x) * tf.exp(x), tf.ones([3]), tf.zeros([3])])
    assert not any(orders_gradients(behind, position) for position in range(3))
