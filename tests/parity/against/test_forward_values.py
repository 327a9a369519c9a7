"""Every tensor of a forward pass, and the line that made it."""

import numpy as np

from legacy.options import LegacyOptions
from legacy.rerun.program import OldGraphProgram
from parity.against.forward_values import old_forward, port_forward
from tests.cases import Dyadic, Everything
from tests.small_lift import CountingSource, small_job
from workloads.job import Job
from workloads.program import State


def test_a_ports_tensors_and_the_lines_that_made_them():
    state = State(3, {"a": np.float32(2), "b": np.float32(4)}, {}, {}, {})
    found = port_forward(Job(Dyadic(), 2), state, {"x": np.arange(1, 5, dtype=np.float32)}, 0)
    assert found.values[found.loss] == 20
    assert [op.kind for op in found.ops] == ["Mul", "Mul", "Mean"]
    assert all("cases.py:" in op.place and op.place.endswith(", in loss") for op in found.ops)
    assert found.values[found.ops[0].outputs[0]].tolist() == [2, 4, 6, 8]


def test_noise_is_that_of_the_step_and_the_replica():
    workload = Everything()
    job = Job(workload, 2)
    weights = {
        "first/weights": (6, 5),
        "norm/gamma": (5,),
        "norm/beta": (5,),
        "last/weights": (5, 3),
        "last/biases": (3,),
    }
    values = {
        name: np.linspace(0.5, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
        for name, shape in weights.items()
    }
    statistics = {"norm/moving_mean": np.zeros(5, np.float32), "norm/moving_variance": np.ones(5, np.float32)}
    batch = {"x": np.linspace(0, 1, 48, dtype=np.float32).reshape(8, 6), "labels": np.arange(8, dtype=np.int32) % 3}

    def loss(step, replica):
        found = port_forward(job, State(step, values, {}, statistics, {}), batch, replica)
        return float(found.values[found.loss])

    assert loss(0, 0) == loss(0, 0) and len({loss(0, 0), loss(1, 0), loss(0, 1)}) == 3


def test_an_old_towers_tensors(tmp_path):
    job = small_job(str(tmp_path / "lift"))
    source = CountingSource(job)
    with OldGraphProgram(job, source, LegacyOptions(exact=True), ["CPU:0", "CPU:1"]) as program:
        found = old_forward(program, job.workload.graph, "loss1:0", ["x1:0"], source.shards(0))
        assert program.state().step == 0
    assert (
        found["loss1:0"] == 14 and found["w/read:0"] == 2 and [6, 8] in [np.ravel(v).tolist() for v in found.values()]
    )
    assert "loss0:0" not in found
