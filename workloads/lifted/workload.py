"""`LiftedWorkload`: a lifted program, usable like any other workload."""

from __future__ import annotations

import dataclasses
from types import TracebackType
from typing import TYPE_CHECKING, Any, ContextManager, NamedTuple, Optional, Type, cast

import numpy as np
import tensorflow as tf

from workloads import schedules
from workloads.lifted import folder as lift_folder
from workloads.lifted import is_lift_folder
from workloads.lifted.graph import Graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.noise import loop_counters
from workloads.lifted.plan import TensorType
from workloads.program import State
from workloads.scope import Scope, Tensors
from workloads.support.errors import OpFailed, is_about_sizes, require
from workloads.support.user import user_code
from workloads.variable_spec import VariableSpec
from workloads.workload import Workload

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Mapping

    from workloads.lifted.plan import Input, Plan
    from workloads.program import Arrays
    from workloads.steps.workload import StepWorkload

    #: Function of a scope and a batch that computes one tower's loss.
    TowerLoss = Callable[[Scope, Tensors], tf.Tensor]

#: Name, beside the variables, of the number of steps that the port has taken since the lift: the next step's number.
STEP = "lift/step"
#: {role of a variable: field of `State` that it belongs to}.
KINDS = {"weight": "weights", "slot": "slots", "average": "averages", "statistic": "statistics", "state": "statistics"}


class PortOfLift(NamedTuple):
    """A workload with a step of its own, in terms of a lift; its variables have the old names.

    Attributes:
      workload: the port.
      inputs: {input of the port: input of the lift}.
      noise: {noise of the port: random stream of the lift}.
    """

    workload: StepWorkload
    inputs: Mapping[str, str]
    noise: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class LiftedWorkload(Workload):
    """An old program as a workload, with loss, gradients, combining, update rules and schedule as ops of its graph.

    Attributes:
      digest: of graph and plan; two lifts of one program have the same.
      learning_rate: not used; the schedule is in the graph.
      folder: the lift's folder.
      plan: the plan.
      graph: index of the graph.
      losses: {train op: function that computes one tower's loss} of the port, see `lift_with_losses`; empty where the
        graph computes them.
      port: the port that is compared with the old graph, where its whole step is written; or None.
    """

    digest: str = ""
    learning_rate: Any = schedules.Fixed(0.0)
    folder: str = dataclasses.field(default="", compare=False, repr=False)
    plan: Plan = dataclasses.field(default=cast("Plan", None), compare=False, repr=False)
    graph: Graph = dataclasses.field(default=cast(Graph, None), compare=False, repr=False)
    losses: Mapping[str, TowerLoss] = dataclasses.field(default_factory=dict, compare=False, repr=False)
    port: Optional[PortOfLift] = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def is_lifted(self) -> bool:
        return True

    @property
    def carries_state(self) -> bool:
        return any(variable.role == "state" for variable in self.plan.variables)

    @property
    def has_examples(self) -> bool:
        """Whether data enter the graph's step, or a variable that no step changes may hold them."""
        if any(entry.kind != "setting" for entry in self.inputs().values()):
            return True
        changed = {name for phase in self.plan.phases for effect in phase.effects for name in effect.writes}
        others = [entry for entry in self.plan.variables if entry.role == "statistic" and entry.name not in changed]
        return any(entry.shape for entry in others)

    def inputs(self) -> dict[str, Input]:  # type: ignore[override]  # a graph's inputs know more than an `InputSpec`
        """Returns {name: input} of all that a replica's batch holds."""
        return {entry.name: entry for entry in self.plan.inputs + self.plan.common}

    def copied(self, names: Mapping[str, str]) -> list[str]:
        """Returns those inputs of a port, {its input: the lift's}, of which each example has a copy."""
        inputs = self.inputs()
        return [name for name, old in names.items() if inputs[old].is_copied]

    def dealt(self, names: Mapping[str, str], specs: Mapping[str, Any]) -> list[str]:
        """Returns those inputs of a port whose rows it deals out, though the old graph takes them whole.

        Args:
          names: {input of the port: the lift's}.
          specs: {input of the port: `InputSpec`}.

        Returns:
          The port's inputs.
        """
        inputs, plan = self.inputs(), self.plan
        rows = None if plan.batch is None else plan.batch * plan.towers
        return [name for name, old in names.items() if inputs[old].is_dealt_as(specs[name].shape, rows)]

    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        """Not available: the losses are ops of the graph, one a phase and tower."""
        raise NotImplementedError("LiftedWorkload.loss")

    def check(self) -> None:
        """Does nothing: a lift was checked when it was made."""

    def check_size(self, replicas: int, per_replica_batch: int) -> None:
        """Raises `InputError` unless the graph takes `per_replica_batch` examples a replica."""
        require(
            self.plan.batch in (None, per_replica_batch),
            "--global_batch",
            replicas * per_replica_batch,
            f"this graph takes {self.plan.batch} a replica, so {replicas * (self.plan.batch or 0)}",
        )

    def default_global_batch(self, replicas: int) -> int:
        """Returns the global batch that the graph takes; a default one if it takes any."""
        return replicas * self.plan.per_replica_batch

    def describe(self) -> dict[str, str]:
        return {"name": self.name, "graph": self.digest, "towers": str(self.plan.towers)}

    def update_rules(self) -> str:
        """Returns the op types of the update rules, for reports."""
        effects = [effect for phase in self.plan.phases for effect in phase.effects]
        return ", ".join(sorted({effect.op for effect in effects if "Apply" in effect.op}))

    def variables(self) -> tuple[VariableSpec, ...]:
        """Returns the `VariableSpec`s of all that a step reads or changes."""
        return tuple(
            VariableSpec(v.name, tuple(v.shape), v.dtype, v.role == "weight", None) for v in self.plan.variables
        )

    def initial_state(self) -> State:
        """Returns the `State` that the lift's checkpoint holds."""
        values = self.values()
        return self.state(int(values.get(STEP, 0)), values)

    def state(self, step: int, values: Mapping[str, Any]) -> State:
        """Returns the `State` at `step` of {variable: array}."""
        state = State(step, {}, {}, {}, {})
        for variable in self.plan.variables:
            getattr(state, KINDS[variable.role])[variable.name] = np.asarray(values[variable.name], variable.dtype)
        return state

    def values(self) -> Arrays:
        """Returns {variable: array} of the lift's checkpoint, which may hold more than a step uses.

        Raises:
          InputError: a variable is missing, or is of another shape than in the plan.
        """
        values = lift_folder.read_values(self.folder)
        for variable in self.plan.variables:
            value = values.get(variable.name)
            found = "nothing" if value is None else list(value.shape)
            require(
                found == list(variable.shape) and np.asarray(value).dtype.kind not in "OSU",
                "--workload",
                self.folder,
                f"its checkpoint holds {found} for {variable.name!r}, expected {variable.dtype} {list(variable.shape)}",
            )
        step = values.get(STEP, np.int64(0))
        require(np.shape(step) == () and 0 <= step < 1 << 40, "--workload", self.folder, f"{STEP} must be a step")
        return values

    def own_batches(self) -> list[Arrays]:
        """Returns the batches of the program's own data that the lift keeps, see `OwnExamples`."""
        return lift_folder.read_batches(self.folder, self.plan)

    def save(self, folder: str, state: State) -> None:
        """Writes this lift with `state` as the state to start from."""
        values = dict(self.values())
        for arrays in (state.weights, state.slots, state.statistics, state.averages):
            values.update(arrays)
        values[STEP] = np.asarray(state.step, np.int64)
        lift_folder.write_lift(folder, self.plan, self.graph.graph_def, values, self.own_batches())

    def cutter(self, random: Mapping[str, str]) -> Cutter:
        """Returns a `Cutter` of the graph; `random`, as there, overrides what the plan says of random nodes."""
        how = {node: e.how for e in self.plan.noise + self.plan.common_noise for node in e.nodes if node}
        how.update(random)
        variables = {v.name: TensorType(v.dtype, list(v.shape)) for v in self.plan.variables}
        tensors = self.plan.tensors
        return Cutter(self.graph, self.plan.aliases, variables, tensors.__getitem__, how, loop_counters(self.plan))


def load_lift(folder: str) -> LiftedWorkload:
    """Returns the workload that a folder holds.

    Raises:
      InputError: the folder's files are missing or damaged.
    """
    content = lift_folder.read_lift(folder)
    plan = content.plan
    return LiftedWorkload(
        name=plan.name,
        global_batch=plan.global_batch,
        digest=content.digest,
        folder=folder,
        plan=plan,
        graph=content.graph,
    )


def lift_with_losses(folder: str | os.PathLike[str], losses: Mapping[str, TowerLoss]) -> LiftedWorkload:
    """Returns a lift whose port computes its towers' losses by functions, and differentiates these.

    What leaves the towers then goes into the old graph's own combining, clipping and update. A function asks its scope
    for variables by the old names; `scope.update` gives a tower's state its next value. The towers, on the other side
    of a comparison, are the old graph as it is.

    Args:
      folder: of the lift.
      losses: {train op: function of a scope and a batch that computes one tower's loss}; the graph computes the
        loss of a train op that is not named.

    Returns:
      The workload.

    Raises:
      InputError: the folder holds no lift, or has no such train op.
    """
    path = str(folder)
    require(is_lift_folder(path), "lift_with_losses", path, "must be a folder that legacy.lift wrote")
    lift = load_lift(path)
    train_ops = [phase.train_op for phase in lift.plan.phases]
    expected = "must be of the lift's train ops: " + ", ".join(train_ops)
    require(losses and set(losses) <= set(train_ops), "lift_with_losses: losses", ", ".join(losses), expected)
    return dataclasses.replace(lift, losses=dict(losses))


def as_lifted(workload: Workload) -> LiftedWorkload:
    """Returns a workload whose `is_lifted` is true, with its type."""
    return cast(LiftedWorkload, workload)


def op_errors_as_input_errors(
    program: str,
    cause: Callable[[], BaseException | None] = lambda: None,
    made_up_scalars: Collection[str] = (),
) -> ContextManager[None]:
    """Makes a context that raises an error of an op as an `OpFailed`: a graph may need what machine or data lack.

    What the user's own data function raises is a `UserError`.

    Args:
      program: the program that runs, for the message.
      cause: returns what the ops' input failed with, if it did.
      made_up_scalars: names of scalar inputs whose values are made up, for the message.

    Returns:
      the context manager.
    """
    return _OpErrors(program, cause, made_up_scalars)


class _OpErrors(ContextManager[None]):
    """See `op_errors_as_input_errors`."""

    def __init__(
        self, program: str, cause: Callable[[], BaseException | None], made_up_scalars: Collection[str]
    ) -> None:
        self._program, self._cause, self._made_up_scalars = program, cause, made_up_scalars

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if not isinstance(error, tf.errors.OpError):
            return
        known = user_code.reported_error(error) or self._cause()
        if known is not None:
            raise known from error
        reason = user_code.message_line(str(error.message))
        if "NHWC" in reason:
            reason += "; lift the graph with --layout=NHWC"
        elif is_about_sizes(reason):
            reason += (
                "; where made-up inputs do not fit each other, lift with --data, which takes their sizes from yours"
            )
        if self._made_up_scalars:
            reason += f"; made up: {', '.join(self._made_up_scalars)}; give the program's values by --settings"
        raise OpFailed(f"--workload: {self._program} does not run here with these data: {reason}") from error
