"""Parts of standalone programs that follow from their models: constants and inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, List, Mapping, Sequence

from legacy.source.basics.cut import example_sizes
from legacy.source.basics.rendering import literal_text
from legacy.source.lines.line_breaks import WIDTH
from legacy.source.standalone.scope import leaves_initializers_out
from legacy.source.styles.workload_style import constant_lines

if TYPE_CHECKING:
    from legacy.source.step.model import Model
    from workloads.lifted.plan import Plan

#: Initializers of `workloads.initializers` in TensorFlow's own words.
_INITIALIZERS = {
    "initializers.Constant(": "constant(",
    "initializers.Normal(": "normal(stddev=",
    "initializers.Orthogonal(": "orthogonal(",
    "initializers.TruncatedNormal(": "truncated_normal(stddev=",
    "initializers.Uniform(": "uniform(",
    "initializers.VarianceScaling(": "variance_scaling(",
}
_NAMED = {
    "constant": "constant = tf.compat.v1.constant_initializer",
    "normal": "normal = tf.compat.v1.random_normal_initializer",
    "orthogonal": "orthogonal = tf.compat.v1.orthogonal_initializer",
    "truncated_normal": "truncated_normal = tf.compat.v1.truncated_normal_initializer",
    "uniform": "uniform = tf.compat.v1.random_uniform_initializer",
    "variance_scaling": "variance_scaling = tf.compat.v1.variance_scaling_initializer",
    "ZEROS": "ZEROS = tf.compat.v1.zeros_initializer()",
    "ONES": "ONES = tf.compat.v1.ones_initializer()",
}
_GLOROT = "GLOROT = tf.compat.v1.glorot_uniform_initializer()"


def in_tensorflows_words(lines: Sequence[str]) -> str:
    """Returns the text of a model's functions with TensorFlow's initializers in place of this project's."""
    text = "\n".join(lines)
    for old, new in _INITIALIZERS.items():
        text = text.replace(old, new)
    return text


def constants_of(
    plan: Plan, models: Sequence[Model], settings: Mapping[str, Any], text: str, any_number: bool
) -> List[str]:
    """Returns the lines of a program's constants, up to its inputs.

    Args:
      plan: of the lift.
      models: of its train ops.
      settings: {constant: value} of the scalars that were fed.
      text: of the models' functions.
      any_number: whether the program runs on any number of replicas.

    Returns:
      The lines.
    """
    lines = list(dict.fromkeys(line for model in models for line in constant_lines(model, settings)))
    lines += [line for name, line in _NAMED.items() if re.search(rf"(?<![\w.]){name}\b", text)]
    lines += [_GLOROT] if any(map(leaves_initializers_out, models)) else []
    comment = "examples of all replicas" + (" together" if plan.batch or plan.usual_batch else ", any number fits")
    comment += "; replicas"
    comment += ", unless --replicas says otherwise" if any_number else ""
    lines.append(f"GLOBAL_BATCH, TOWERS = {plan.usual_global_batch}, {plan.towers}  # {comment}")
    return lines + _inputs_lines(models[0], plan.batch)


def _inputs_lines(model: Model, batch: int | None) -> List[str]:
    """Returns the lines of {input: (shape of one example, dtype)}, of towers with `batch` examples, if it is known."""
    items = []
    for name, entry in model.inputs.items():
        dtype = "tf.float32" if entry.dtype.startswith("float") else "tf.int32"
        items.append(f"{literal_text(name)}: ({literal_text(tuple(example_sizes(entry, batch)))}, {dtype})")
    line = "INPUTS = {" + ", ".join(items) + "}"
    comment = "  # shape and dtype of one example"
    if len(line + comment) <= WIDTH:
        return [line + comment]
    return ["INPUTS = {" + comment, *(f"    {item}," for item in items), "}"]
