"""Style "standalone": one file that imports TensorFlow and numpy only: model, update, MirroredStrategy, checkpoints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from legacy.source.basics.rendering import literal_text
from legacy.source.functions.function_lines import function_lines
from legacy.source.replica_step.lines import clip_lines, dict_text, has_rows, statistics_text
from legacy.source.replica_step.reduced import reduced_lines
from legacy.source.replica_step.tables import table_lines, variables_of_whole_numbers
from legacy.source.replica_step.variable_names import name_of_averages
from legacy.source.standalone.optimizer_text import (
    accumulators_of,
    optimizer_of,
    rate_text,
    slots_text,
    update_text,
    with_scope_of_slots,
)
from legacy.source.standalone.parts import constants_of, in_tensorflows_words
from legacy.source.standalone.scope import ScopeText, scope_of
from legacy.source.standalone.text import MAIN, trainer_text
from legacy.source.standalone.update_text import MAKE_OTHERS
from legacy.source.styles.model_text import model_lines
from workloads.lifted.averaging import RECIPROCAL

if TYPE_CHECKING:
    from legacy.source.step.training_step import TrainingStep
    from workloads.lifted.plan import Plan


def module_text(plan: Plan, step: TrainingStep, docstring: Sequence[str], settings: Dict[str, Any]) -> str:
    """Returns the text of the module.

    Args:
      plan: of the lift.
      step: the training step.
      docstring: lines of the module's docstring.
      settings: {constant: value} of the scalars that were fed.

    Returns:
      The text.
    """
    model = in_tensorflows_words(model_lines(step.model))
    constants = constants_of(plan, [step.model], settings, model, any_number=True)
    optimizer = optimizer_of(step)
    constants += ["SLOTS = " + slots_text(plan, step)] if optimizer.slots() else []
    constants.append(f"STEP = {literal_text(step.counter or 'global_step')}")
    others = variables_of_whole_numbers(plan, step.model)
    constants += table_lines("OTHERS", others, "shape, first value and dtype of whole numbers") if others else []
    constants += [f"ACCUMULATORS = {dict_text(accumulators_of(plan, optimizer))}"] if optimizer.accumulators() else []
    text = '"""' + "\n".join([*docstring, '"""', "", "import argparse", "", *_IMPORTS, "", *constants])
    scope = scope_of([step.model], model)
    parts = [model, *_learning_rate_function(step), scope.text, _trainer(plan, step, model, scope), MAIN]
    return text + "".join("\n\n\n" + part.rstrip("\n") for part in parts) + "\n"


def _learning_rate_function(step: TrainingStep) -> List[str]:
    """Returns the text of the schedule as a function, unless it is one expression."""
    rate = step.learning_rate
    if rate.recovery is None:
        return []
    doc = "Returns the learning rate of a step, which is an int64 scalar."
    return ["\n".join(function_lines("learning_rate(step)", doc, rate.statements, rate.recovery.shape, {}))]


def _trainer(plan: Plan, step: TrainingStep, model: str, scope: ScopeText) -> str:
    """Returns the text of the class that trains."""
    optimizer, statistics = optimizer_of(step), step.model.statistics
    makers = [with_scope_of_slots(_MAKE_SLOTS, plan, step)] if optimizer.slots() else []
    makers += [_MAKE_ACCUMULATORS] if optimizer.accumulators() else []
    makers += [_MAKE_AVERAGES.format(name_of_averages(plan).text)] if step.average is not None else []
    loss = [f"loss = tower_loss({scope.of_values('step')}, batch)"]
    if any(statistics.proposals):
        loss = [f"scope = {scope.of_values('step')}", "loss = tower_loss(scope, batch)"]
    gradients = ["gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]"] if has_rows(model) else []
    gradients += _clip(step, "tower")
    gradients += _all_reduce(step)
    gradients += _clip(step, "combined")
    after = _ACCUMULATE if optimizer.accumulators() else ""
    after += statistics_text(step.model)
    dtype = next((variable.dtype for variable in plan.variables if variable.name == step.counter), "int64")
    average = _average(plan, step)
    uses_step = any(re.search(r"\bstep\b", line) for line in [rate_text(step), *loss, *average])
    update = _UPDATE.format(
        step=_STEP.format("values[STEP]" if dtype == "int64" else "tf.cast(values[STEP], tf.int64)")
        if uses_step
        else "",
        rate=rate_text(step),
        loss="\n".join(_INSIDE + line for line in loss),
        gradients="\n".join(_INSIDE + line for line in gradients),
        update=with_scope_of_slots(update_text(plan, optimizer), plan, step),
        after=after + "".join(_INSIDE + line + "\n" for line in average),
    )
    first = MAKE_OTHERS if variables_of_whole_numbers(plan, step.model) else ""
    make = first + _MAKE.format(first_pass=scope.first_pass("tower_loss"), others="".join(makers), dtype=dtype)
    return trainer_text(make, update, bool(step.counter))


def _all_reduce(step: TrainingStep) -> List[str]:
    """Returns the lines that combine the replicas' gradients."""
    return reduced_lines("gradients", step.combine, step.form == RECIPROCAL)


def _clip(step: TrainingStep, where: str) -> List[str]:
    """Returns the line that clips gradients at a point, or nothing."""
    return clip_lines(step.clip if step.clip is not None and step.clip.where == where else None)


def _average(plan: Plan, step: TrainingStep) -> List[str]:
    """Returns the lines that move the averages on."""
    if step.average is None:
        return []
    decay = f"tf.constant({literal_text(step.average.decay)})"
    lines = [f"decay = {decay}"]
    if step.average.warm_up:
        count = "tf.cast(step + 1, tf.float32)" if step.average.counted else "tf.cast(step, tf.float32)"
        lines = [f"count = {count}", f"decay = tf.minimum({decay}, (1.0 + count) / (10.0 + count))"]
    return [
        *lines,
        "for name in self.weights:",
        f"    average = local[{name_of_averages(plan).text}]",
        "    average.assign_sub((average - local[name]) * (1.0 - decay))",
    ]


#: Begins a line of the step.
_INSIDE = " " * 8
_MAKE = """\
            {first_pass}
            self.weights = [name for name, variable in self.variables.items() if variable.trainable]
{others}            self.variables[STEP] = tf.Variable(0, dtype=tf.{dtype}, trainable=False)
"""
_STEP = "        step = {}\n"
_UPDATE = """\
{step}        rate = {rate}
{loss}
        gradients = tf.gradients(loss, [values[name] for name in self.weights], unconnected_gradients="zero")
{gradients}
        for name, gradient in zip(self.weights, gradients):  # with the kernel of 1.x's optimizer
            {update}
{after}        local[STEP].assign_add(1)
"""
_ACCUMULATE = """\
        for name, base in ACCUMULATORS.items():
            local[name].assign(local[name] * base)
"""
_MAKE_SLOTS = """\
            for name in self.weights:
                for slot, start in SLOTS.items():
                    value = tf.fill(self.variables[name].shape, start)
                    self.variables[f"{name}/{slot}"] = tf.Variable(value, trainable=False)
"""
_MAKE_ACCUMULATORS = """\
            for name, base in ACCUMULATORS.items():
                self.variables[name] = tf.Variable(base, trainable=False)
"""
_MAKE_AVERAGES = """\
            for name in self.weights:
                self.variables[{}] = tf.Variable(self.variables[name], trainable=False)
"""
_IMPORTS = ["import numpy as np", "import tensorflow as tf"]
