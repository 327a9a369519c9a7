import numpy as np

from workloads.optimizers.observed_update import ObservedUpdate


def test_parts_cut_the_vectors_at_each_weights_size():
    empty = np.zeros(7)
    update = ObservedUpdate(0, 0.5, ["a", "b", "c"], [2, 4, 1], [(2,), (2, 2), ()], empty, empty, empty, {}, {}, [])
    assert update.parts() == [("a", slice(0, 2)), ("b", slice(2, 6)), ("c", slice(6, 7))]
