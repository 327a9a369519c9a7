"""`OptimizerState`: an optimizer with its slots and the number of its steps, of a native job or of a lift."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from workloads.job import Job
from workloads.lifted.optimizer import OtherUpdate, optimizer_of_lift, update_arguments
from workloads.lifted.plan import Effect
from workloads.lifted.workload import LiftedWorkload, as_lifted
from workloads.optimizers import Optimizer
from workloads.program import Arrays, State
from workloads.support.errors import InputError

#: Steps after which the powers of Adam's constants are 0, so that their number makes no difference.
MANY = 10**6


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
    try:
        optimizer = optimizer_of_lift(workload, state.weights)
    except OtherUpdate as error:
        raise InputError(f"--export_keras: {error}; a Keras model has one optimizer") from error
    effects = [effect for effect in workload.plan.phases[0].effects if effect.gradient]
    values = {**state.weights, **state.slots, **state.statistics, **state.averages}
    slots = {}
    for effect in effects:
        names = update_arguments(effect)
        kernel = optimizer.kernel()
        slots[effect.writes[0]] = {slot: values[names[argument]] for slot, argument in kernel.slots.items()}
    return OptimizerState(optimizer, slots, _iterations(workload, effects[0], optimizer, state, values))


def _iterations(workload: LiftedWorkload, effect: Effect, optimizer: Optimizer, state: State, values: Arrays) -> int:
    """Returns the number of steps, from the power of a constant that the old program keeps, if it does."""
    steps = [state.step]
    for power, argument in optimizer.kernel().powers.items():
        variable = workload.plan.aliases.get(update_arguments(effect).get(argument, ""))
        base = optimizer.accumulators()[power]
        if variable is None:
            raise InputError(f"--export_keras: {power} of {effect.node} is no variable")
        value = float(values[variable])
        steps.append(round(math.log(value) / math.log(base)) - 1 if np.isfinite(value) and value > 0 else MANY)
    return steps[-1]
