"""Weights that decay in their update: a multiple of the weight is a term of its gradient, or of its new value."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_gradient
from legacy.saved.hazards.basics.linear_weights import COPIES, SUMS
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that a ratio of norms, to which small numbers are added, is made of.
_OF_RATIOS = (*op_types.SCALINGS, *COPIES, "Squeeze", "Add", "AddV2", "Maximum")
_ASSIGNS = (*op_types.SETS, "AssignSub", "AssignSubVariableOp")


def decays_in_updates(whole: WholeGraph) -> dict[str, str]:
    """Returns {weight: product} of weights of which an author's op adds a multiple to the gradient or the new value."""
    found: dict[str, str] = {}
    for apply in whole.applies:
        variable = whole.variable_of(apply)
        change = applied_gradient(whole, apply)
        if not change and whole.graph.type(apply) in _ASSIGNS:
            change = whole.graph.inputs(apply)[1].node
        product = _multiple_of(whole, change, variable) if change and variable in whole.trainable else ""
        if variable and product:
            found.setdefault(variable, product)
    return found


def _multiple_of(whole: WholeGraph, change: str, variable: str | None) -> str:
    """The product of a variable and a number that a sum has for a term; "" if none does. Gradient ops are not entered.

    A product of its distance from another value, as of an elastic average, is none.
    """
    todo, seen = [(change, "")], {(change, "")}
    while todo:
        name, product = todo.pop()
        if product and variable_read(whole.graph, name) == variable:
            return product
        if is_gradient_op(name):
            continue
        kind = whole.graph.type(name)
        product = name if kind in op_types.SCALINGS else product if kind in (*COPIES, *op_types.SETS) else ""
        new = {(before, product) for before in _terms(whole, name)} - seen
        seen |= new
        todo += sorted(new)
    return ""


def _terms(whole: WholeGraph, name: str) -> list[str]:
    """The inputs that a node is a sum or copy of, or a product of with what depends on no data and no weight."""
    kind, inputs = whole.graph.type(name), [tensor.node for tensor in whole.graph.inputs(name)]
    if kind in COPIES:
        return inputs[:1]
    if kind in op_types.SETS:
        return inputs[1:2]  # the value that it hands on, as of a momentum
    if kind in (*SUMS, "Neg"):
        return inputs
    if kind == "Mean":
        return inputs[:1]
    if kind not in op_types.SCALINGS or len(inputs) != 2:
        return []
    factors = [before for before in inputs if not _is_number(whole, before)]
    return factors if len(factors) == 1 and (kind == "Mul" or factors == inputs[:1]) else []


def _is_number(whole: WholeGraph, name: str) -> bool:
    """Whether a node depends on no data and no weight, as a rate of decay times a learning rate does.

    So it is, for what a term is, of a quotient of two norms, by which LARS and LAMB multiply an update.
    """
    return _is_given(whole, name) or _is_ratio_of_norms(whole, name)


def _is_given(whole: WholeGraph, name: str) -> bool:
    return not whole.graph.ancestors([name], controls=False) & (whole.data | whole.trainable)


def _is_ratio_of_norms(whole: WholeGraph, name: str) -> bool:
    """Whether a node is one norm over another, perhaps times a learning rate, or 1 where one of them is 0."""
    graph, todo, is_quotient, norms = whole.graph, [name], False, 0
    while todo:
        node = todo.pop()
        kind, inputs = graph.type(node), [tensor.node for tensor in graph.inputs(node)]
        if kind == "Sqrt":
            inner = graph.origin(graph.inputs(node)[0]).node
            norms += graph.type(inner) == "Sum"
            if graph.type(inner) != "Sum":
                return False
        elif kind in op_types.CHOICES:
            todo += inputs[1:]
        elif kind in _OF_RATIOS and inputs:
            is_quotient |= kind in op_types.QUOTIENTS
            todo += inputs[:1] if kind in COPIES or kind == "Squeeze" else inputs
        elif not _is_given(whole, node):
            return False
    return is_quotient and norms > 0
