"""Length of a training run: steps, or passes over data whose number is known."""

import numpy as np
import pytest

from tests.cases import Dyadic
from tests.own_flags import own_copy, own_flags, set_flags
from workloads.data.function import FunctionData
from workloads.data.own_data import OwnData
from workloads.job import Job
from workloads.sources import Synthetic
from workloads.support.errors import InputError

with own_flags() as FLAGS:
    training_flags = own_copy("workloads.training.flags")


def source(count=10):
    return OwnData(Job(Dyadic(), 2, 4), FunctionData("mine", lambda global_batch: {"x": np.arange(count)}))


def test_epochs_are_steps_that_take_every_example():
    with set_flags(FLAGS, epochs=2):
        assert training_flags.steps_from_flags(source()) == 5
    with set_flags(FLAGS, steps=7):
        assert training_flags.steps_from_flags(source()) == 7


def test_data_without_a_known_end_have_no_epochs():
    with set_flags(FLAGS, epochs=2), pytest.raises(InputError, match="--epochs: got 2, these data have no known end"):
        training_flags.steps_from_flags(Synthetic(Job(Dyadic())))


@pytest.mark.parametrize(
    "values, says", [({"epochs": 0}, "at least 1"), ({"epochs": 1, "steps": 5}, "not with --steps")]
)
def test_refused_epochs(values, says):
    with set_flags(FLAGS, **values), pytest.raises(InputError, match=f"--epochs: got .*{says}"):
        training_flags.check_flags()
