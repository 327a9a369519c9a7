import dataclasses

import numpy as np

from tests.workloads.optimizers.steps import observed
from workloads.optimizers.observed_update import ObservedUpdate


def test_parts_cut_the_vectors_at_each_weights_size():
    empty = np.zeros(7)
    update = ObservedUpdate(0, 0.5, ["a", "b", "c"], [2, 4, 1], [(2,), (2, 2), ()], empty, empty, empty, {}, {}, [])
    assert update.parts() == [("a", slice(0, 2)), ("b", slice(2, 6)), ("c", slice(6, 7))]


def test_slots_that_other_libraries_keep_follow_from_the_steps_so_far():
    first = observed({"v": [0.0, 0.0]}, {"v": [4.0, 1.0]})
    second = dataclasses.replace(observed({"v": [4.0, 1.0]}, {"v": [2.0, 3.0]}), previous=first, _history={})
    assert first.largest("v").tolist() == [4.0, 1.0]
    assert second.largest("v").tolist() == [4.0, 3.0]
    assert first.mean_gradient(0.5).tolist() == [1.0, -2.0]
    assert second.mean_gradient(0.5).tolist() == [1.5, -3.0]
