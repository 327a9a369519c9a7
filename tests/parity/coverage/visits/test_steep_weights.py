"""The search for weights of a large gradient."""

import numpy as np

from parity.coverage.visits.steep_weights import find_steep_weights
from tests.cases import Dyadic, setup
from workloads.program import State


def search(norm):
    job = setup(Dyadic()).job
    start = State(0, {"a": np.float32(1), "b": np.float32(2)}, {}, {}, {})
    return find_steep_weights(job, {"x": np.arange(4, dtype=np.float32)}, start, norm)


def test_the_weights_that_are_found_have_the_gradient():
    found = search(30.0)  # the gradient of mean(x) * a * b is mean(x) * (b, a), with mean(x) = 1.5
    assert np.hypot(1.5 * found["a"], 1.5 * found["b"]) >= 30.0


def test_a_norm_that_is_out_of_reach_is_not_found():
    assert search(1e6) is None
