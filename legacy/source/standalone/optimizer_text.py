"""Text of optimizer and schedule in a standalone program: the kernel of 1.x's optimizer, its slots and its rate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List

import numpy as np

from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.line_breaks import WIDTH
from legacy.source.replica_step.lines import dict_text
from legacy.source.replica_step.variable_names import NamedAfter, named_after
from workloads import optimizers

if TYPE_CHECKING:
    from legacy.source.step.training_step import TrainingStep
    from workloads.lifted.plan import Plan
    from workloads.optimizers import Optimizer

#: The longest text of the update in one line.
MOST_UPDATE = 108
_TAKE_SLOTS = 'slots = [local[f"{name}/{slot}"] for slot in SLOTS]\n            '


def optimizer_of(step: TrainingStep) -> Optimizer:
    """Returns the optimizer of a step, with its constants."""
    constants = {n: float(str(v)) if isinstance(v, np.floating) else v for n, v in step.rule.constants.items()}
    found: Optimizer = getattr(optimizers, step.rule.name)(**constants)
    return found


def slot_names(plan: Plan, step: TrainingStep) -> List[NamedAfter]:
    """Returns how the slots of a weight are named after it, in the order of the optimizer's slots.

    Raises:
      Unwritten: they are not named alike for all weights.
    """
    count = len(optimizer_of(step).slots())
    effects = [effect for effect in plan.phases[0].effects if effect.gradient is not None]
    updates = [effect.writes for effect in effects if len(effect.writes) == 1 + count > 1]
    slots = [named_after(slot, weight) for weight, *own in updates for slot in own]
    if slots[:count] * len(updates) != slots or len({slot.scope for slot in slots}) > 1:
        raise Unwritten(f"optimizer: the slots of {updates[0][0]!r} are not named as those of other weights")
    return slots[:count]


def slots_text(plan: Plan, step: TrainingStep) -> str:
    """Returns {slot's suffix in the old checkpoint: value to start from}, in the order of the optimizer's slots."""
    suffixes = [slot.ending[1:] for slot in slot_names(plan, step)]
    return dict_text(dict(zip(suffixes, optimizer_of(step).slots().values())))


def with_scope_of_slots(text: str, plan: Plan, step: TrainingStep) -> str:
    """Returns a text in which names of slots begin with the scope that the optimizer made them in.

    Args:
      text: with names of slots as `{name}/{slot}`.
      plan: of the lift.
      step: the training step.

    Returns:
      The text.
    """
    scopes = [slot.scope for slot in slot_names(plan, step)[:1]]
    return text.replace("{name}/{slot}", "".join(scopes) + "{name}/{slot}")


def rate_text(step: TrainingStep) -> str:
    """Returns the text of the learning rate at `step`."""
    rate = step.learning_rate
    if rate.recovery is not None:
        return "learning_rate(step)"
    if rate.fed:
        constant = next(name for name, source in step.model.settings.items() if source == rate.fed)
        return f"tf.constant({constant}, tf.float32)"
    text = schedule_text(rate.text)
    if len(text) + len("        rate = ") <= WIDTH:
        return text
    function, _, arguments = text.partition("(")
    return f"{function}(\n            {arguments[:-1]}\n        )"


def schedule_text(text: str) -> str:
    """Returns a schedule of `workloads.schedules` in TensorFlow's own words.

    >>> schedule_text("schedules.ExponentialDecay(0.1, 6, 0.5, staircase=True)")
    'tf.compat.v1.train.exponential_decay(0.1, step, 6, 0.5, staircase=True)'
    >>> schedule_text("schedules.Fixed(0.1)")
    'tf.constant(0.1, tf.float32)'
    """
    name, _, arguments = text[len("schedules.") :].partition("(")
    arguments = arguments[:-1]
    if name == "Fixed":
        return f"tf.constant({arguments}, tf.float32)"
    if name == "ExponentialDecay":
        rate, rest = arguments.split(", ", 1)
        return f"tf.compat.v1.train.exponential_decay({rate}, step, {rest})"
    boundaries, values = re.findall(r"\(.*?\)", arguments)
    listed = ", ".join(f"tf.constant({number}, tf.int64)" for number in boundaries.strip("(),").split(", "))
    return f"tf.compat.v1.train.piecewise_constant(step, [{listed}], [{values.strip('()')}])"


def accumulators_of(plan: Plan, optimizer: Optimizer) -> Dict[str, float]:
    """Returns {name in the old graph: value to start from} of the optimizer's accumulators."""
    found = {}
    for name, start in optimizer.accumulators().items():
        alike = [v.name for v in plan.variables if v.role == "slot" and re.search(rf"(^|/){name}(_\d+)?$", v.name)]
        found[alike[0] if alike else name] = start
    return found


def update_text(plan: Plan, optimizer: Optimizer) -> str:
    """Returns the text that updates one weight by the optimizer's kernel."""
    kernel = optimizer.kernel()
    slots = [f"{argument}=slots[{number}].handle" for number, argument in enumerate(kernel.slots.values())]
    old = list(accumulators_of(plan, optimizer))
    powers = [f'{argument}=values["{name}"]' for name, argument in zip(old, kernel.powers.values())]
    constants = [f"{argument}={literal_text(np.float32(value))}" for argument, value in kernel.constants.items()]
    attributes = [f"{argument}={literal_text(value)}" for argument, value in kernel.attributes.items()]
    arguments = ["var=local[name].handle", f"{kernel.learning_rate}=rate", f"{kernel.gradient}=gradient"]
    arguments += [*slots, *powers, *constants, *attributes]
    update = f"tf.raw_ops.{kernel.op}({', '.join(arguments)})"
    if len(update) > MOST_UPDATE:
        inner = ", ".join(arguments)
        separator = ",\n                " if len(inner) > MOST_UPDATE - 4 else ", "
        comma = "," if len(inner) > MOST_UPDATE - 4 else ""
        inner = separator.join(arguments) + comma
        update = f"tf.raw_ops.{kernel.op}(\n                {inner}\n            )"
    return _TAKE_SLOTS + update if kernel.slots else update
