"""Adam's updates of tables, which are calls of one function, and updates that are nearly so, which are not."""

import inspect

import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Name
from legacy.source.update.changes import adam_of_rows
from tests.legacy.source.test_trained_updates import embedded, mean_gradients, rows_of_adam, words
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, plain, towers
from tests.marks import slow_after

v1 = tf.compat.v1


def gradients_of_rows():
    ids = words()
    return mean_gradients(towers(lambda tower: embedded(ids[tower])))


def rows_of_resources():
    """A table that is a resource, whose update has other ops."""
    ids, table = words(), v1.get_variable("table", [5, 3], initializer=v1.ones_initializer(), use_resource=True)
    losses = towers(lambda tower: tf.reduce_sum(tf.tanh(tf.nn.embedding_lookup(table, ids[tower])) ** 2))
    found = [tf.gradients(loss, [table])[0] for loss in losses]
    values, indices = tf.concat([rows.values for rows in found], 0), tf.concat([rows.indices for rows in found], 0)
    rows = tf.IndexedSlices(values / TOWERS, indices, found[0].dense_shape)
    return v1.train.AdamOptimizer(0.125, beta1=0.75, epsilon=0.5).apply_gradients([(rows, table)])


class Nearly(v1.train.AdamOptimizer):
    """Adam whose update of rows differs in one place."""

    def __init__(self, place):
        super().__init__(0.125)
        self.place = place

    def _apply_sparse(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        kept, kept_of_squares = tf.constant(0.9), tf.constant(0.999)
        taken = 1.0 - (tf.constant(0.875) if self.place == "beta" else kept)
        first = v1.assign(m, m * kept)
        with tf.control_dependencies([first]):
            first = v1.scatter_add(m, grad.indices, grad.values * taken)
        square = tf.square(grad.values) if self.place == "square" else grad.values * grad.values
        second = v1.assign(v, v * kept_of_squares)
        with tf.control_dependencies([second]):
            second = v1.scatter_add(v, grad.indices, square * (1.0 - kept_of_squares))
        one, two = (tf.cast(power, tf.float32) for power in self._get_beta_accumulators())
        rate = self._lr_t * tf.sqrt(1.0 - two) / (1.0 - one)
        root = tf.sqrt(second + 0.25) if self.place == "root" else tf.sqrt(second) + 0.25
        return v1.assign_sub(var, rate * first / root)


def nearly(place):
    def build():
        return Nearly(place).apply_gradients(gradients_of_rows())

    build.__name__ = "nearly_" + (place or "adam")
    return build


def with_a_moment_that_is_seen():
    """A moment that is kept elsewhere, as it is between its two changes of the step."""
    (rows, table), other = gradients_of_rows()
    adam = v1.train.AdamOptimizer(0.125)
    train = adam.apply_gradients([(rows, table), other])
    with tf.control_dependencies([train]):
        return v1.assign(plain("seen", [5, 3]), adam.get_slot(table, "m").read_value()).op


@pytest.mark.parametrize("build", slow_after(2, [rows_of_adam, rows_of_resources]))
@pytest.mark.parametrize("style", ["standalone", "workload"])
def test_an_update_of_rows_is_a_call(build, style, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup, style)
    assert source.text.count("def apply_adam_to_rows(") == 1 and "raw_ops.ResourceScatter" not in source.text
    assert source.text.count("apply_adam_to_rows(") == 2 and "0.100000024" not in source.text
    check = assert_port_verified if style == "workload" else assert_trains_alike
    check(setup, tmp_path, source)


@pytest.mark.parametrize("build", [nearly("beta"), nearly("square"), nearly("root"), with_a_moment_that_is_seen])
def test_what_differs_is_written_as_it_is(build, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup)
    assert "apply_adam_to_rows" not in source.text and "ResourceScatterAdd" in source.text
    assert_trains_alike(setup, tmp_path, source)


def test_rows_that_another_function_writes_in_the_same_way_are_adams(tmp_path):
    """The control of those that differ: the same program without a difference."""
    setup = lifted(nearly(""), tmp_path)
    source = source_of(setup)
    assert "def apply_adam_to_rows(" in source.text
    assert_trains_alike(setup, tmp_path, source)


def test_bits_depend_on_how_one_minus_beta_rounds(tmp_path):
    """Bits of `1 - 0.9` in float32, and not of 0.1: the function that takes the latter trains otherwise."""
    setup = lifted(rows_of_adam, tmp_path)
    source = source_of(setup)
    other = source._replace(text=source.text.replace("gradient * (1.0 - beta1)", "gradient * 0.1"))
    assert other.text != source.text
    with pytest.raises(AssertionError, match="net/emb"):
        assert_trains_alike(setup, tmp_path, other)


def test_the_function_is_python():
    text = "\n".join(adam_of_rows.FUNCTIONS["apply_adam_to_rows"])
    names: dict = {}
    exec(compile(text, "apply_adam_to_rows", "exec"), names)
    parameters = [argument.keyword for argument in adam_of_rows.adam_call([Name("x")] * 11).arguments]
    assert list(inspect.signature(names["apply_adam_to_rows"]).parameters) == parameters and len(parameters) == 11
