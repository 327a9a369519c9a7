"""Style "standalone": one file that imports TensorFlow and numpy only: model, update, MirroredStrategy, checkpoints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from legacy.source.basics.forward import example_sizes
from legacy.source.basics.rendering import WIDTH, literal_text
from legacy.source.lines.functions import constant_line, function_lines
from legacy.source.standalone_text import CLIPS, MAIN, NOISE, SCOPE, SEED, TRAINER
from legacy.source.workload_style import constant_lines, model_lines
from workloads import optimizers
from workloads.lifted.workload import DEFAULT_BATCH
from workloads.numerics.statistics import FIRST_TOWER, LAST_TOWER, TOWERS_IN_TURN

if TYPE_CHECKING:
    from legacy.source.training_step import TrainingStep
    from workloads.lifted.plan import Plan
    from workloads.optimizers import Optimizer

#: Initializers of `workloads.initializers` in TensorFlow's own words.
_INITIALIZERS = {"initializers.Constant(": "constant(", "initializers.TruncatedNormal(": "truncated_normal(stddev="}
_NAMED = {
    "constant": "constant = tf.compat.v1.constant_initializer",
    "truncated_normal": "truncated_normal = tf.compat.v1.truncated_normal_initializer",
    "ZEROS": "ZEROS = tf.compat.v1.zeros_initializer()",
    "ONES": "ONES = tf.compat.v1.ones_initializer()",
}
#: The longest text of the update in one line.
MOST_UPDATE = 108


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
    size = plan.towers * (plan.batch or DEFAULT_BATCH)
    constants.append(constant_line("GLOBAL_BATCH", size, "of all replicas together, unless --batch says otherwise"))
    constants.append(constant_line("TOWERS", plan.towers, "replicas, unless --replicas says otherwise"))
    constants += ["INPUTS = {", *_inputs(step), "}"]
    constants += ["SLOTS = " + _slots_text(plan, step)] if optimizer_of(step).slots() else []
    constants.append(f"STEP = {literal_text(_counter(plan))}")
    optimizer = optimizer_of(step)
    constants += [f"ACCUMULATORS = {_texts(_accumulators(plan, optimizer))}"] if optimizer.accumulators() else []
    text = '"""' + "\n".join([*docstring, '"""', "", "import argparse", "", *_IMPORTS, "", *constants])
    text += "\n\n\n" + model + "\n\n\n"
    text += "\n".join(_learning_rate_lines(step)) + "\n\n\n" + _scope_text(model) + "\n\n"
    return text + _trainer(plan, step, optimizer) + "\n\n" + MAIN


def _scope_text(model: str) -> str:
    """Returns the text of the scope, with the functions for random numbers that the model calls."""
    drawn = [text for name, text in NOISE.items() if f"scope.{name}(" in model]
    return SCOPE.rstrip("\n") + "\n" + "".join(drawn) + (SEED if drawn else "")


def optimizer_of(step: TrainingStep) -> Optimizer:
    """Returns the optimizer of a step, with its constants."""
    constants = {n: float(str(v)) if isinstance(v, np.floating) else v for n, v in step.rule.constants.items()}
    found: Optimizer = getattr(optimizers, step.rule.name)(**constants)
    return found


def _inputs(step: TrainingStep) -> List[str]:
    """Returns the lines of {input: (shape of one example, dtype, numbers below)}."""
    lines = []
    for name, entry in step.model.inputs.items():
        shape = literal_text(tuple(example_sizes(entry)))
        dtype = "tf.float32" if entry.dtype.startswith("float") else "tf.int32"
        below = entry.limit or 2
        lines.append(f"    {literal_text(name)}: ({shape}, {dtype}, {1 if dtype == 'tf.float32' else below}),")
    return lines


def _slots_text(plan: Plan, step: TrainingStep) -> str:
    """Returns {slot's suffix in the old checkpoint: value to start from}, in the order of the optimizer's slots."""
    optimizer = optimizer_of(step)
    suffixes: List[str] = []
    for effect in plan.phases[0].effects:
        if len(effect.writes) > 1 and len(effect.writes) - 1 == len(optimizer.slots()):
            weight = effect.writes[0]
            suffixes = [slot[len(weight) + 1 :] for slot in effect.writes[1:] if slot.startswith(weight + "/")]
            break
    return _texts(dict(zip(suffixes, optimizer.slots().values())))


def _texts(values: Dict[str, float]) -> str:
    return "{" + ", ".join(f"{literal_text(key)}: {literal_text(value)}" for key, value in values.items()) + "}"


def _learning_rate_lines(step: TrainingStep) -> List[str]:
    rate = step.learning_rate
    doc = "Returns the learning rate of a step, which is an int64 scalar."
    if rate.recovery is not None:
        return function_lines("learning_rate(step)", doc, rate.statements, rate.recovery.shape, {})
    if rate.fed:
        constant = next(name for name, source in step.model.settings.items() if source == rate.fed)
        result = f"tf.constant({constant}, tf.float32)"
    else:
        result = _schedule(rate.text)
    lines = [f"    return {result}"]
    if len(lines[0]) > WIDTH:
        function, _, arguments = result.partition("(")
        lines = [f"    return {function}(", f"        {arguments[:-1]}", "    )"]
    return ["def learning_rate(step):", f'    """{doc}"""', *lines]


def _schedule(text: str) -> str:
    """Returns a schedule of `workloads.schedules` in TensorFlow's own words.

    >>> _schedule("schedules.ExponentialDecay(0.1, 6, 0.5, staircase=True)")
    'tf.compat.v1.train.exponential_decay(0.1, step, 6, 0.5, staircase=True)'
    >>> _schedule("schedules.Fixed(0.1)")
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


def _counter(plan: Plan) -> str:
    """Returns the name of the variable that counts steps."""
    counts = [
        effect.writes[0] for effect in plan.phases[0].effects if effect.op in ("AssignAdd", "AssignAddVariableOp")
    ]
    integers = {variable.name for variable in plan.variables if variable.dtype in ("int32", "int64")}
    return next((name for name in counts if name in integers), "global_step")


def _accumulators(plan: Plan, optimizer: Optimizer) -> Dict[str, float]:
    """Returns {name in the old graph: value to start from} of the optimizer's accumulators."""
    found = {}
    for name, start in optimizer.accumulators().items():
        alike = [v.name for v in plan.variables if v.role == "slot" and re.search(rf"(^|/){name}(_\d+)?$", v.name)]
        found[alike[0] if alike else name] = start
    return found


def _trainer(plan: Plan, step: TrainingStep, optimizer: Optimizer) -> str:
    """Returns the text of the class that trains."""
    kernel = optimizer.kernel()
    tower, combined = _clip(step, "tower"), _clip(step, "combined")
    slots = [f"{argument}=slots[{number}].handle" for number, argument in enumerate(kernel.slots.values())]
    statistics = step.model.statistics
    old = list(_accumulators(plan, optimizer))
    powers = [f'{argument}=local["{name}"].read_value()' for name, argument in zip(old, kernel.powers.values())]
    constants = [f"{argument}={literal_text(np.float32(value))}" for argument, value in kernel.constants.items()]
    attributes = [f"{argument}={literal_text(value)}" for argument, value in kernel.attributes.items()]
    rest = "".join(f", {text}" for text in [*slots, *powers, *constants, *attributes])
    update = f"tf.raw_ops.{kernel.op}(var=weight.handle, {kernel.learning_rate}=rate, {kernel.gradient}=gradient{rest})"
    if len(update) > MOST_UPDATE:
        inner = update[len(f"tf.raw_ops.{kernel.op}(") : -1].replace(", ", ",\n                ")
        update = f"tf.raw_ops.{kernel.op}(\n                {inner},\n            )"
    return TRAINER.format(
        reduce=step.combine.upper(),
        clip_tower=tower,
        clip_combined=combined,
        update=update,
        take=_TAKE_SLOTS if kernel.slots else "weight = local[name]",
        make_slots=_MAKE_SLOTS if kernel.slots else "",
        accumulate=_ACCUMULATE if optimizer.accumulators() else "",
        make_accumulators=_MAKE_ACCUMULATORS if optimizer.accumulators() else "",
        average=_average(step),
        make_averages=_MAKE_AVERAGES if step.average is not None else "",
        update_statistics=_STATISTICS[statistics.policy] if any(statistics.proposals) else "",
    )


def _clip(step: TrainingStep, where: str) -> str:
    """Returns the line that clips gradients at a point, or nothing."""
    if step.clip is None or step.clip.where != where:
        return ""
    return CLIPS[step.clip.how].format(limit=literal_text(step.clip.limit))


#: {policy: the update of statistics}.
_STATISTICS = {
    FIRST_TOWER: """
        for name, value in scope.updates.items():  # the first replica's, as in the old program
            first = value if replica == 0 else tf.zeros_like(value)
            local[name].assign(context.all_reduce(tf.distribute.ReduceOp.SUM, first))""",
    LAST_TOWER: """
        for name, value in scope.updates.items():  # the last replica's, as in the old program
            last = value if replica == context.num_replicas_in_sync - 1 else tf.zeros_like(value)
            local[name].assign(context.all_reduce(tf.distribute.ReduceOp.SUM, last))""",
    TOWERS_IN_TURN: """
        for name, change in scope.updates.items():  # each replica changes it in turn, as in the old program
            value = values[name]
            for turn in range(context.num_replicas_in_sync):
                own = change(value) if replica == turn else tf.zeros_like(value)
                value = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
            local[name].assign(value)""",
}
_ACCUMULATE = """
        for name, base in ACCUMULATORS.items():
            local[name].assign(local[name] * base)"""
_TAKE_SLOTS = 'weight, slots = local[name], [local[f"{name}/{slot}"] for slot in SLOTS]'
_MAKE_SLOTS = """\
            for name in self.weights:
                for slot, start in SLOTS.items():
                    self._add(f"{name}/{slot}", tf.fill(self.variables[name].shape, start))
"""
_MAKE_ACCUMULATORS = """\
            for name, base in ACCUMULATORS.items():
                self._add(name, tf.constant(base))
"""
_MAKE_AVERAGES = """\
            for name in self.weights:
                self._add(name + "/ExponentialMovingAverage", self.variables[name].read_value())
"""
_IMPORTS = ["import numpy as np", "import tensorflow as tf"]


def _average(step: TrainingStep) -> str:
    """Returns the text that moves the averages on."""
    if step.average is None:
        return ""
    decay = f"tf.constant({literal_text(step.average.decay)})"
    lines = [""]
    if step.average.warm_up:
        count = "tf.cast(step + 1, tf.float32)" if step.average.counted else "tf.cast(step, tf.float32)"
        lines += [f"        count = {count}", f"        decay = tf.minimum({decay}, (1.0 + count) / (10.0 + count))"]
    else:
        lines.append(f"        decay = {decay}")
    lines += [
        "        for name in self.weights:",
        '            average = local[name + "/ExponentialMovingAverage"]',
        "            average.assign_sub((average - local[name]) * (1.0 - decay))",
    ]
    return "\n".join(lines)
