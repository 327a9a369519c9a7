import numpy as np
import pytest

from parity.diagnosis.combined_forms import CombinedForm, combine_gradients


def gradients():
    return [{"a": np.array([3.0, 0.0]), "b": np.array([4.0])}, {"a": np.array([0.0, 6.0]), "b": np.array([8.0])}]


@pytest.mark.parametrize(
    "form, a, b",
    [
        (CombinedForm("mean"), [1.5, 3.0], [6.0]),
        (CombinedForm("sum"), [3.0, 6.0], [12.0]),
        (CombinedForm("mean", "tower", "global_norm", 5.0), [1.5, 1.5], [4.0]),
        (CombinedForm("sum", "tower", "norm", 3.0), [3.0, 3.0], [6.0]),
        (CombinedForm("mean", "combined", "value", 2.0), [1.5, 2.0], [2.0]),
    ],
)
def test_forms(form, a, b):
    made = combine_gradients(gradients(), form)
    np.testing.assert_array_equal(made["a"], a)
    np.testing.assert_array_equal(made["b"], b)
