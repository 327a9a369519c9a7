"""`OptimizerState`: an optimizer with its slots and the number of its steps, of a native job or of a lift."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from workloads.job import Job
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Effect
from workloads.lifted.workload import LiftedWorkload, as_lifted
from workloads.optimizers import Optimizer, known_optimizers
from workloads.program import Arrays, State
from workloads.support.errors import InputError

#: Steps after which the powers of Adam's constants are 0, so that their number makes no difference.
MANY = 10**6
#: A value that no constant of an optimizer has, to find the field that it comes from.
_MARK = 0.123


@dataclasses.dataclass(frozen=True)
class OptimizerState:
    """An optimizer's state.

    Attributes:
      optimizer: its description.
      slots: {weight: {slot: array}}, the slots in 1.x's names.
      iterations: number of steps that it has taken.
    """

    optimizer: Optimizer
    slots: Mapping[str, Arrays]
    iterations: int


def optimizer_state(job: Job, state: State) -> OptimizerState:
    """Returns the optimizer's state of a job.

    Raises:
      InputError: a lift's updates are not those of one known optimizer.
    """
    if job.workload.is_lifted:
        return _of_lift(as_lifted(job.workload), state)
    optimizer = job.workload.optimizer
    slots = {weight: {slot: state.slots[f"{weight}/{slot}"] for slot in optimizer.slots()} for weight in state.weights}
    return OptimizerState(optimizer, slots, state.step)


def _of_lift(workload: LiftedWorkload, state: State) -> OptimizerState:
    optimizer = optimizer_of_lift(workload, state.weights)
    effects = [effect for effect in workload.plan.phases[0].effects if effect.gradient]
    values = {**state.weights, **state.slots, **state.statistics, **state.averages}
    slots = {}
    for effect in effects:
        names = _arguments(effect)
        kernel = optimizer.kernel()
        slots[effect.writes[0]] = {slot: values[names[argument]] for slot, argument in kernel.slots.items()}
    return OptimizerState(optimizer, slots, _iterations(workload, effects[0], optimizer, state, values))


def optimizer_of_lift(workload: LiftedWorkload, weights: Collection[str]) -> Optimizer:
    """Returns the one optimizer that updates a lift's weights, with the constants of the old graph.

    Args:
      workload: the lift.
      weights: names of all its weights.

    Returns:
      the optimizer.

    Raises:
      InputError: the updates are not those of one known optimizer.
    """
    if len(workload.plan.phases) > 1:
        raise _refused(f"the lift runs {len(workload.plan.phases)} train ops in turn, a Keras model has one optimizer")
    effects = [effect for effect in workload.plan.phases[0].effects if effect.gradient]
    found = {effect.writes[0]: _optimizer_of_effect(workload, effect) for effect in effects}
    optimizers = set(found.values())
    if len(optimizers) != 1 or set(found) != set(weights):
        listed = ", ".join(sorted({effect.op for effect in effects})) or "none"
        raise _refused(f"the lift's updates ({listed}) are not those of one optimizer")
    return optimizers.pop()


def _optimizer_of_effect(workload: LiftedWorkload, effect: Effect) -> Optimizer:
    """Returns the optimizer whose update an op of the old graph is."""
    wanted = effect.op if effect.op.startswith("Resource") else "Resource" + effect.op
    kind = next((kind for kind in known_optimizers() if kind().kernel().op == wanted), None)
    if kind is None or effect.condition is not None:
        raise _refused(f"{effect.node} ({effect.op}) is no update of an optimizer that has a Keras class")
    given = _arguments(effect)
    kernel, node = kind().kernel(), workload.graph.nodes[effect.node]
    found = {name: _constant(workload.graph, given[name]) for name in kernel.constants}
    found.update((name, getattr(node.attr[name], "b", value)) for name, value in kernel.attributes.items())
    return kind(**{_field_of(kind, name): value for name, value in found.items()})


def _arguments(effect: Effect) -> dict[str, str]:
    """Returns {argument of the update's op: variable or tensor}."""
    name = effect.op if effect.op.startswith("Resource") else "Resource" + effect.op
    names = list(inspect.signature(getattr(tf.raw_ops, name)).parameters)
    return dict(zip(names, [*effect.writes, *effect.values]))


def _constant(graph: Graph, tensor: str) -> float:
    node = graph.nodes[graph.origin(parse_tensor_name(tensor)).node]
    if node.op != "Const":
        raise _refused(f"{tensor} of an update is computed, and not a constant")
    return float(str(tf.make_ndarray(node.attr["value"].tensor)[()]))  # 0.9 of the float32 number 0.899999976


def _field_of(kind: type[Optimizer], argument: str) -> str:
    """Returns the field of an optimizer that one of its op's arguments is made from."""
    for field in dataclasses.fields(kind):
        value: Any = _MARK if not isinstance(getattr(kind(), field.name), bool) else not getattr(kind(), field.name)
        kernel = dataclasses.replace(kind(), **{field.name: value}).kernel()
        if {**kernel.constants, **kernel.attributes}[argument] == value:
            return field.name
    raise _refused(f"{argument} of {kind.__name__} is no constant of its own")


def _iterations(workload: LiftedWorkload, effect: Effect, optimizer: Optimizer, state: State, values: Arrays) -> int:
    """Returns the number of steps, from the power of a constant that the old program keeps, if it does."""
    steps = [state.step]
    for power, argument in optimizer.kernel().powers.items():
        variable = workload.plan.aliases.get(_arguments(effect).get(argument, ""))
        base = optimizer.accumulators()[power]
        if variable is None:
            raise _refused(f"{power} of {effect.node} is no variable")
        value = float(values[variable])
        steps.append(round(math.log(value) / math.log(base)) - 1 if np.isfinite(value) and value > 0 else MANY)
    return steps[-1]


def _refused(reason: str) -> InputError:
    return InputError(f"--export_keras: {reason}")
