import numpy as np
import pytest

from parity.diagnosis.candidates.combined_forms import CombinedForm, clip_gradients, combine_gradients


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


@pytest.mark.parametrize("limit, kept", [(5.0, 4.0), (2.5, 2.0)])
def test_a_limit_above_the_length_clips_nothing(limit, kept):
    clipped = clip_gradients(gradients()[0], CombinedForm("mean", "tower", "global_norm", limit))  # of length 5
    assert clipped["b"][0] == kept


@pytest.mark.parametrize(
    "form, text",
    [
        (CombinedForm("sum"), "the sum of the replicas' gradients"),
        (
            CombinedForm("mean", "tower", "norm", 0.5),
            "the mean of each replica's gradients clipped to 0.5 (norm)",
        ),
        (
            CombinedForm("mean", "combined", "global_norm", 2.0),
            "the mean of the replicas' gradients, then clipped to 2 (global norm)",
        ),
    ],
)
def test_forms_are_printed_in_words(form, text):
    assert str(form) == text


def test_an_epsilon_is_added_to_the_norm_that_the_limit_is_divided_by():
    form = CombinedForm("mean", "tower", "global_norm", 2.5, epsilon=5.0)  # gradients of length 5
    plain = clip_gradients(gradients()[0], CombinedForm("mean", "tower", "global_norm", 2.5))
    for name, value in clip_gradients(gradients()[0], form).items():
        assert value.tolist() == (0.5 * plain[name]).tolist()
    assert str(form) == "the mean of each replica's gradients clipped to 2.5 (global norm + 5)"
