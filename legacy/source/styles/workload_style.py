"""Style "workload": a module with one `Workload`, which the commands of this project take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from legacy.source.basics.cut import example_sizes
from legacy.source.basics.rendering import literal_text
from legacy.source.functions.function_lines import constant_line, function_lines
from legacy.source.lines.line_breaks import WIDTH
from legacy.source.styles.model_text import model_lines
from workloads import initializers
from workloads.lifted.made_up_data import integer_limit
from workloads.numerics.statistics import FIRST_TOWER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.step.model import Model
    from legacy.source.step.training_step import TrainingStep
    from workloads.lifted.plan import Input, Plan

#: The class of a schedule that is a function of its own.
_SCHEDULE = [
    "@dataclasses.dataclass(frozen=True)",
    "class LearningRate(schedules.Schedule):",
    '    """The old program\'s schedule."""',
    "",
    "    def __call__(self, step, global_batch):",
    "        return learning_rate(step)",
]
#: Initializers that have a name in the text.
NAMED = {
    "ZEROS": "ZEROS = initializers.Constant(0.0)",
    "ONES": "ONES = initializers.Constant(1.0)",
}
#: The same as values.
NAMED_VALUES = {"ZEROS": initializers.Constant(0.0), "ONES": initializers.Constant(1.0)}


def constant_lines(model: Model, settings: Mapping[str, Any]) -> List[str]:
    """Returns the lines of the model's constants: scalars that were fed, and decays as float32 has them."""
    lines = [constant_line(name, value, "fed at every step in the old program") for name, value in settings.items()]
    rates = model.rates.items()
    return lines + [constant_line(n, value, f"1 - {literal_text(d)} in float32") for n, (value, d) in rates]


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
    body = _body(plan, step, settings)
    text = "\n".join(body)
    named = [line for name, line in NAMED.items() if re.search(rf"\b{name}\b", text)]
    constants = constant_lines(step.model, settings)
    body = [*named, "", *body] if named and constants else [*named, *body]
    text = "\n".join(body)
    lines = ['"""' + docstring[0], *docstring[1:], '"""', "", "from __future__ import annotations", ""]
    lines += ["import dataclasses", "from typing import Any", "", "import tensorflow as tf", ""]
    modules = [name for name in ("initializers", "optimizers", "schedules") if re.search(rf"\b{name}\.", text)]
    lines.append("from workloads import " + ", ".join(modules))
    names = [n for n in ("Clip", "InputSpec", "MovingAverage", "Workload") if re.search(rf"\b{n}\b", text)]
    lines += ["from workloads.workload import " + ", ".join(names), ""]
    while body and not body[0]:
        body = body[1:]
    lines += [] if constants or named else [""]
    return "\n".join(lines + body) + "\n"


def _body(plan: Plan, step: TrainingStep, settings: Dict[str, Any]) -> List[str]:
    model = step.model
    lines = constant_lines(model, settings)
    lines += ["", "", *model_lines(model), "", ""]
    rate = step.learning_rate
    if rate.fed:
        constant = next(name for name, source in model.settings.items() if source == rate.fed)
        rate_text = f"schedules.Fixed({constant})"
    elif rate.text:
        rate_text = rate.text
    else:
        assert rate.recovery is not None
        doc = "Returns the learning rate of a step."
        lines += function_lines("learning_rate(step)", doc, rate.statements, rate.recovery.shape, {})
        lines += ["", "", *_SCHEDULE, "", ""]
        rate_text = "LearningRate()"
    lines += ["@dataclasses.dataclass(frozen=True)", f"class {class_name(plan.name)}(Workload):"]
    lines += ['    """The old program\'s model and every choice that changes its mathematics."""', ""]
    lines += name_and_size_lines(plan)
    lines.append(f"    optimizer: Any = {step.rule.text()}")
    lines.append(f"    learning_rate: Any = {rate_text}")
    if step.combine != "mean":
        lines.append(f"    combine: str = {literal_text(step.combine)}")
    if step.model.statistics.policy != FIRST_TOWER:
        lines.append(f"    statistics: str = {literal_text(step.model.statistics.policy)}")
    if step.clip is not None:
        clip = step.clip
        lines.append(f'    clip: Any = Clip({literal_text(clip.limit)}, where="{clip.where}", how="{clip.how}")')
    if step.average is not None:
        warm = "" if step.average.warm_up else ", warm_up=False"
        lines.append(f"    moving_average: Any = MovingAverage({literal_text(step.average.decay)}{warm})")
    lines += ["", "    def inputs(self):", *inputs_lines(model.inputs, plan.batch), ""]
    lines += ["    def loss(self, scope, batch):", "        return tower_loss(scope, batch)", "", ""]
    lines.append(f"PORT = {class_name(plan.name)}()")
    return lines


def inputs_lines(inputs: Dict[str, Input], batch: int | None) -> List[str]:
    """Returns the body of the method `inputs`, of towers with `batch` examples; None of those that take any number."""
    items = [f"{literal_text(name)}: {spec_text(entry, batch)}" for name, entry in inputs.items()]
    line = "        return {" + ", ".join(items) + "}"
    if len(line) <= WIDTH:
        return [line]
    lines = [line for item in items for line in _item_lines(f"            {item},")]
    return ["        return {", *lines, "        }"]


def _item_lines(line: str) -> List[str]:
    """Returns the lines of an item of a dict, broken at the bracket of its call where one line is too short.

    >>> _item_lines(4 * " " + '"' + 80 * "x" + '": InputSpec((3,), "int", classes=2),')[1:]
    ['        (3,), "int", classes=2', '    ),']
    """
    opening, call, given = line.partition(": InputSpec(")
    indent = " " * (len(line) - len(line.lstrip()))
    return [line] if len(line) <= WIDTH else [opening + call, f"{indent}    {given[:-2]}", f"{indent}),"]


def spec_text(entry: Input, batch: int | None) -> str:
    """Returns the text of an input's `InputSpec`, of towers with `batch` examples; see `inputs_lines`."""
    shape = literal_text(tuple(example_sizes(entry, batch)))
    if entry.dtype.startswith("float"):
        return f"InputSpec({shape})"
    return f'InputSpec({shape}, "int", classes={integer_limit(entry)})'


def name_and_size_lines(plan: Plan) -> List[str]:
    """Returns the lines of a class's first fields: the workload's name, and its global batch."""
    any_size = "" if plan.batch or plan.usual_batch else "  # the old graph takes any number"
    return [
        f"    name: str = {literal_text(plan.name)}",
        f"    global_batch: int = {plan.usual_global_batch}{any_size}",
    ]


def class_name(name: str) -> str:
    """Returns a class's name for a program.

    >>> class_name("a_split_sgd"), class_name("model.ckpt-1000")
    ('ASplitSgd', 'ModelCkpt1000')
    """
    words = re.findall(r"[A-Za-z0-9]+", name)
    text = "".join(word[0].upper() + word[1:] for word in words) or "Port"
    return "Port" + text if text[0].isdigit() else text
