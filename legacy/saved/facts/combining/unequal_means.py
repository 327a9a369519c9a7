"""Sentences on means over each tower's own number of words or the like, which are averaged over the towers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.combining.loss_factors import factors_of_losses, may_be_their_own
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.lifted.reduction_factors import sums_to_mean

#: Relative difference within which a scale is one over the number of towers.
TOLERANCE = 1e-5
_COPIES = ("Identity", "Cast", "Switch", *op_types.VIEWS)
_GATHERS = (*op_types.GATHERS, "GatherNd")
#: Ops that compute the error of each row, and leave the rows as they are.
_ROW_BY_ROW = (
    *("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "Square", "Abs", "SquaredDifference"),
    *("Sub", "Mul", "Neg", "Minimum", "Maximum", "Exp", "Log", "Log1p", "Softplus", "Select", "SelectV2"),
    *op_types.ADDITIONS,
)


def unequal_mean_sentences(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence where each tower divides its loss by a number of its own data, and towers are averaged.

    One tower alone does so, too, where a port averages the replicas that share out its batch.

    So does a mean over rows that are chosen by the data, such as pixels with a label, but for one chosen of each
    example. The mean of the towers' means is then another number than the mean over the whole batch. A number that
    weights are in is none of data, such as a term of an overlap; nor is one that no tower computes, nor the number of
    class weights that are not 0, where none of the classes has 0.

    Args:
      analysed: the training step.
      phase: one of its train ops.
    """
    graph, averaged = analysed.graph, averaged_of_towers(analysed, phase)
    is_averaged = any(one.divided or one.kind == "mean" for one in phase.combine)
    is_alone = is_averaged and analysed.plan.towers == 1 and not analysed.plan.updated
    if not averaged and not is_alone:
        return
    sizes = {name for name in graph.nodes if graph.type(name) in op_types.SHAPE_OPS or _is_settled(analysed, name)}
    weights = {variable.name for variable in analysed.plan.variables if variable.role == "weight"}
    for quotient in quotients_of_loss(analysed, parse_tensor_name(phase.losses[0]).node) if phase.losses else []:
        is_mean = graph.type(quotient) == "Mean"
        rows, *numbers = graph.inputs(quotient)
        divisor = _choice(graph, rows.node) if is_mean else graph.origin(numbers[0]).node
        before = _before(graph, divisor, sizes) if divisor else set()
        sources = sorted(name for name in before & analysed.context.data if op_types.is_source(graph.type(name)))
        if {"OneHot", "Where"} <= {graph.type(name) for name in before}:
            continue
        if sources and not before & weights and _is_of_one_tower(analysed, divisor, before):
            is_whole = graph.origin(TensorId(parse_tensor_name(phase.losses[0]).node, 0)).node == quotient
            of_loss = "its loss" if is_whole else "a term of its loss"
            means = f"{of_loss} is the mean over the rows that {divisor} chooses by its part of {sources[0]}"
            divides = f"divides {of_loss} by {divisor}, a number that its part of {sources[0]} gives, such as of words"
            if is_alone:
                what = means if is_mean else f"one tower alone {divides}"
                several = "a port's replicas do so each by its own part, and their gradients are averaged"
            else:
                what = f"in each tower, {means}" if is_mean else f"each tower {divides}"
                several = f"{averaged} are averaged"
            number = "replicas" if is_alone else "towers"
            yield f"{phase.train_op}: {what}, and {several}: a mean of means, which changes with the number of {number}"
            return


def averaged_of_towers(analysed: AnalysedStep, phase: Phase) -> str:
    """Returns what a train op averages over several towers, their gradients or their losses; "" if neither."""
    towers = analysed.plan.towers
    if towers > 1 and any(one.kind == "mean" or abs(one.scale * towers - 1) < TOLERANCE for one in phase.combine):
        return "gradients"
    factors = factors_of_losses(analysed, phase) if towers > 1 and not phase.shared_loss else []
    are_parts = bool(factors) and all(abs(factor * towers - 1) < TOLERANCE for factor in factors)
    are_parts = are_parts and not may_be_their_own(analysed, phase)
    return "losses" if are_parts or sums_to_mean(phase, towers) else ""


def _is_settled(analysed: AnalysedStep, name: str) -> bool:
    """Whether a node compares with 0 what the data choose from a constant list in which no number is 0."""
    graph = analysed.graph
    if graph.type(name) not in op_types.EQUALITIES:
        return False
    chosen, other = graph.inputs(name)
    imported = analysed.imported
    zero = imported.constant(*other)
    if zero is None or np.any(zero) or graph.type(graph.origin(chosen).node) not in op_types.GATHERS:
        return False
    numbers = imported.constant(*graph.origin(graph.inputs(graph.origin(chosen).node)[0]))
    return numbers is not None and bool(np.all(numbers))


def _is_of_one_tower(analysed: AnalysedStep, divisor: str, before: Collection[str]) -> bool:
    """Whether one tower computes a number, or, as of rows that it chooses, all that the number depends on.

    One of what all towers take whole is the same in each of them, and so of none.
    """
    towers, entries = analysed.context.towers, analysed.plan.inputs
    own = {parse_tensor_name(name).node for entry in entries if not entry.is_shared for name in entry.tensors}
    if not own.intersection(before) or analysed.plan.towers == 1:
        return bool(own.intersection(before))
    return towers.tower_of(divisor) is not None or len({towers.tower_of(name) for name in before} - {None}) == 1


def _before(graph: Graph, divisor: str, sizes: set[str]) -> set[str]:
    """The nodes that a number depends on; of a number of rows, those that it depends on which rows are chosen."""
    found = graph.ancestors([divisor], stop=sizes, controls=False)
    chosen = {_choice(graph, graph.inputs(name)[0].node) for name in found & sizes if graph.inputs(name)} - {""}
    return (found | graph.ancestors(chosen, stop=sizes, controls=False)) - sizes


def _choice(graph: Graph, rows: str) -> str:
    """The `Where` that chooses the rows of a node; "" if none does."""
    todo = [rows]
    while todo:
        name = todo.pop()
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        if kind == "Where":
            return name
        if kind in _GATHERS:
            chosen = inputs[1]
            while graph.type(chosen) in (*_COPIES, "StridedSlice", "Pack"):
                chosen = graph.inputs(chosen)[0].node
            return chosen if graph.type(chosen) == "Where" else ""
        if kind in _ROW_BY_ROW:
            todo += inputs
        elif kind in _COPIES:
            todo += inputs[:1]
    return ""


def quotients_of_loss(analysed: AnalysedStep, loss: str) -> Iterator[str]:
    """Yields the scalar quotients and means among the terms of a loss and their factors.

    A loss whose rank is not known, as of a sum of what a loop returns, is one number too, and so are its terms.
    Losses of examples, whose sum is minimized, may have a number added.
    """
    graph, todo, seen = analysed.graph, [loss], set()
    while todo:
        name = todo.pop()
        if name in seen or name not in graph.nodes:
            continue
        seen.add(name)
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        if analysed.imported.shape(name) not in (None, (), (1,)):
            todo += inputs if kind in op_types.ADDITIONS else []
        elif kind in op_types.QUOTIENTS:
            yield name
            todo.append(inputs[0])
        elif kind == "Mean":
            yield name
        elif kind in op_types.CHOICES:  # of 0 or the quotient, as `tf.losses` of 1.4 chooses
            todo += inputs[1:]
        elif kind == "Merge" or kind in (*op_types.ADDITIONS, "Sub", "Mul"):  # the same choice by a condition
            todo += inputs
        elif kind in _COPIES:
            todo += inputs[:1]
