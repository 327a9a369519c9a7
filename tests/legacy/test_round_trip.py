"""Our own towers, exported as an old program would have left them, lifted: the port must be the native port's twin."""

import itertools

import numpy as np
import pytest

from legacy.options import LegacyOptions
from legacy.saved.lifting import lift_graph
from legacy.towers.program import LegacyProgram
from modern.factory import modern_program
from modern.mirrored.program import ModernProgram
from modern.options import ModernOptions
from tests.marks import slow_after
from workloads import sources
from workloads.job import Job
from workloads.lifted.sources import LiftedData
from workloads.selection import registry

REPLICAS, STEPS = 2, 5
DEVICES = [f"CPU:{i}" for i in range(REPLICAS)]


QUICK = [("cifar_cnn", "queue"), ("regression", "feed"), ("stacked_lstm", "feed"), ("sigmoid_stack", "queue")]
WAYS = [*QUICK, *(case for case in itertools.product(registry.NAMES, ["feed", "queue"]) if case not in QUICK)]


@pytest.mark.parametrize("name, way", slow_after(len(QUICK), WAYS))
def test_lifted_port_has_the_native_ports_bits(name, way, tmp_path):
    job = Job(registry.get(name), REPLICAS)
    source = sources.Synthetic(job)
    with LegacyProgram(job, source, LegacyOptions(input=way, exact=True), DEVICES) as towers:
        towers.export(str(tmp_path / "old"))
    plan = lift_graph(
        str(tmp_path / "old" / "graph.meta"), str(tmp_path / "lifted"), str(tmp_path / "old" / "model.ckpt")
    )
    assert plan.towers == REPLICAS
    assert not any(
        "uses what" in note or "loss contains" in note for note in plan.notes
    )  # combined on tower 0's device
    again = Job(registry.get(str(tmp_path / "lifted")), REPLICAS)
    names = dict(zip(by_output(plan.inputs), sorted(job.workload.inputs())))
    batch = lambda step: {mine: source.batch(step)[theirs] for mine, theirs in names.items()}  # noqa: E731
    options = ModernOptions(exact=True)
    native = ModernProgram(job, source, options, DEVICES)
    lifted = modern_program(again, LiftedData(again, batch, {}), options, DEVICES)
    with native, lifted:
        for _ in range(STEPS):
            same(native.step(), lifted.step())


def by_output(inputs):
    """Names of a lift's inputs in the order of the native inputs' names, which is that of queues' components."""
    return [entry.name for entry in sorted(inputs, key=lambda entry: entry.origin)]


def same(native, lifted):
    assert [loss.tobytes() for loss in native.losses] == [loss.tobytes() for loss in lifted.losses]
    for name, value in native.state.weights.items():
        assert value.tobytes() == lifted.state.weights[name].tobytes(), name
    for name, value in native.state.statistics.items():
        assert value.tobytes() == lifted.state.statistics[name].tobytes(), name
    for kind in ("slots", "averages"):  # which 1.x calls by other names
        mine, theirs = getattr(native.state, kind), getattr(lifted.state, kind)
        assert sorted(v.tobytes() for v in mine.values()) == sorted(v.tobytes() for v in theirs.values())
    for mine, theirs in zip(native.gradients, lifted.gradients):
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
