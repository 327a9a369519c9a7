"""Ways to plant a fault: in a named field, in one method of the replica step, in a module of the towers, in a record."""

from __future__ import annotations

import copy
import dataclasses
from unittest import mock

from legacy.program import LegacyProgram
from modern.program import ModernProgram
from modern.replica_step import ReplicaStep
from workloads.program import Program
from workloads.workload import Clip


def fields(make, side="modern"):
    """The workload with other fields on one side; `make(job)` gives {field: value}."""

    def plant(setup):
        workload = dataclasses.replace(setup.job.workload, **make(setup.job))
        changed = dataclasses.replace(setup, job=dataclasses.replace(setup.job, workload=workload))
        return changed.legacy_program() if side == "legacy" else changed.modern_program()

    return plant


def step(step_class):
    """Another `ReplicaStep` on the modern side."""

    def plant(setup):
        program = type("Planted", (ModernProgram,), {"step_class": step_class})
        return program(setup.job, setup.make_source(setup.job), setup.modern, setup.devices())

    return plant


def rules(make):
    """Other update rules on the modern side; `make(rules)` gives them, from the program's own."""

    class Planted(ModernProgram):
        def _make_rules(self, state):
            return make(super()._make_rules(state))

    def plant(setup):
        return Planted(setup.job, setup.make_source(setup.job), setup.modern, setup.devices())

    return plant


def options(**changed):
    """Other `ModernOptions`."""

    def plant(setup):
        return dataclasses.replace(setup, modern=dataclasses.replace(setup.modern, **changed)).modern_program()

    return plant


def source(make):
    """Other batches on the modern side; `make` is the `Source` class, from the one that the setup has."""

    def plant(setup):
        return dataclasses.replace(setup, make_source=make(setup.make_source)).modern_program()

    return plant


def state(change):
    """Another first state on the modern side; `change(state, setup)` alters it in place, or a copy of `start`."""

    def plant(setup, start=None):
        program = setup.modern_program()
        first = program.state() if start is None else copy.deepcopy(start)
        change(first, setup)
        program.load(first)
        return program

    return plant


def record(change, plant=None):
    """The modern side's records, altered in place by `change(record)`; the program under them may be planted too."""

    def make(setup):
        return Altered(setup.modern_program() if plant is None else plant(setup), change)

    return make


def towers(name, make):
    """`legacy.towers.<name>` replaced by `make(it)` while the towers are built."""
    from legacy import towers as module

    def plant(setup):
        with mock.patch.object(module, name, make(getattr(module, name))):
            return LegacyProgram(setup.job, setup.make_source(setup.job), setup.legacy, setup.devices())

    return plant


#: Length of the combined gradient in the first steps of the small sizes, for limits that bite.
LENGTHS = {"sigmoid_stack": 0.13, "regression": 20.0, "cifar_cnn": 0.2, "resnet18": 6.0, "stacked_lstm": 0.24}


class Altered(Program):
    """A program whose records are altered after each step."""

    def __init__(self, program, change):
        self._program, self._change = program, change
        self.side = program.side

    def variables(self):
        return self._program.variables()

    def describe(self):
        return self._program.describe()

    def load(self, state):
        self._program.load(state)

    def state(self):
        return self._program.state()

    def step(self):
        seen = self._program.step()
        self._change(seen)
        return seen

    def close(self):
        self._program.close()


class Scaled(ReplicaStep):
    """The loss and all that comes of it times `factor()`, summed over the replicas if `summed`."""

    summed = False

    def factor(self):
        return 1.0

    def _forward_backward(self, local, step, replica, batch):
        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        factor = self.factor()
        return (loss * factor, {name: value * factor for name, value in gradients.items()}, *rest)

    def _combine(self, context, gradients):
        combined = super()._combine(context, gradients)
        replicas = self._job.replicas if self.summed else 1
        return {name: value * replicas for name, value in combined.items()}


def with_clip(where, how="global_norm", bite=0.5):
    """`suits` for faults of clipping: the workload clipping at `bite` times its first gradient's usual length."""

    def suits(workload):
        limit = bite * LENGTHS.get(workload.name, 1.0)
        if how == "value":
            limit /= 64  # an element's size beside the whole gradient's length
        return dataclasses.replace(workload, clip=Clip(limit, where, how))

    return suits


def having(**fields_):
    """`suits`: the workload with these fields."""
    return lambda workload: dataclasses.replace(workload, **fields_)


def only(*names):
    """`suits`: workloads of these names, as they are."""
    return lambda workload: workload if workload.name in names else None


def no_clip(workload):
    """`suits`: without clipping, which would hide a gradient's length."""
    return dataclasses.replace(workload, clip=None)
