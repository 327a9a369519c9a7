import numpy as np
import pytest

from tests.cases import Dyadic
from workloads import example_checks
from workloads.support.errors import InputError
from workloads.workload import InputSpec, Workload


class Labelled(Dyadic):
    """Integers with and without a number of classes."""

    def inputs(self):
        return {"label": InputSpec((), "int", 3), "word": InputSpec((2,), "int")}

    def examples(self, rng, count):
        return {"label": np.arange(count) % 3, "word": np.zeros((count, 2), int)}


def check(**changes):
    examples = {**Labelled().examples(None, 4), **changes}
    return example_checks.checked_examples(Labelled(), examples, 4)


def test_good_examples_pass_as_they_are():
    labels = np.array([0, 1, 2, 2], np.int8)
    assert check(label=labels)["label"] is labels
    assert check(label=[0, 1, 2, 2])["label"].tolist() == [0, 1, 2, 2]
    assert check(label=np.array([0.0, 1.0, 2.0, 2.0]))["label"].dtype == np.float64  # whole numbers all the same
    assert check(word=np.full((4, 2), -7))["word"].min() == -7  # without classes


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"label": np.array([0, 1, 2, 3])}, "'label': got numbers from 0 to 3, must be from 0 to 2"),
        ({"label": np.array([-1, 1, 2, 2])}, "'label': got numbers from -1 to 2"),
        ({"label": np.array([0.5, 1, 2, 2])}, "'label': got float64, must be whole numbers"),
        ({"label": np.zeros((4, 1))}, r"'label': got shape \(4, 1\), must be \(4,\)"),
        ({"label": np.zeros(4, complex)}, "'label': got complex128"),
        ({"word": np.full((4, 2), 2**31)}, "'word': got numbers from 2147483648"),
        ({"other": np.zeros(4)}, "got label, other, word, must be exactly: label, word"),
    ],
)
def test_bad_examples_are_refused(changes, says):
    with pytest.raises(InputError, match=says):
        check(**changes)


def test_examples_that_the_base_class_draws_are_not_checked_again():
    assert example_checks.overrides_examples(Labelled())
    assert not example_checks.overrides_examples(type("Plain", (Labelled,), {"examples": Workload.examples})())
