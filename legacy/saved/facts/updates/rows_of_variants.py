"""Updates of rows by AdaMax and Nadam, as `tf.contrib.opt` makes them of plain ops."""

from __future__ import annotations

from typing import NamedTuple

from legacy.saved.analysis import updates_by_hand
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.updates.rows_of_moments import Moments, decay_of_slot, variable_of_rows
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Effect, Phase


class RowRule(NamedTuple):
    """A rule by which rows are updated: its name, and its constants."""

    name: str
    constants: Moments


def variant_of_rows(analysed: AnalysedStep, phase: Phase, effect: Effect) -> RowRule | None:
    """Finds the rule of an update of rows by a variant of Adam.

    AdaMax adds `-lr / (1 - b1^t) * (m / (max(b2 * v, |g|) + epsilon))` to the rows, and Nadam
    `-lr * (b1 * m + (1 - b1) * g) / (sqrt(v) + epsilon)`.

    Args:
      analysed: the training step.
      phase: the train op.
      effect: an update.

    Returns:
      The rule; None for any other update.
    """
    graph = analysed.graph
    if not ("ScatterAdd" in effect.op or "ScatterSub" in effect.op) or not effect.values:
        return None
    change = graph.origin(parse_tensor_name(effect.values[-1]))
    factors = graph.inputs(change.node) if graph.type(change.node) == "Mul" else [change]
    quotients = [factor.node for factor in factors if graph.type(factor.node) in op_types.QUOTIENTS]
    if not quotients:
        return None
    first, divisor = graph.inputs(quotients[-1])
    root, epsilon = _with_number(analysed, divisor, op_types.ADDITIONS)
    slots = {v.name for v in analysed.plan.variables if v.role == "slot" and v.of == effect.writes[0]}
    if root is None or epsilon is None:
        return None
    if graph.type(root.node) == "Maximum" and len(factors) == 2:
        beta1 = _share(analysed, first, slots)
        second = next((own for own in graph.inputs(root.node) if graph.type(own.node) == "Mul"), None)
        beta2 = None if second is None else _kept(analysed, second, slots)
        is_larger = any(graph.type(own.node) == "Abs" for own in graph.inputs(root.node))
        name = "AdaMax" if is_larger else ""
    else:
        sums = [own for own in graph.inputs(first.node) if graph.type(first.node) == "Mul"]
        beta1 = next((share for share in (_share(analysed, own, slots) for own in sums) if share is not None), None)
        slot = variable_of_rows(analysed, graph.inputs(root.node)[0].node) if graph.type(root.node) == "Sqrt" else ""
        beta2 = decay_of_slot(analysed, phase, slot) if slot in slots else None
        name = "Nadam"
    return RowRule(name, Moments(beta1, beta2, epsilon)) if name and beta1 is not None and beta2 is not None else None


def _share(analysed: AnalysedStep, total: TensorId, slots: set[str]) -> float | None:
    """The number that multiplies rows of a slot in a sum of these and something else."""
    graph = analysed.graph
    terms = graph.inputs(total.node) if graph.type(total.node) in op_types.ADDITIONS else []
    found = [share for share in (_kept(analysed, term, slots) for term in terms) if share is not None]
    return found[0] if len(found) == 1 else None


def _kept(analysed: AnalysedStep, product: TensorId, slots: set[str]) -> float | None:
    """The number that multiplies rows of a slot; None of any other tensor."""
    rows, number = _with_number(analysed, product, ("Mul",))
    return number if rows is not None and variable_of_rows(analysed, rows.node) in slots else None


def _with_number(
    analysed: AnalysedStep, tensor: TensorId, kinds: tuple[str, ...]
) -> tuple[TensorId | None, float | None]:
    """(other operand, constant number) of an op of two operands; (None, None) of any other op.

    Args:
      analysed: the training step.
      tensor: the op's result.
      kinds: types of the op.
    """
    graph = analysed.graph
    operands = graph.inputs(tensor.node) if graph.type(tensor.node) in kinds else []
    if len(operands) == 2:
        for own, other in (operands, operands[::-1]):
            number = updates_by_hand.scalar(analysed.context, other)
            if number is not None:
                return own, number
    return None, None
