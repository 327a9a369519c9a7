"""`parity.predict`: flags that it refuses, and the numbers of replicas that it predicts."""

import dataclasses

import pytest

from parity.prediction.machines.built_in import MACHINES
from tests.cases import Dyadic, setup
from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity import predict


@pytest.mark.parametrize(
    "values, message",
    [
        ({"sides": ["old"]}, "--sides: got 'old', allowed: legacy, modern"),
        ({"sides": []}, "--sides: got .., at least one of legacy, modern"),
        ({"rounds": 3}, "--rounds: got 3, must be even"),
        ({"workloads": ["mine"]}, "--workloads: got 'mine', allowed: sigmoid_stack"),
        ({"replica_counts": ["2", "two"]}, "--replica_counts: got .*, 1 to 8 each"),
        ({"placement": "layers"}, "--placement: got 'layers', here: towers"),
    ],
)
def test_what_cannot_be_predicted_is_refused(values, message):
    with set_flags(predict.FLAGS, **values), pytest.raises(InputError, match=message):
        predict.check_flags()


def test_replicas_are_powers_of_two_and_the_jobs_own():
    machine = dataclasses.replace(MACHINES["v100"], count=6)
    with set_flags(predict.FLAGS, scaling="weak"):
        assert predict.replica_counts(setup(Dyadic(), 3, 12), machine) == [1, 2, 3, 4]
    with set_flags(predict.FLAGS, scaling="strong"):
        assert predict.replica_counts(setup(Dyadic(), 3, 6), machine) == [1, 2, 3]


def test_weak_scaling_keeps_the_batch_of_a_replica():
    made = setup(Dyadic(), 2, 8)
    assert predict.with_replicas(made, 4, "weak").job.global_batch == 16
    assert predict.with_replicas(made, 4, "strong").job.global_batch == 8


class Shown:
    """Stands in for a progress: keeps what it is told."""

    def __init__(self):
        self.told = []

    def update(self, done, total, text):
        self.told.append((done, total, text))


def test_each_prediction_is_shown_while_it_is_made(monkeypatch):
    monkeypatch.setattr(
        "parity.prediction.prediction.predict_step", lambda made, side, _: f"{side} at {made.job.replicas}"
    )
    shown, machine = Shown(), dataclasses.replace(MACHINES["v100"], count=2)
    with set_flags(predict.FLAGS, scaling="weak", sides=["legacy", "modern"]):
        curves = predict.predict_curves(setup(Dyadic(), 2, 8), machine, shown)
    assert curves["modern"] == {1: "modern at 1", 2: "modern at 2"}
    assert shown.told[0] == (0, 4, "legacy, 1 replica") and shown.told[3] == (3, 4, "modern, 2 replicas")
