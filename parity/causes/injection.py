"""Ways to plant a fault: in a named field, in one method of the replica step, in the towers' module, in a record."""

from __future__ import annotations

import copy
import dataclasses
from unittest import mock

from legacy.towers.program import LegacyProgram
from modern.mirrored.program import ModernProgram
from modern.mirrored.replica_step import ReplicaStep
from workloads.program import Shown
from workloads.workload import Clip


@dataclasses.dataclass(frozen=True)
class Change:
    """What is changed on the modern side. Changes add up: `(a + b)(setup)` is a program with both faults.

    Attributes:
      fields: functions from the job to {workload field: value}.
      options: {`ModernOptions` field: value}.
      job: functions from the job to {job field: value}.
      sources: functions from the setup's function of a job to another one.
      steps: `ReplicaStep` subclasses, which call `super()`.
      rules: functions from update rules to others.
      states: functions that alter the first `State` in place, given the setup.
      records: functions that alter each `StepRecord` in place.
    """

    fields: tuple = ()
    options: tuple = ()
    job: tuple = ()
    sources: tuple = ()
    steps: tuple = ()
    rules: tuple = ()
    states: tuple = ()
    records: tuple = ()

    def __add__(self, other):
        names = [field.name for field in dataclasses.fields(self)]
        return Change(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def __call__(self, setup, start=None):
        """The faulty program; it starts from the `State` `start` if one is given."""
        setup = self._setup(setup)
        program = self._class()(setup.job, setup.make_source(setup.job), setup.modern, setup.devices())
        if start is not None or self.states:
            first = program.state() if start is None else copy.deepcopy(start)
            for change in self.states:
                change(first, setup)
            program.load(first)
        return Altered(program, self.records) if self.records else program

    def _setup(self, setup):
        job = setup.job
        for make in self.fields:
            job = dataclasses.replace(job, workload=dataclasses.replace(job.workload, **make(job)))
        for make in self.job:
            job = dataclasses.replace(job, **make(job))
        source = setup.make_source
        for wrap in self.sources:
            source = wrap(source)
        modern = dataclasses.replace(setup.modern, **dict(self.options))
        return dataclasses.replace(setup, job=job, make_source=source, modern=modern)

    def _class(self):
        steps, rules = self.steps, self.rules

        class Planted(ModernProgram):
            step_class = type("PlantedStep", steps, {}) if steps else ReplicaStep

            def _make_rules(self, state):
                made = super()._make_rules(state)
                for wrap in rules:
                    made = wrap(made)
                return made

        return Planted


def fields(make):
    """The workload with other fields on the modern side; `make(job)` gives {field: value}."""
    return Change(fields=(make,))


def step(step_class):
    """Another `ReplicaStep` on the modern side."""
    return Change(steps=(step_class,))


def rules(make):
    """Other update rules on the modern side; `make(rules)` gives them, from the program's own."""
    return Change(rules=(make,))


def options(**changed):
    """Other `ModernOptions`."""
    return Change(options=tuple(changed.items()))


def job(make):
    """Another job on the modern side; `make(job)` gives {field: value}."""
    return Change(job=(make,))


def source(make):
    """Other batches on the modern side; `make` is the `Source` class, from the one that the setup has."""
    return Change(sources=(make,))


def state(change):
    """Another first state on the modern side; `change(state, setup)` alters it in place."""
    return Change(states=(change,))


def record(change):
    """The modern side's records, altered in place by `change(record)`."""
    return Change(records=(change,))


def towers(name, make):
    """`legacy.towers.graph.<name>` replaced by `make(it)` while the towers are built."""
    from legacy.towers import graph as module

    def plant(setup, start=None):
        with mock.patch.object(module, name, make(getattr(module, name))):
            return LegacyProgram(setup.job, setup.make_source(setup.job), setup.legacy, setup.devices())

    return plant


#: Length of the combined gradient in the first steps of the small sizes, for limits that bite.
LENGTHS = {"sigmoid_stack": 0.13, "regression": 20.0, "cifar_cnn": 0.2, "resnet18": 6.0, "stacked_lstm": 0.24}


class Altered(Shown):
    """A program whose records are altered after each step."""

    def __init__(self, program, changes):
        super().__init__(program)
        self._changes = changes

    def shown(self, record):
        for change in self._changes:
            change(record)
        return record


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


class Rules:
    """Update rules that wrap others; subclasses have another `apply`."""

    def __init__(self, rules):
        self._rules = rules

    def __getattr__(self, name):
        return getattr(self._rules, name)


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


def no_clip(workload):
    """`suits`: without clipping, which would hide a gradient's length."""
    return dataclasses.replace(workload, clip=None)
