"""References: what they load, and the response to rounding of the weights, on made-up programs."""

import numpy as np

from parity.comparison import stages
from parity.comparison.references import SAMPLES, References, rounded_differently
from tests.parity.step_records import MadeUpProgram, made_up_state, step_record


class Kinked(MadeUpProgram):
    """A program whose gradient is 1 where the weight is above 2, and 0 elsewhere."""

    def __init__(self):
        super().__init__([])
        self.closed = False

    def step(self):
        weight = np.asarray(self._state.weights["w"])
        return step_record(combined={"w": (weight > 2.0).astype(weight.dtype)}, state=self._state)

    def close(self):
        self.closed = True


def test_each_program_is_loaded_in_its_precision():
    again, truth, port = Kinked(), Kinked(), Kinked()
    references = References("float32", again, truth, port)
    references.load(made_up_state())
    dtypes = [program.loaded[0].weights["w"].dtype.name for program in (again, truth, port)]
    assert dtypes == ["float32", "float64", "float64"]
    records = references.step()
    assert records.truth.combined["w"].dtype == np.float64
    references.close()
    assert again.closed and truth.closed and port.closed


def response_at(weight, dtype="float32", with_truth=True):
    references = References("float32", Kinked(), Kinked() if with_truth else None)
    references.load(made_up_state({"w": [weight]}))
    references.step()
    return references.sensitivity(dtype)[stages.COMBINED, "w"]


def test_a_kink_within_rounding_responds_and_one_further_away_does_not():
    assert response_at(2.0) == 1.0
    assert response_at(2.0 * (1 + 2.0**-20)) == 0.0
    assert response_at(2.0, with_truth=False) == 1.0


def test_the_last_bit_is_that_of_the_precision_that_is_asked_for():
    close = 2.0 * (1 - 2.0**-40)  # beyond float64's rounding of the kink, within float32's
    references = References("float32", Kinked(), Kinked())
    references.load(made_up_state({"w": np.array([close])}))
    references.step()
    assert references.sensitivity("float64")[stages.COMBINED, "w"] == 0.0
    assert references.sensitivity("float32")[stages.COMBINED, "w"] == 1.0


def test_the_rounding_of_other_kernels_reaches_a_kink_some_last_bits_away():
    further = 2.0 * (1 - 4 * 2.0**-23)
    for ulps, response in ((1, 0.0), (8, 1.0)):
        references = References("float32", Kinked(), Kinked(), weight_ulps=ulps)
        references.load(made_up_state({"w": np.array([further])}))
        references.step()
        assert references.sensitivity("float32")[stages.COMBINED, "w"] == response


def test_weights_differ_by_at_most_one_rounding_and_integers_not_at_all():
    state = made_up_state({"w": np.ones(64, np.float32), "n": np.arange(3)})
    others = [rounded_differently(state, "float32", sample) for sample in range(SAMPLES)]
    for other in others:
        assert np.max(np.abs(other.weights["w"] - 1)) == 2.0**-23
        assert other.weights["w"].dtype == np.float32 and np.array_equal(other.weights["n"], np.arange(3))
    assert not np.array_equal(others[0].weights["w"], others[1].weights["w"])
