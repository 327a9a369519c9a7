import dataclasses

import numpy as np
import pytest

from tests.cases import Dyadic, Everything
from workloads import workload as workload_lib
from workloads.models import sigmoid_stack, stacked_lstm
from workloads.support.errors import InputError
from workloads.workload import Clip, InputSpec, Workload, check_workload


def test_a_workload_without_a_loss_cannot_be_made():
    class Unfinished(Workload):
        def inputs(self):
            return {"x": InputSpec(())}

    with pytest.raises(TypeError, match="loss"):
        Unfinished()


@pytest.mark.parametrize(
    "spec, run_dtype, expected",
    [
        (InputSpec((2,)), "float32", "float32"),
        (InputSpec((2,)), "float64", "float64"),
        (InputSpec((), "int", 3), "float64", "int32"),
    ],
)
def test_floats_have_the_runs_dtype_and_class_numbers_do_not(spec, run_dtype, expected):
    assert spec.dtype(run_dtype) == np.dtype(expected)


def test_examples_are_floats_below_one_and_class_numbers():
    batch = Everything().examples(np.random.RandomState(0), 100)
    assert batch["x"].shape == (100, 6) and 0 <= batch["x"].min() < batch["x"].max() < 1
    assert set(batch["labels"]) == {0, 1, 2}


@pytest.mark.parametrize("replicas, expected", [(1, 8), (2, 8), (3, 9), (7, 14)])
def test_the_default_batch_is_rounded_up(replicas, expected):
    assert Dyadic(global_batch=8).default_global_batch(replicas) == expected


def test_the_texts_in_recordings_are_the_fields_and_nothing_else():
    assert Dyadic().describe() == {
        "name": "'dyadic'",
        "global_batch": "8",
        "optimizer": "GradientDescent()",
        "learning_rate": "Fixed(rate=0.0625)",
        "combine": "'mean'",
        "clip": "None",
        "statistics": "'first_tower'",
        "moving_average": "None",
        "weight_decay": "0.0",
    }
    assert repr(Clip(2.0)) == "Clip(limit=2.0, where='tower', how='global_norm')"
    assert repr(workload_lib.MovingAverage()) == "MovingAverage(decay=0.9999, warm_up=True)"


def test_what_is_no_workload_is_refused():
    with pytest.raises(InputError, match="--workload: got 3, expected a workloads.workload.Workload"):
        check_workload(3)


def test_dropout_is_turned_off_where_there_is_a_rate():
    assert Everything(dropout_rate=0.5).without_dropout().dropout_rate == 0.0
    assert Dyadic().without_dropout() == Dyadic()
    assert stacked_lstm.SMALL.dropout_rate > 0 == stacked_lstm.SMALL.without_dropout().dropout_rate


def test_most_workloads_do_not_depend_on_the_number_of_replicas():
    assert Dyadic().for_replicas(5) == Dyadic()


def test_a_models_facts_are_not_among_its_fields():
    assert (sigmoid_stack.SMALL.gradient_norm, sigmoid_stack.SMALL.parallel_gradients) == (0.13, True)
    assert (Dyadic().gradient_norm, Dyadic().parallel_gradients) == (1.0, False)
    names = {field.name for field in dataclasses.fields(sigmoid_stack.SMALL)}
    assert not names & {"gradient_norm", "parallel_gradients"}


def test_a_workload_has_a_dataset_if_its_class_defines_one():
    assert not Dyadic().has_dataset and Dyadic().dataset(8) is None

    @dataclasses.dataclass(frozen=True)
    class Shipped(Dyadic):
        def dataset(self, global_batch):
            return {"x": np.arange(100)}

    @dataclasses.dataclass(frozen=True)
    class Named(Dyadic):
        dataset: str = "a field of that name"

    assert Shipped().has_dataset and not Named().has_dataset


def test_the_share_of_an_average_warms_up():
    assert workload_lib.MovingAverage(0.5, warm_up=False).share(1) == 0.5
    assert workload_lib.MovingAverage(0.9999).share(1) == pytest.approx(1 - 2 / 11)
    assert workload_lib.MovingAverage(0.5).share(1001) == 0.5
