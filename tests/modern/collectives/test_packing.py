import numpy as np
import pytest
import tensorflow as tf

from modern.collectives.packing import Packing


@pytest.mark.parametrize("replicas, packed", [(2, [[1, 2, 3, 4, 5]]), (3, [[1, 2, 4, 5], [3]])])
def test_a_single_element_stays_alone_from_three_replicas_on(replicas, packed):
    tensors = [tf.constant([[1.0], [2.0]]), tf.constant([3.0]), tf.constant([4.0, 5.0])]
    assert [tensor.numpy().tolist() for tensor in Packing(replicas).pack(tensors)] == packed


def test_a_tensor_larger_than_the_largest_stays_alone():
    tensors = [tf.constant([1.0, 2.0, 3.0]), tf.constant([4.0, 5.0]), tf.constant([6.0])]
    packing = Packing(2, largest=2)
    packed = packing.pack(tensors)
    assert [tensor.numpy().tolist() for tensor in packed] == [[4, 5, 6], [1, 2, 3]]
    assert [tensor.numpy().tolist() for tensor in packing.unpack(packed, tensors)] == [[1, 2, 3], [4, 5], [6]]


def test_nothing_is_packed_into_nothing():
    assert Packing(4).pack([]) == []
    assert Packing(4).unpack([], []) == []


@pytest.mark.parametrize("replicas", [2, 3])
def test_packing_is_undone(replicas):
    tensors = [tf.reshape(tf.range(6.0), [2, 3]), tf.constant(7.0), tf.constant([8.0, 9.0]), tf.constant([[10.0]])]
    packed = Packing(replicas).pack(tensors)
    assert len(packed) == (1 if replicas == 2 else 3)
    for tensor, back in zip(tensors, Packing(replicas).unpack(packed, tensors)):
        assert back.shape == tensor.shape
        np.testing.assert_array_equal(back, tensor)


def test_tensors_that_all_stay_alone_come_back_as_they_are():
    tensors = [tf.constant(1.0), tf.constant([2.0])]
    packed = Packing(3).pack(tensors)
    assert [float(tf.reshape(tensor, [])) for tensor in Packing(3).unpack(packed, tensors)] == [1.0, 2.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("replicas", range(2, 9))
def test_a_packed_mean_has_the_bits_of_each_tensors_own(replicas, dtype):
    rng = np.random.RandomState(replicas)
    shapes = [(), (1,), (2,), (3, 5), (17,), (1, 1), (64, 3)]
    towers = [[tf.constant(rng.standard_normal(shape).astype(dtype)) for shape in shapes] for _ in range(replicas)]
    packed = zip(*[Packing(replicas).pack(tower) for tower in towers])
    packed = [tf.reduce_mean(tf.stack(values), 0) for values in packed]
    for mean, values in zip(Packing(replicas).unpack(packed, towers[0]), zip(*towers)):
        assert mean.numpy().tobytes() == tf.reduce_mean(tf.stack(values), 0).numpy().tobytes()
