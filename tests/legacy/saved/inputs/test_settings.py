import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.settings import is_array, is_number_of_settings, is_scalar_setting
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def is_setting(build):
    graph = traced(build)
    return is_scalar_setting(graph, ImportedGraph(graph), "p")


@pytest.mark.parametrize("shape, expected", [([], True), ([1], False), ([None, 3], False)])
def test_a_placeholder_is_a_setting_if_it_has_no_dimensions(shape, expected):
    assert is_setting(lambda: v1.placeholder(tf.float32, shape, name="p")) is expected


def test_without_a_shape_its_users_and_dtype_decide():
    def rate():
        tf.multiply(v1.placeholder(tf.float32, name="p"), 2.0)

    def data():
        tf.matmul(v1.placeholder(tf.float32, name="p"), [[1.0]])

    def labels():
        tf.multiply(v1.placeholder(tf.int32, name="p"), 2)

    assert is_setting(rate)
    assert not is_setting(data) and not is_setting(labels)
    assert not is_setting(lambda: v1.placeholder(tf.float32, name="p"))  # nothing uses it


@pytest.mark.parametrize("dtype", [tf.bool, tf.float32, tf.int32])
@pytest.mark.parametrize("sizes, expected", [([1], True), ([], True), ([1, 1], True), ([2], False), ([-1], False)])
def test_what_is_reshaped_to_one_element_is_a_scalar(dtype, sizes, expected):
    def build():
        tf.reshape(v1.placeholder(dtype, name="p"), sizes)

    graph = traced(build)
    assert is_setting(build) is expected
    assert is_array(graph, ImportedGraph(graph), TensorId("p", 0)) is not expected


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda x, p: x[p * 3 : (p + 1) * 3], True),
        (lambda x, p: tf.slice(x, tf.stack([p * 2, 0]), tf.stack([p, 2])), True),
        (lambda x, p: tf.slice(x, p * 2, p), False),  # a list of places
        (lambda x, p: tf.slice(tf.stack([p, p]), [0], [1]), False),  # a part of what is stacked
        (lambda x, p: x[tf.reduce_sum(p) :], False),
        (lambda x, p: tf.gather(x, p * 2), False),
    ],
)
def test_a_number_of_which_slices_tell_where_they_begin_is_a_setting(use, expected):
    assert is_setting(lambda: use(tf.zeros([6, 2]), v1.placeholder(tf.int32, name="p"))) is expected


def test_other_nodes_are_no_settings():
    assert not is_setting(lambda: tf.constant(1.0, name="p"))


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda p: tf.split((p - 128.0) / 255.0, 2), True),
        (lambda p: p[0:2], True),
        (lambda p: tf.reshape(tf.cast(p, tf.float64), [-1, 3]), True),
        (lambda p: tf.matmul(p * tf.random.uniform([2, 2]), [[1.0], [1.0]]), False),  # a factor on something else
        (lambda p: tf.split(tf.range(4), 2, axis=tf.cast(p, tf.int32)), False),
        (lambda p: p * 2.0, False),
        (lambda p: tf.where(tf.not_equal(p, -1.0)), True),  # as of marks of anchors, which Python makes
        (lambda p: v1.where(tf.not_equal(p, -1.0), [1.0, 2.0], [3.0, 4.0]), False),
        (lambda p: tf.where(tf.not_equal(p, [1.0, 2.0] * tf.random.uniform([2]))), False),
    ],
)
def test_what_is_split_or_sliced_is_an_array_though_its_rank_is_unknown(use, expected):
    graph = traced(lambda: use(v1.placeholder(tf.float32, name="p")))
    assert is_array(graph, ImportedGraph(graph), TensorId("p", 0)) is expected
    assert not (expected and is_scalar_setting(graph, ImportedGraph(graph), "p"))


def test_an_array_is_recognised_by_the_users_of_its_own_output():
    def build():
        first, second = tf.raw_ops.Unpack(value=v1.placeholder(tf.float32, name="p"), num=2, name="parts")
        tf.split(second, 2), tf.multiply(first, 2.0)

    graph = traced(build)
    found = [is_array(graph, ImportedGraph(graph), TensorId("parts", output)) for output in range(2)]
    assert found == [False, True]


@pytest.mark.parametrize(
    "compute, expected",
    [
        (lambda p, number, array: p * tf.sqrt(1.0 - number), True),
        (lambda p, number, array: tf.maximum(0.0, 1.0 - tf.cast(p, tf.float32) / 100.0) * 0.5, True),
        (lambda p, number, array: p * array, False),
        (lambda p, number, array: p * tf.reduce_sum(array), False),  # computed from what is no setting
        (lambda p, number, array: tf.sqrt(1.0 - number), False),  # nothing is fed
        (lambda p, number, array: p[0:2] * 0.5, False),
    ],
)
def test_numbers_of_settings_are_computed_from_fed_scalars_and_numbers_alone(compute, expected):
    def build():
        number = v1.get_variable("number", initializer=0.5, use_resource=False)
        array = v1.get_variable("array", initializer=[1.0, 2.0], use_resource=False)
        tf.identity(compute(v1.placeholder(tf.float32, name="p"), number, array), name="result")

    graph = traced(build)
    aliases = {TensorId(name, 0): name.partition("/")[0] for name in ("number/read", "array/read", "number", "array")}
    assert is_number_of_settings(graph, ImportedGraph(graph), aliases, "result") is expected
