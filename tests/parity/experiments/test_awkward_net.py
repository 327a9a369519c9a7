"""The awkward net: its gradients are what they are said to be."""

import numpy as np

from parity.experiments.awkward_net import AWKWARD
from tests.cases import setup


def test_biases_are_noise_units_are_dead_and_a_weight_has_no_gradient():
    with setup(AWKWARD["awkward_momentum"], 1).legacy_program() as program:
        gradients = program.step().combined
    largest = {name: float(np.max(np.abs(value))) for name, value in gradients.items()}
    assert 0 < largest["hidden0/biases"] < 1e-5 * largest["hidden0/weights"]
    assert largest["dead/weights"] == largest["unused"] == 0.0
    assert largest["logits/weights"] > 1e-3
