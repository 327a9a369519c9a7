"""The first layer of two recorded runs: by bits where kernels agree, else beyond what other kernels explain."""

import numpy as np
import pytest

from parity.diagnosis.localization.layers import first_layer_of_steps
from parity.diagnosis.steps.compared_step import ComparedStep
from tests.parity.step_records import made_up_state, step_record

STATE = made_up_state({"w": [1.0]})


def record(**values):
    made = step_record(losses=[1.0], state=STATE)
    taps = {"a/dense.output": 1.0, "b/dense.output": 1.0, "c/dense.output": 1.0}
    taps.update({f"{name}/dense.output": value for name, value in values.items()})
    made.taps = [{name: np.float32([value]) for name, value in taps.items()}]
    made.tap_gradients = [{name: np.float32([0.5]) for name in taps}]
    return made


def first(right, left=None, patterns=("*",)):
    found = first_layer_of_steps([ComparedStep(left or record(), right, STATE, STATE)], patterns)
    return None if found is None else found.layer


@pytest.mark.parametrize(
    "values, layer",
    [
        ({}, None),
        ({"b": 1 + 2**-23, "c": 2.0}, "b"),  # the first kernel gives equal bits, so every bit counts
        ({"a": 1 + 2**-23, "b": 1 + 2**-22, "c": 1.01}, "c"),  # rounding before it is other kernels'
        ({"a": 1 + 2**-23}, None),
    ],
)
def test_bits_count_where_kernels_agree(values, layer):
    assert first(record(**values)) == layer


def test_only_named_layers_are_looked_at():
    assert first(record(b=2.0, c=3.0), patterns=("a", "c")) == "c"


def test_nothing_is_found_without_taps_or_from_other_states():
    assert first(step_record(losses=[1.0], state=STATE)) is None
    other = made_up_state({"w": [2.0]})
    assert first_layer_of_steps([ComparedStep(record(), record(b=2.0), STATE, other)]) is None


def test_taps_of_another_shape_are_left_out():
    right = record(c=2.0)
    right.taps[0]["b/dense.output"] = np.float32([[1.0], [2.0]])
    assert first(right) == "c"
