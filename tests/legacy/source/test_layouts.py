"""A program whose layers compute with the channels first, lifted with channels last and written."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_trains_alike, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers
from workloads.support.errors import InputError

v1 = tf.compat.v1


def channels_first():
    """Convolution, batch normalization and a rectifier, as a program for GPUs had them."""
    images = v1.placeholder(tf.float32, [TOWERS * BATCH, 3, 6, 6], name="images")

    def variable(name, shape, start):
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            return v1.get_variable(name, shape, initializer=start, use_resource=False)

    def loss(tower):
        filters = variable("filters", [3, 3, 3, 4], v1.glorot_uniform_initializer(seed=1))
        x = tf.nn.conv2d(tf.split(images, TOWERS)[tower], filters, 1, "SAME", data_format="NCHW")
        gamma, beta = variable("gamma", [4], v1.ones_initializer()), variable("beta", [4], v1.zeros_initializer())
        x, *_ = v1.nn.fused_batch_norm(x, gamma, beta, epsilon=0.001, data_format="NCHW")
        x = tf.nn.conv2d(tf.nn.relu(x), variable("last", [3, 3, 4, 2], v1.ones_initializer()), 1, "SAME", "NCHW")
        return tf.reduce_mean(tf.square(x))

    return v1.train.MomentumOptimizer(0.125, 0.5).minimize(tf.add_n(towers(loss)) / TOWERS)


def test_a_program_with_channels_first_is_written_with_channels_last(tmp_path):
    setup = lifted(channels_first, tmp_path, layout="NHWC")
    source = source_of(setup)
    model = source.text.partition("def tower_loss(")[2].partition("class Scope")[0]
    assert "NCHW" not in model and "raw_ops" not in model
    assert model.count("tf.transpose(") == 2  # of the images, and before the mean
    assert_trains_alike(setup, tmp_path, source)


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="a GPU has the kernels")
def test_as_it_is_it_cannot_be_proven_here(tmp_path):
    with pytest.raises(InputError, match="only supports NHWC.*--layout=NHWC"):
        source_of(lifted(channels_first, tmp_path))
