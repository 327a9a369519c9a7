"""Style "standalone": one file that imports TensorFlow and numpy only: model, update, MirroredStrategy, checkpoints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from legacy.source.basics.cut import example_sizes
from legacy.source.basics.expressions import Variable, leaves
from legacy.source.basics.rendering import WIDTH, literal_text
from legacy.source.lines.functions import function_lines
from legacy.source.standalone.optimizer_text import (
    accumulators_of,
    counter_of,
    optimizer_of,
    rate_text,
    slots_text,
    texts,
    update_text,
)
from legacy.source.standalone.text import (
    CLIPS,
    DEFAULT_INITIALIZER,
    MAIN,
    NOISE,
    RESTORE,
    RESTORE_UNCOUNTED,
    SCOPE,
    SCOPE_WITH_UPDATES,
    SEED,
    TRAINER,
)
from legacy.source.workload_style import all_statements, constant_lines, model_lines
from workloads.lifted.workload import DEFAULT_BATCH
from workloads.numerics.statistics import FIRST_TOWER, LAST_TOWER, TOWERS_IN_TURN

if TYPE_CHECKING:
    from legacy.source.training_step import TrainingStep
    from workloads.lifted.plan import Plan

#: Initializers of `workloads.initializers` in TensorFlow's own words.
_INITIALIZERS = {"initializers.Constant(": "constant(", "initializers.TruncatedNormal(": "truncated_normal(stddev="}
_NAMED = {
    "constant": "constant = tf.compat.v1.constant_initializer",
    "truncated_normal": "truncated_normal = tf.compat.v1.truncated_normal_initializer",
    "ZEROS": "ZEROS = tf.compat.v1.zeros_initializer()",
    "ONES": "ONES = tf.compat.v1.ones_initializer()",
}
_GLOROT = "GLOROT = tf.compat.v1.glorot_uniform_initializer()"


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
    model = "\n".join(model_lines(step.model))
    for old, new in _INITIALIZERS.items():
        model = model.replace(old, new)
    constants = constant_lines(step.model, settings)
    constants += [line for name, line in _NAMED.items() if re.search(rf"(?<![\w.]){name}\b", model)]
    constants += [_GLOROT] if _leaves_initializers_out(step) else []
    size = plan.towers * (plan.batch or DEFAULT_BATCH)
    comment = "examples of all replicas together; replicas, unless --replicas says otherwise"
    constants.append(f"GLOBAL_BATCH, TOWERS = {size}, {plan.towers}  # {comment}")
    constants += _inputs_lines(step)
    optimizer = optimizer_of(step)
    constants += ["SLOTS = " + slots_text(plan, step)] if optimizer.slots() else []
    constants.append(f"STEP = {literal_text(counter_of(plan) or 'global_step')}")
    constants += [f"ACCUMULATORS = {texts(accumulators_of(plan, optimizer))}"] if optimizer.accumulators() else []
    text = '"""' + "\n".join([*docstring, '"""', "", "import argparse", "", *_IMPORTS, "", *constants])
    parts = [model, *_learning_rate_function(step), _scope_text(step, model), _trainer(plan, step, model), MAIN]
    return text + "".join("\n\n\n" + part.rstrip("\n") for part in parts) + "\n"


def _scope_text(step: TrainingStep, model: str) -> str:
    """Returns the text of the scope, with the functions that the model calls."""
    drawn = [text for name, text in NOISE.items() if f"scope.{name}(" in model]
    scope = SCOPE_WITH_UPDATES if any(step.model.statistics.proposals) else SCOPE
    scope = scope.replace(*DEFAULT_INITIALIZER) if _leaves_initializers_out(step) else scope
    return scope + "".join(drawn) + (SEED if drawn else "")


def _leaves_initializers_out(step: TrainingStep) -> bool:
    """Returns whether the model asks for a variable without saying how it starts."""
    asked = [leaf for statement in all_statements(step.model) for leaf in leaves(statement.expression)]
    return any(isinstance(leaf, Variable) and not leaf.initializer for leaf in asked)


def _inputs_lines(step: TrainingStep) -> List[str]:
    """Returns the lines of {input: (shape of one example, dtype)}."""
    items = []
    for name, entry in step.model.inputs.items():
        dtype = "tf.float32" if entry.dtype.startswith("float") else "tf.int32"
        items.append(f"{literal_text(name)}: ({literal_text(tuple(example_sizes(entry)))}, {dtype})")
    line = "INPUTS = {" + ", ".join(items) + "}"
    comment = "  # shape and dtype of one example"
    if len(line + comment) <= WIDTH:
        return [line + comment]
    return ["INPUTS = {" + comment, *(f"    {item}," for item in items), "}"]


def _learning_rate_function(step: TrainingStep) -> List[str]:
    """Returns the text of the schedule as a function, unless it is one expression."""
    rate = step.learning_rate
    if rate.recovery is None:
        return []
    doc = "Returns the learning rate of a step, which is an int64 scalar."
    return ["\n".join(function_lines("learning_rate(step)", doc, rate.statements, rate.recovery.shape, {}))]


def _trainer(plan: Plan, step: TrainingStep, model: str) -> str:
    """Returns the text of the class that trains."""
    optimizer, statistics = optimizer_of(step), step.model.statistics
    makers = [_MAKE_SLOTS] if optimizer.slots() else []
    makers += [_MAKE_ACCUMULATORS] if optimizer.accumulators() else []
    makers += [_MAKE_AVERAGES] if step.average is not None else []
    loss = ["loss = tower_loss(Scope(values, step, replica), batch)"]
    if any(statistics.proposals):
        loss = ["scope = Scope(values, step, replica)", "loss = tower_loss(scope, batch)"]
    gradients = ["gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]"] if _has_rows(model) else []
    gradients += _clip(step, "tower")
    gradients.append(f"gradients = context.all_reduce(tf.distribute.ReduceOp.{step.combine.upper()}, gradients)")
    gradients += _clip(step, "combined")
    after = _ACCUMULATE if optimizer.accumulators() else ""
    after += _STATISTICS[statistics.policy] if any(statistics.proposals) else ""
    return TRAINER.format(
        make_others="".join(makers),
        restore=RESTORE if counter_of(plan) else RESTORE_UNCOUNTED,
        rate=rate_text(step),
        loss="\n".join(_INSIDE + line for line in loss),
        gradients="\n".join(_INSIDE + line for line in gradients),
        update=update_text(plan, optimizer),
        after=after + "".join(_INSIDE + line + "\n" for line in _average(step)),
    )


def _has_rows(model: str) -> bool:
    """Returns whether the model looks up rows, whose gradients are sparse."""
    return any(f"tf.{name}(" in model for name in ("nn.embedding_lookup", "gather", "gather_nd"))


def _clip(step: TrainingStep, where: str) -> List[str]:
    """Returns the line that clips gradients at a point, or nothing."""
    if step.clip is None or step.clip.where != where:
        return []
    return [CLIPS[step.clip.how].format(limit=literal_text(step.clip.limit))]


def _average(step: TrainingStep) -> List[str]:
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
        '    average = local[name + "/ExponentialMovingAverage"]',
        "    average.assign_sub((average - local[name]) * (1.0 - decay))",
    ]


#: Begins a line of the step.
_INSIDE = " " * 8
#: {policy: the update of statistics}.
_STATISTICS = {
    FIRST_TOWER: """\
        for name, value in scope.updates.items():  # the first replica's, as in the old program
            first = value if replica == 0 else tf.zeros_like(value)
            local[name].assign(context.all_reduce(tf.distribute.ReduceOp.SUM, first))
""",
    LAST_TOWER: """\
        for name, value in scope.updates.items():  # the last replica's, as in the old program
            last = value if replica == context.num_replicas_in_sync - 1 else tf.zeros_like(value)
            local[name].assign(context.all_reduce(tf.distribute.ReduceOp.SUM, last))
""",
    TOWERS_IN_TURN: """\
        for name, change in scope.updates.items():  # each replica changes it in turn, as in the old program
            value = values[name]
            for turn in range(context.num_replicas_in_sync):
                own = change(value) if replica == turn else tf.zeros_like(value)
                value = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
            local[name].assign(value)
""",
}
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
                self.variables[name + "/ExponentialMovingAverage"] = tf.Variable(self.variables[name], trainable=False)
"""
_IMPORTS = ["import numpy as np", "import tensorflow as tf"]
