"""Curves of a prediction: the numbers of replicas, their batches, and what is shown meanwhile."""

import dataclasses

from parity.prediction import curves
from parity.prediction.machines.built_in import MACHINES
from parity.prediction.what_if import Gain
from tests.cases import Dyadic, setup

TWO = dataclasses.replace(MACHINES["v100"], count=2)


def test_replicas_are_powers_of_two_and_the_jobs_own():
    machine = dataclasses.replace(MACHINES["v100"], count=6)
    assert curves.replica_counts(setup(Dyadic(), 3, 12), machine, "weak") == [1, 2, 3, 4]
    assert curves.replica_counts(setup(Dyadic(), 3, 6), machine, "strong") == [1, 2, 3]


def test_weak_scaling_keeps_the_batch_of_a_replica():
    made = setup(Dyadic(), 2, 8)
    assert curves.with_replicas(made, 4, "weak").job.global_batch == 16
    assert curves.with_replicas(made, 4, "strong").job.global_batch == 8


def test_each_prediction_is_shown_while_it_is_made(monkeypatch):
    monkeypatch.setattr(
        "parity.prediction.prediction.predict_step", lambda made, side, _: f"{side} at {made.job.replicas}"
    )
    monkeypatch.setattr("parity.prediction.prediction.step_graph", lambda made, side, _: side)
    monkeypatch.setattr("parity.prediction.what_if.gains", lambda graph, _: [Gain(f"faster {graph}", 2.0)])
    shown, made = [], setup(Dyadic(), 2, 8)
    found = curves.predict_job(made, TWO, ["legacy", "modern"], "weak", lambda *row: shown.append(row))
    assert found.curves["modern"] == {1: "modern at 1", 2: "modern at 2"}
    assert found.gains == {"legacy": [Gain("faster legacy", 2.0)], "modern": [Gain("faster modern", 2.0)]}
    assert shown[0] == ("legacy, 1 replica", 0, 4) and shown[3] == ("modern, 2 replicas", 3, 4)
    assert shown[4:] == [("legacy: what would help", 0, 0), ("modern: what would help", 0, 0)]


def test_the_result_for_programs_has_a_list_for_each_side():
    content = curves.JobPrediction(setup(Dyadic(), 2, 8), TWO, "weak", {"legacy": {}}, {"legacy": [Gain("x", 2.0)]})
    assert content.to_json()["predictions"] == {"legacy": []}
    assert content.to_json()["gains"] == {"legacy": {"x": 2.0}} and content.to_json()["workload"] == "dyadic"
