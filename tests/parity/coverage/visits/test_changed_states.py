"""States of visits: arrays multiplied, and one visit for each train op."""

import numpy as np

from parity.comparison.tour import Visit
from parity.coverage.visits.changed_states import all_times, for_each_phase, weights_times
from workloads.program import State


def state(step=0):
    return State(step, {"w": np.float32([2.0, -4.0])}, {"w/m": np.float32([1.0])}, {}, {})


def test_floats_are_multiplied_in_their_dtype_and_integers_are_not():
    changed = all_times({"w": np.float16([2.0]), "n": np.int32([3])}, 0.5)
    assert changed["w"].dtype == np.float16 and changed["w"].tolist() == [1.0]
    assert changed["n"].tolist() == [3]


def test_only_the_weights_of_a_state_are_multiplied():
    visit = weights_times(state(), 8.0)
    assert visit.name == "weights times 8"
    assert visit.state.weights["w"].tolist() == [16.0, -32.0]
    assert visit.state.slots["w/m"].tolist() == [1.0] and visit.state.step == 0


def test_each_visit_is_repeated_for_each_train_op_in_consecutive_steps():
    made = list(for_each_phase([Visit("a", state()), Visit("b", state())], 2, 7))
    assert [(visit.name, visit.state.step) for visit in made] == [("a", 7), ("a", 8), ("b", 9), ("b", 10)]
