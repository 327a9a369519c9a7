"""The number of all towers' examples, which towers take from the size of the batch before it is split."""

import pytest
import tensorflow as tf

from parity.comparison import stages
from tests.legacy.source.test_divided_losses import compared
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, towers, weights
from workloads.lifted.made_up_data import part_of_whole
from workloads.lifted.plan import Input

v1 = tf.compat.v1
X = Input("x", "float32", [None, 3], "batch", 0, ["split:0", "split:1"], "x:0")
WHOLE = Input("x:0", "float32", [None, 3], "same", 0, ["x:0", "x:0"], "x:0")


def split_by_number(x):
    return tf.split(x, TOWERS)


def split_by_size(x):
    rows = tf.shape(x)[0] // TOWERS
    return [x[tower * rows : (tower + 1) * rows] for tower in range(TOWERS)]


def sums(loss, split=split_by_number):
    """A program whose towers add up their gradients of `loss(squares, x)`; x is the batch of all towers."""

    def build():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        parts = split(x)
        made = towers(lambda tower: tf.gradients(loss(tf.matmul(parts[tower], weights()) ** 2, x), [weights()])[0])
        return v1.train.MomentumOptimizer(0.25, 0.5).apply_gradients([(tf.add_n(made), weights())])

    return build


def over_all(squares, x):
    return tf.reduce_sum(squares) / tf.cast(tf.shape(x)[0], tf.float32)


def times_scale(squares, x):
    return tf.reduce_sum(squares * (3.0 / tf.cast(tf.shape(x)[0], tf.float32)))


def over_elements(squares, x):
    return tf.reduce_sum(squares) / tf.cast(tf.size(x), tf.float32)


def over_a_shape(squares, x):
    return tf.reduce_sum(squares) / tf.reduce_sum(tf.ones(tf.shape(x)))


def over_values(squares, x):
    return tf.reduce_sum(squares) / tf.reduce_sum(x)


@pytest.mark.parametrize("split", [split_by_number, split_by_size])
@pytest.mark.parametrize("loss", [over_all, times_scale, over_elements, over_a_shape])
def test_the_number_of_all_towers_examples_follows_the_replicas(loss, split, tmp_path):
    setup = lifted(sums(loss, split), tmp_path)
    text = source_of(setup, "workload").text
    assert "scope.replicas" in text
    for replicas in (1, 2, 4):
        result = compared(setup, text, replicas, tmp_path)
        assert result.passed, result.first
    assert_trains_alike(setup, tmp_path)


def test_the_size_of_a_towers_part_in_its_place_is_found(tmp_path):
    setup = lifted(sums(over_all), tmp_path)
    text = source_of(setup, "workload").text
    assert "(scope.replicas * batch_size)" in text
    for wrong in ("batch_size", "(2 * batch_size)"):
        replicas = 4 if "2" in wrong else 2
        result = compared(setup, text.replace("(scope.replicas * batch_size)", wrong), replicas, tmp_path)
        assert result.first.stage in (stages.LOSS, stages.GRADIENTS)


def over_a_part(squares, x):
    rows = tf.shape(x)[0] // TOWERS
    return tf.reduce_sum(squares + tf.zeros([rows, 2])) / tf.cast(rows, tf.float32)


@pytest.mark.parametrize("split", [split_by_number, split_by_size])
def test_the_size_of_the_batch_over_the_towers_is_that_of_a_part(split, tmp_path):
    setup = lifted(sums(over_a_part, split), tmp_path)
    text = source_of(setup, "workload").text
    assert "scope.replicas" not in text and " / batch_size" in text
    for replicas in (1, 2, 4):
        result = compared(setup, text, replicas, tmp_path)
        assert result.passed, result.first
    assert_trains_alike(setup, tmp_path)


def test_the_values_of_the_whole_batch_are_gathered(tmp_path):
    setup = lifted(sums(over_values), tmp_path)
    source = source_of(setup, "workload")
    assert 'scope.of_all(batch["x"])' in source.text
    assert_port_verified(setup, tmp_path, source)


def test_a_whole_has_one_input_of_its_parts():
    assert part_of_whole(WHOLE, [X, WHOLE]) is X
    other = X.__class__(**{**X.__dict__, "name": "other"})
    assert part_of_whole(WHOLE, [X, other, WHOLE]) is None  # which parts make the whole, is not known
    assert part_of_whole(X, [X, WHOLE]) is None
    assert part_of_whole(WHOLE, [WHOLE]) is None


def sums_over_all(combine):
    """A program whose towers' gradients of sums are combined by `combine(gradients, x)`, outside of the towers."""

    def build():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        parts = split_by_number(x)
        losses = towers(lambda tower: tf.reduce_sum(tf.matmul(parts[tower], weights()) ** 2))
        made = [tf.gradients(loss, [weights()])[0] for loss in losses]
        return v1.train.MomentumOptimizer(0.25, 0.5).apply_gradients([(combine(made, x), weights())])

    return build


def added_then_divided(made, x):
    return tf.add_n(made) / tf.cast(tf.shape(x)[0], tf.float32)


def added_and_scaled(made, x):
    return tf.add_n(made) * (3.0 / tf.cast(tf.size(x), tf.float32))


@pytest.mark.parametrize("combine", [added_then_divided, added_and_scaled])
def test_an_update_divides_by_the_number_of_all_towers_examples(combine, tmp_path):
    setup = lifted(sums_over_all(combine), tmp_path)
    source = source_of(setup, "workload")
    assert "StepWorkload" in source.text and "scope.replicas * batch_size" in source.text
    for replicas in (1, 2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
