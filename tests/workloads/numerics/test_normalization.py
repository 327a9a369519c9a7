import numpy as np
import pytest
import tensorflow as tf

from workloads.numerics import normalization

#: Name of the op that does all of it.
KERNEL = "FusedBatchNormV3"


def drawn(shape, seed=0):
    """Returns float64 (x, scale, offset, gradient of the result), with a mean well away from zero."""
    rng = np.random.RandomState(seed)
    channels = shape[-1]
    x = rng.standard_normal(shape) * rng.uniform(0.5, 2, channels) + rng.uniform(-3, 3, channels)
    return x, rng.uniform(0.5, 2, channels), rng.standard_normal(channels), rng.standard_normal(shape)


def passed(normalize, arrays, epsilon, dtype):
    """Returns (values, mean, variance, gradients of x, scale and offset)."""
    x, scale, offset, dy = (tf.constant(array, dtype) for array in arrays)
    with tf.GradientTape() as tape:
        tape.watch([x, scale, offset])
        made = normalize(x, scale, offset, epsilon)
    return [*made, *tape.gradient(made.values, [x, scale, offset], output_gradients=dy)]


def by_definition(arrays, epsilon):
    """Returns the same as `passed`, in numpy."""
    x, scale, offset, dy = arrays
    axes = tuple(range(x.ndim - 1))
    inverse = 1 / np.sqrt(x.var(axes) + epsilon)
    normal = (x - x.mean(axes)) * inverse
    through = dy - dy.mean(axes) - normal * (dy * normal).mean(axes)
    count = x.size // x.shape[-1]
    unbiased = x.var(axes, ddof=1) if count > 1 else np.zeros_like(scale)
    gradients = [scale * inverse * through, (dy * normal).sum(axes), dy.sum(axes)]
    return [normal * scale + offset, x.mean(axes), unbiased, *gradients]


def gap(made, wanted):
    """Returns the largest difference, relative to the largest entry (at least 1) of each tensor."""
    pairs = [(np.asarray(m, np.float64), np.asarray(w)) for m, w in zip(made, wanted)]
    assert all(m.shape == w.shape for m, w in pairs)
    return max(np.abs(m - w).max() / max(1.0, np.abs(w).max()) for m, w in pairs)


SHAPES = [(8, 5, 5, 3), (7, 4, 4, 2), (1, 4, 4, 3), (1, 1, 1, 2), (16, 5), (1, 5), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [1e-5, 0.1])
def test_kernel_and_formulas_are_the_definition_with_its_gradient(shape, epsilon):
    arrays = drawn(shape)
    wanted = by_definition(arrays, epsilon)
    # Where a channel has one value, what is left of it is divided by sqrt(epsilon).
    rounding = 2e-5 if np.prod(shape[:-1]) > 1 else 1e-4
    assert gap(passed(normalization.batch_normalize, arrays, epsilon, "float32"), wanted) < rounding
    assert gap(passed(normalization.batch_normalize, arrays, epsilon, "float64"), wanted) < 1e-12


def test_the_check_sees_another_epsilon_and_a_biased_variance():
    arrays = drawn((8, 5, 5, 3))
    made = passed(normalization.batch_normalize, arrays, 1.1e-3, "float32")
    assert gap(made, by_definition(arrays, 1.1e-3)) < 2e-5 < gap(made, by_definition(arrays, 1e-3))
    biased = arrays[0].var((0, 1, 2))
    assert gap([made[2]], [biased]) > 1e-3


def test_float32_is_as_near_to_the_truth_as_the_single_ops():
    arrays = drawn((64, 16, 16, 4), seed=1)
    wanted = by_definition(arrays, 1e-5)
    kernel = gap(passed(normalization.batch_normalize, arrays, 1e-5, "float32"), wanted)
    single = gap(passed(normalization._by_formulas, arrays, 1e-5, "float32"), wanted)
    assert kernel <= 4 * single


@pytest.mark.parametrize("shape", [(4, 3, 3, 2), (6, 2)])
def test_float32_runs_one_kernel_each_way_and_float64_none(shape):
    for dtype, count in (("float32", 1), ("float64", 0)):
        with tf.Graph().as_default() as graph:
            x, ones = tf.compat.v1.placeholder(dtype, shape), tf.ones([shape[-1]], dtype)
            made = normalization.batch_normalize(x, ones, ones, 1e-5)
            tf.compat.v1.gradients(made.values, [x])
            types = [op.type for op in graph.get_operations()]
        assert types.count(KERNEL) == types.count("FusedBatchNormGradV3") == count


def test_epsilon_arrives_as_it_is():
    x = tf.constant([[[[1.0]], [[3.0]]]])
    made = normalization.batch_normalize(x, tf.ones([1]), tf.zeros([1]), 3.0)
    assert made.values.numpy().ravel().tolist() == [-0.5, 0.5]
    assert made.mean.numpy().tolist() == [2.0] and made.variance.numpy().tolist() == [2.0]
    # The public function would raise this one to 1.001e-5.
    with tf.Graph().as_default() as graph:
        normalization.batch_normalize(tf.zeros([2, 1, 1, 1]), tf.ones([1]), tf.zeros([1]), 1e-6)
        (op,) = [op for op in graph.get_operations() if op.type == KERNEL]
    assert op.get_attr("epsilon") == np.float32(1e-6)
