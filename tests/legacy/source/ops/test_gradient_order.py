"""Where another form of a sum would change the order in which a gradient's parts are added."""

import tensorflow as tf

from legacy.source.ops.gradient_order import groups_gradients, orders_gradients


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


def copy_of(build):
    """The copy in what `build` makes of the hyperbolic tangent of a placeholder, and the name of that tensor."""
    with tf.Graph().as_default() as graph:
        x = tf.tanh(tf.compat.v1.placeholder(tf.float32, [3], "x"))
        build(x)
        return graph.get_operation_by_name("copy"), x.name


def twice(x):
    copy = tf.identity(x, "copy")
    return tf.square(copy), tf.exp(copy)


def test_a_copy_with_two_uses_groups_their_gradients_where_its_tensor_has_others():
    def behind_another(x):
        copy = tf.identity(tf.identity(x, "copy"))
        return tf.square(copy), tf.exp(copy), tf.sin(x)

    grouped, _ = copy_of(lambda x: [*twice(x), tf.sin(x)])
    assert groups_gradients(grouped)
    assert groups_gradients(copy_of(behind_another)[0])
    assert not groups_gradients(copy_of(lambda x: [*twice(x), tf.shape(x), tf.stop_gradient(x), x > 0.0])[0])
    assert not groups_gradients(copy_of(lambda x: [tf.square(tf.identity(x, "copy")), tf.sin(x), tf.exp(x)])[0])


def test_what_the_next_iteration_gets_is_a_use():
    alone, name = copy_of(twice)
    assert not groups_gradients(alone) and groups_gradients(alone, [name])
    once, name = copy_of(lambda x: [tf.square(tf.identity(x, "copy"))])
    assert not groups_gradients(once, [name]) and groups_gradients(once, [name, "copy:0"])
