"""Ways to inject a fault: into the workload's fields, a method of the replica step, the towers' graph, or a record."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from unittest import mock

from legacy.towers.program import LegacyProgram
from modern.mirrored.program import ModernProgram
from modern.mirrored.step.replica_step import ReplicaStep
from workloads.program import Arrays, Program, RecordRewriter, State, StepRecord
from workloads.workload import Clip, Workload

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState, MirroredState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.comparison.setup import Setup
    from workloads.job import Job
    from workloads.optimizers import Optimizer
    from workloads.sources import Source

    MakeFields = Callable[[Job], dict[str, Any]]
    MakeSource = Callable[[Job], Source]
    ChangeState = Callable[[State, Setup], None]
    ChangeRecord = Callable[[StepRecord], None]


@dataclasses.dataclass(frozen=True)
class Change:
    """A change of the modern side. Changes add up: `(a + b)(setup)` builds a program with both faults.

    Attributes:
      fields: functions from the job to {workload field: value}.
      options: (`ModernOptions` field, value) of each option that is changed.
      job: functions from the job to {job field: value}.
      sources: functions that take the setup's function from a job to its `Source` and return another one.
      steps: `ReplicaStep` subclasses, which call `super()`.
      rules: functions from the program's update rules to update rules that wrap them.
      states: functions that change the first `State` in place, given the setup.
      records: functions that change each `StepRecord` in place.
      loads: functions that change a `State` in place before the program loads it, given the setup: from the terms of
        `records` back to the program's own.
    """

    fields: tuple[MakeFields, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    job: tuple[MakeFields, ...] = ()
    sources: tuple[Callable[[MakeSource], MakeSource], ...] = ()
    steps: tuple[type[ReplicaStep], ...] = ()
    rules: tuple[Callable[[UpdateRules], UpdateRules], ...] = ()
    states: tuple[ChangeState, ...] = ()
    records: tuple[ChangeRecord, ...] = ()
    loads: tuple[ChangeState, ...] = ()

    def __add__(self, other: Change) -> Change:
        names = [field.name for field in dataclasses.fields(self)]
        return Change(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def __call__(self, setup: Setup, start: State | None = None) -> Program:
        """Builds the faulty program; it starts from the `State` `start` if one is given."""
        setup = self.changed_setup(setup)
        program: Program = self._program_class()(setup.job, setup.make_source(setup.job), setup.modern, setup.devices())
        if start is not None or self.states:
            first = program.state() if start is None else copy.deepcopy(start)
            for change in self.states:
                change(first, setup)
            program.load(first)
        if not self.records and not self.loads:
            return program
        return ChangedRecords(program, self.records, [functools.partial(_load_change, setup, c) for c in self.loads])

    def changed_setup(self, setup: Setup) -> Setup:
        """Returns the setup with this change's job, source and options.

        Variables are mirrored: some faults change the copy of one replica only.
        """
        job = setup.job
        for make in self.fields:
            job = dataclasses.replace(job, workload=dataclasses.replace(job.workload, **make(job)))
        for make in self.job:
            job = dataclasses.replace(job, **make(job))
        source = setup.make_source
        for wrap in self.sources:
            source = wrap(source)
        modern = dataclasses.replace(setup.modern, **{"variables": "mirrored", **dict(self.options)})
        return dataclasses.replace(setup, job=job, make_source=source, modern=modern)

    def _program_class(self) -> type[ModernProgram]:
        steps, rules = self.steps, self.rules

        class FaultyProgram(ModernProgram):
            step_class = type("FaultyStep", steps, {}) if steps else ReplicaStep

            def _make_rules(self, state: State) -> UpdateRules:
                made = super()._make_rules(state)
                for wrap in rules:
                    made = wrap(made)
                    if isinstance(made, WrappedRules):
                        made.prepare(self._variables, len(self._devices))
                return made

        return FaultyProgram


def _load_change(setup: Setup, change: ChangeState, state: State) -> None:
    change(state, setup)


def in_workload(make: MakeFields) -> Change:
    """Changes fields of the workload on the modern side: `make(job)` returns {field: value}."""
    return Change(fields=(make,))


def in_replica_step(step_class: type[ReplicaStep]) -> Change:
    """Replaces the class of the modern side's replica step."""
    return Change(steps=(step_class,))


def in_update_rules(wrap: Callable[[UpdateRules], UpdateRules]) -> Change:
    """Wraps the modern side's update rules: `wrap(rules)` returns the rules to use."""
    return Change(rules=(wrap,))


def in_options(**changed: Any) -> Change:
    """Changes fields of `ModernOptions`."""
    return Change(options=tuple(changed.items()))


def in_job(make: MakeFields) -> Change:
    """Changes fields of the modern side's job: `make(job)` returns {field: value}."""
    return Change(job=(make,))


def in_source(wrap: Callable[[MakeSource], MakeSource]) -> Change:
    """Changes the modern side's batches: `wrap` maps the setup's `Source` class to another one."""
    return Change(sources=(wrap,))


def in_first_state(change: ChangeState) -> Change:
    """Changes the modern side's first state: `change(state, setup)` alters it in place."""
    return Change(states=(change,))


def in_records(change: ChangeRecord, load: ChangeState | None = None) -> Change:
    """Changes the modern side's step records: `change(record)` alters each in place.

    `load(state, setup)` turns a state of such records back before it is loaded.
    """
    return Change(records=(change,), loads=() if load is None else (load,))


def in_towers(name: str, wrap: Callable[[Any], Any]) -> Callable[..., Program]:
    """Replaces the function `legacy.towers.graph.<name>` by `wrap(function)` while the towers are built."""
    from legacy.towers import graph as module

    def inject(setup: Setup, start: State | None = None) -> Program:
        with mock.patch.object(module, name, wrap(getattr(module, name))):
            return LegacyProgram(setup.job, setup.make_source(setup.job), setup.legacy, setup.devices())

    return inject


class ChangedRecords(RecordRewriter):
    """A program whose step records are changed after each step.

    Args:
      program: the `Program` that takes the steps.
      changes: functions that change a `StepRecord` in place, in order.
      load_changes: functions that change a copy of each loaded `State` in place, in order.
    """

    def __init__(
        self,
        program: Program,
        changes: Iterable[ChangeRecord],
        load_changes: Iterable[Callable[[State], None]] = (),
    ) -> None:
        super().__init__(program)
        self._changes, self._load_changes = tuple(changes), tuple(load_changes)

    def load(self, state: State) -> None:
        state = copy.deepcopy(state) if self._load_changes else state
        for change in self._load_changes:
            change(state)
        super().load(state)

    def rewrite(self, record: StepRecord) -> StepRecord:
        for change in self._changes:
            change(record)
        return record


class ScaledStep(ReplicaStep):
    """A replica step with its loss and gradients times `factor()`, and the combined ones times N if `summed`."""

    summed = False

    def factor(self) -> float:
        """The factor of this replica's loss and gradients."""
        return 1.0

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        found = super()._forward_backward(local, step, replica, batch)
        factor = self.factor()
        return found._replace(
            loss=found.loss * factor, gradients={name: value * factor for name, value in found.gradients.items()}
        )

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        combined = super()._combine(context, gradients)
        replicas = self._job.replicas if self.summed else 1
        return {name: value * replicas for name, value in combined.items()}


class WrappedRules:
    """Update rules that wrap others; subclasses override `apply`."""

    def __init__(self, rules: UpdateRules) -> None:
        self._rules = rules

    @property
    def optimizer(self) -> Optimizer:
        """The workload's optimizer."""
        optimizer: Optimizer = self._rules.optimizer  # type: ignore[attr-defined]  # the innermost are `Tf1Rules`
        return optimizer

    def prepare(self, variables: MirroredState, replicas: int) -> None:
        """Makes variables that the rules need beside the program's; by default there are none."""

    def describe(self) -> str:
        return self._rules.describe()

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        self._rules.apply(local, gradients, rate)

    def load(self, state: State, last_rate: Callable[[], float]) -> None:
        self._rules.load(state, last_rate)

    def slots(self, state: State, last_rate: Callable[[], float]) -> Arrays:
        return self._rules.slots(state, last_rate)


def with_clip(where: str, how: str = "global_norm", bite: float = 0.5) -> Callable[[Workload], Workload]:
    """Returns an `adapt` for faults of clipping.

    Args:
      where: as in `Clip`.
      how: as in `Clip`.
      bite: the limit as a fraction of the first gradients' usual norm.

    Returns:
      Function from a workload to the same workload with such a `Clip`.
    """

    def adapt(workload: Workload) -> Workload:
        limit = bite * workload.gradient_norm
        if how == "value":
            limit /= 64  # the limit is on single elements, the norm is of the whole gradient
        return dataclasses.replace(workload, clip=Clip(limit, where, how))

    return adapt


def with_fields(**fields: Any) -> Callable[[Workload], Workload]:
    """Returns an `adapt` that sets these fields of the workload."""
    return lambda workload: dataclasses.replace(workload, **fields)


def without_clip(workload: Workload) -> Workload:
    """Removes clipping, which would hide the gradient's norm."""
    return dataclasses.replace(workload, clip=None)
