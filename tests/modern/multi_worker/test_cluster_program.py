import dataclasses
import doctest

import numpy as np
import pytest

from modern.multi_worker import cluster_program
from workloads.program import State, StepRecord


def a_record(loss, weight=1.0, drift=()):
    """One worker's record with one replica; `loss` tells it apart."""
    return StepRecord(
        step=4,
        digests=[f"digest of {loss}"],
        losses=[np.float32(loss)],
        gradients=[{"w": np.float32(loss)}],
        combined={"w": np.float32(0.5)},
        learning_rate=np.float32(0.25),
        state=State(5, {"w": np.float32(weight)}, {"w/m": np.float32(0.0)}, {}, {}),
        drift=list(drift),
        examples=[np.array([loss])],
        masks=[{}],
        proposals=[{}],
    )


def test_the_workers_replicas_are_put_in_a_row():
    merged = cluster_program.merge_records([a_record(1.0), a_record(2.0), a_record(3.0)])
    assert [float(loss) for loss in merged.losses] == [1.0, 2.0, 3.0]
    assert merged.digests == ["digest of 1.0", "digest of 2.0", "digest of 3.0"]
    assert [float(gradient["w"]) for gradient in merged.gradients] == [1.0, 2.0, 3.0]
    assert (merged.step, merged.state.step, merged.drift) == (4, 5, [])


def test_a_weight_that_differs_between_workers_drifts():
    assert cluster_program.merge_records([a_record(1.0), a_record(2.0, weight=1.5)]).drift == ["w"]


@pytest.mark.parametrize("changed", ["combined", "slots"])
def test_other_bits_of_one_value_are_drift(changed):
    other = a_record(2.0)
    if changed == "combined":
        other = dataclasses.replace(other, combined={"w": np.float32(-0.5)})
    else:
        other.state.slots["w/m"] = np.float32(-0.0)  # equal, and another bit
    drift = cluster_program.merge_records([a_record(1.0), other]).drift
    assert drift == [{"combined": "w", "slots": "w/m"}[changed]]


def test_the_workers_own_drift_is_kept():
    assert cluster_program.merge_records([a_record(1.0, drift=["b"]), a_record(2.0, drift=["a"])]).drift == ["a", "b"]


def test_workers_on_the_cpu_see_the_gpus_that_they_saw():
    assert cluster_program.own_gpus(1, ["CPU:0", "CPU:1"]) == {}


@pytest.mark.parametrize("index, visible", [(0, "0,1"), (2, "4,5")])
def test_workers_on_gpus_see_their_own(index, visible):
    assert cluster_program.own_gpus(index, ["GPU:0", "GPU:1"]) == {"CUDA_VISIBLE_DEVICES": visible}


class Connection:
    """A parent that sends these messages and keeps the answers."""

    def __init__(self, *messages):
        self._messages, self.answers = [*messages, None], []

    def listen(self):
        return self._messages.pop(0)

    def say(self, answer):
        self.answers.append(answer)


def test_a_worker_calls_the_methods_that_the_parent_names(monkeypatch):
    class Program:
        def __init__(self, *arguments):
            self.arguments = arguments

        def variables(self):
            return "variables"

        def describe(self):
            return {"worker": self.arguments[-1]}

        def run(self, steps):
            return [steps]

    monkeypatch.setattr("modern.mirrored.program.ModernProgram", Program)
    monkeypatch.setattr(cluster_program.cluster_config, "worker_from_environment", lambda: "worker 0")
    parent = Connection(("run", (3,)), ("describe", ()))
    cluster_program.serve_worker(parent, "job", lambda job: job + "'s source", "options", ["CPU:0"])
    assert parent.answers == [("variables", {"worker": "worker 0"}), [3], {"worker": "worker 0"}]


def test_the_examples_in_the_documentation_hold():
    assert doctest.testmod(cluster_program).failed == 0
