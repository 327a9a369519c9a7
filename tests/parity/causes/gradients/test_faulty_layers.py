import numpy as np
import tensorflow as tf

from parity.causes.gradients import faulty_layers
from tests.cases import Dyadic, Everything
from workloads import initializers, layers
from workloads.frame import Frame
from workloads.scope import Scope


class Values(Frame):
    """Answers every request with the initializer's value."""

    def variable(self, name, shape, initializer, trainable):
        return tf.constant(initializer(shape, np.random.RandomState(0)), tf.float32)


def scope(prefix=""):
    return Scope(Values("float32", 0, tf.constant(0, tf.int64), 0), prefix)


X = tf.constant(np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2))
ONES = initializers.Constant(1.0)


def test_symmetric_padding_differs_only_where_the_stride_is_not_one():
    for stride, same in ((1, True), (2, False)):
        healthy = layers.conv(scope(), X, 1, 3, stride, ONES)
        made = faulty_layers.conv_padded_alike(scope(), X, 1, 3, stride, ONES)
        assert made.shape == healthy.shape
        assert bool(np.array_equal(made, healthy)) == same


def test_another_padding_or_dilation_keeps_decay_and_biases():
    for function, stride in ((faulty_layers.conv_padded_alike, 2), (faulty_layers.dilated_conv, 1)):
        place = scope("conv2/")
        plain = function(place, X, 1, 3, stride, ONES)
        biased = function(place, X, 1, 3, stride, ONES, biases=ONES, decay=0.5)
        assert np.array_equal(biased, plain + 1.0)
        assert [float(penalty) for penalty in place._frame.penalties] == [0.5 * 18 / 2]  # 3 x 3 x 2 ones


def test_symmetric_pooling_sees_other_windows():
    healthy, made = layers.max_pool(X, 3, 2), faulty_layers.max_pool_padded_alike(X, 3, 2)
    assert made.shape == healthy.shape and not np.array_equal(made, healthy)
    assert np.isfinite(made).all()


def test_a_dilated_convolution_skips_every_second_element():
    made = faulty_layers.dilated_conv(scope("conv2/"), X, 1, 3, 1, ONES)
    expected = tf.nn.conv2d(X, tf.ones([3, 3, 2, 1]), 1, "SAME", dilations=2)
    assert np.array_equal(made, expected)
    assert np.array_equal(
        faulty_layers.dilated_conv(scope("conv1/"), X, 1, 3, 1, ONES), layers.conv(scope(), X, 1, 3, 1, ONES)
    )


def test_the_stride_moves_to_the_second_convolution():
    place = scope("stage1_block0/")
    assert faulty_layers.conv_with_later_stride(place.child("conv1"), X, 1, 3, 2, ONES).shape[1] == 4
    assert faulty_layers.conv_with_later_stride(place.child("conv2"), X, 1, 3, 1, ONES).shape[1] == 2
    assert faulty_layers.conv_with_later_stride(scope(), X, 1, 3, 2, ONES).shape[1] == 2


def test_no_gradient_passes_a_stopped_shortcut():
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        stopped = faulty_layers.conv_with_stopped_shortcut(scope("shortcut/"), X, 1, 1, 1, ONES)
        passed = faulty_layers.conv_with_stopped_shortcut(scope("conv1/"), X, 1, 1, 1, ONES)
    assert tape.gradient(stopped, X) is None
    assert tape.gradient(passed, X) is not None


def test_a_product_in_half_precision_is_near_the_product():
    x = tf.constant([[1.001, 2.003]])
    healthy, made = layers.dense(scope(), x, 1, ONES), faulty_layers.dense_in_half_precision(scope(), x, 1, ONES)
    assert made.dtype == tf.float32
    assert 0 < abs(float((made - healthy)[0, 0])) < 0.02


def test_smoothed_labels_spread_a_tenth():
    logits, labels = tf.constant([[2.0, 0.0]]), tf.constant([0])
    loss = float(faulty_layers.smoothed_cross_entropy(logits, labels))
    np.testing.assert_allclose(loss, np.log1p(np.exp(-2)) + 0.05 * 2, rtol=1e-5)


def test_leaky_rectifiers_let_a_hundredth_through():
    np.testing.assert_allclose(faulty_layers.leaky_relu(tf.constant([-2.0, 3.0])), [-0.02, 3.0])


def test_faults_occur_where_their_layers_are():
    assert faulty_layers.classifying(Everything()) is not None and faulty_layers.classifying(Dyadic()) is None
    assert faulty_layers.with_weights("last/weights")(Everything()) is not None
    assert faulty_layers.with_weights("shortcut/weights")(Everything()) is None
    assert len(faulty_layers.LEAKY_RECTIFIER.steps) == 1
