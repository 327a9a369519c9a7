"""Sentences on updates of rows by optimizers that do not add up the rows of an index which a batch has several times.

`tf.train`'s optimizers since TensorFlow 1.0 sum the rows of equal indices before they square them. Those of 0.12 do
not: two rows a and b of one index add a^2 + b^2 to a second moment, and not (a + b)^2. A port's optimizer may do
either; see `SPARSE_DUPLICATES` in docs/causes.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Effect, Phase
from workloads.support.wording import SEVERAL, listed

#: Update rules whose result is the same for rows one by one and for their sum.
_LINEAR_RULES = ("ProximalGradientDescent", "GradientDescent")


def repeated_row_sentences(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence on the variables whose slots count repeated rows one by one.

    Args:
      analysed: the training step.
      phase: the train op.
    """
    changed = [effect for effect in phase.effects if _squares_each_row(analysed, effect)]
    changed = [effect for effect in changed if _may_repeat(analysed, effect)]
    if changed:
        slots = {variable.name: variable.of for variable in analysed.plan.variables}
        names = list(dict.fromkeys(slots.get(effect.writes[0]) or effect.writes[0] for effect in changed))
        ops = ", ".join(dict.fromkeys(effect.op for effect in changed))
        yield (
            f"{phase.train_op}: rows of {listed(names, SEVERAL)} that a batch looks up several times change the slots "
            f"one by one ({ops}), where tf.train's optimizers since TensorFlow 1.0 add up the rows of an index first"
        )


def _squares_each_row(analysed: AnalysedStep, effect: Effect) -> bool:
    """Whether an update of rows is no linear function of them: an optimizer's rule, or squares that are added."""
    if op_types.is_apply(effect.op):
        return op_types.is_sparse(effect.op) and op_types.rule_name(effect.op) not in _LINEAR_RULES
    is_added = op_types.is_sparse(effect.op) and effect.op.endswith(("Add", "Sub"))
    return is_added and bool(effect.values) and _is_square(analysed, parse_tensor_name(effect.values[-1]))


def _is_square(analysed: AnalysedStep, tensor: TensorId) -> bool:
    """Whether a tensor is the square of gradients, perhaps times a number."""
    graph, of_gradients = analysed.graph, analysed.context.of_gradients
    while True:
        name = graph.origin(tensor).node
        inputs = [graph.origin(each) for each in graph.inputs(name)]
        dependent = [each for each in inputs if each.node in of_gradients]
        if graph.type(name) == "Square" or (graph.type(name) == "Mul" and len(dependent) == len(inputs)):
            return len(set(dependent)) == 1
        if graph.type(name) != "Mul" or len(dependent) != 1:
            return False
        tensor = dependent[0]


def _may_repeat(analysed: AnalysedStep, effect: Effect) -> bool:
    """Whether nothing makes the indices of an update distinct."""
    tensors = [parse_tensor_name(value) for value in effect.values]
    indices = [tensor for tensor in tensors if analysed.imported.dtype(*tensor) in ("int32", "int64")]
    return len(indices) == 1 and analysed.graph.type(analysed.graph.origin(indices[0]).node) not in op_types.DISTINCT
