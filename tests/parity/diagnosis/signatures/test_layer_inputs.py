import numpy as np
import pytest

from parity.diagnosis.context.job_context import Context
from parity.diagnosis.signatures.layer_inputs import compare_layer_inputs, same_column_space
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

EPS = 2.0**-23
RANDOM = np.random.RandomState(0)
INPUTS, OTHER = RANDOM.normal(size=(2, 3, 8))
ERRORS, OTHER_ERRORS = RANDOM.normal(size=(2, 3, 6))
WEIGHT = RANDOM.normal(size=(8, 6))


@pytest.mark.parametrize("inputs, errors, same", [(INPUTS, OTHER_ERRORS, True), (OTHER, ERRORS, False)])
def test_other_inputs_are_distinguished_from_other_errors(inputs, errors, same):
    assert same_column_space(INPUTS.T @ ERRORS, inputs.T @ errors, 3, EPS) is same


@pytest.mark.parametrize("change, same", [(1e-5, True), (1e-3, False)])
def test_inputs_that_are_nearly_the_same_are_others_beyond_rounding(change, same):
    assert same_column_space(INPUTS.T @ ERRORS, (INPUTS + change * OTHER).T @ OTHER_ERRORS, 3, EPS) is same


def test_rounding_is_no_other_input():
    right = (INPUTS.T @ OTHER_ERRORS).astype(np.float32)
    assert same_column_space(INPUTS.T @ ERRORS, right.astype(np.float64), 3, EPS) is True


@pytest.mark.parametrize(
    "left, examples",
    [
        (INPUTS.T @ ERRORS, 2),  # a rank that no number of examples makes
        (INPUTS.T @ ERRORS, 0),
        (INPUTS.T @ ERRORS[:, :3], 3),  # as many outputs as examples: the errors may be what limits the rank
        (WEIGHT, 3),
        (0 * WEIGHT, 3),
        (np.where(np.arange(6) < 3, INPUTS.T @ ERRORS, 0.0), 3),  # so many units that are alive
    ],
)
def test_gradients_that_do_not_show_their_inputs(left, examples):
    assert same_column_space(left, np.ones_like(left), examples, EPS) is None


def test_layers_are_listed_in_the_models_order_and_without_their_decay():
    state = made_up_state({"second": WEIGHT, "first": WEIGHT, "bias": [1.0]})
    context = Context(1, 3, weight_decay=0.5, decayed=("second", "first"))

    def side(inputs):
        gradients = {"first": inputs.T @ ERRORS + 0.5 * WEIGHT, "second": INPUTS.T @ ERRORS + 0.5 * WEIGHT}
        return step_record(gradients=[{**gradients, "bias": [1.0]}], state=state)

    def compared(inputs):
        return compare_layer_inputs(made_up_evidence([compared_step(side(INPUTS), side(inputs), state)], context))

    assert compared(INPUTS) == (["second", "first"], [])
    assert compared(OTHER) == (["second"], ["first"])
