"""Hazards of bytes and steps that are divided as whole numbers, before they become floating-point numbers."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_rate
from legacy.saved.hazards.basics.evaluation import evaluate
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import TensorId

#: Quotients of whole numbers are whole numbers.
_QUOTIENTS = ("FloorDiv", "Div", "TruncateDiv")
_WHOLE_NUMBERS = {dtype.as_datatype_enum for dtype in (tf.uint8, tf.int8, tf.int16, tf.int32, tf.int64)}
_PASSES = ("Cast", "Identity", "Reshape", "ExpandDims", "Squeeze", "Transpose", "Split", "SplitV", "StridedSlice")
#: The least divisor that is taken for the range of a byte; smaller ones divide lengths and indices.
LEAST_RANGE = 127


def divided_whole_numbers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds inputs that are divided by the range of a byte as whole numbers; one hazard for all."""
    for name in whole.graph.nodes:
        if name not in whole.reach or whole.graph.type(name) not in _QUOTIENTS:
            continue
        number, divisor = whole.graph.inputs(name)[:2]
        value = whole.value(divisor.node)
        is_whole = whole.graph.nodes[name].attr["T"].type in _WHOLE_NUMBERS
        if is_whole and value is not None and value >= LEAST_RANGE and _is_input(whole, number):
            yield Hazard(
                "DIVIDED_AS_WHOLE_NUMBERS",
                name,
                f"{name} is an integer division of {number.node} by {value:g}: every byte but the largest becomes 0",
                "cast to float before the division; for parity keep the integer division",
            )
            return


def _is_input(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a tensor holds the numbers that a source brings."""
    while whole.graph.type(tensor.node) in _PASSES and whole.graph.inputs(tensor.node):
        position = op_types.divided_input(whole.graph.type(tensor.node))
        tensor = whole.graph.inputs(tensor.node)[position]
    return op_types.is_source(whole.graph.type(tensor.node)) or "Decode" in whole.graph.type(tensor.node)


def steps_divided_as_whole_numbers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds learning rates that are 0 until a quotient of the step, as whole numbers, is 1; one hazard for all."""
    rates = dict.fromkeys(applied_rate(whole, apply) for apply in whole.applies)
    for rate in [rate for rate in rates if rate is not None]:
        for name in whole.graph.ancestors([rate.node], controls=False):
            divisor = _divisor_of_step(whole, name)
            if divisor is None:
                continue
            step, number = divisor
            early = [evaluate(whole, rate, {step: float(count)}) for count in (0, 1, number - 1)]
            later = evaluate(whole, rate, {step: float(number)})
            if early == [0.0] * len(early) and later:
                yield Hazard(
                    "DIVIDED_AS_WHOLE_NUMBERS",
                    name,
                    f"{name} is an integer division of {step.node} by {number}: the learning rate is 0 in the first "
                    f"{number} steps, and then {later:g}",
                    "cast the step to float before the division; for parity keep the integer division",
                )
                return


def _divisor_of_step(whole: WholeGraph, name: str) -> tuple[TensorId, int] | None:
    """(a scalar variable of whole numbers, the number) of a node that divides it by that number; else None."""
    graph = whole.graph
    if graph.type(name) not in _QUOTIENTS or graph.nodes[name].attr["T"].type not in _WHOLE_NUMBERS:
        return None
    variable = variable_read(graph, graph.inputs(name)[0].node)
    number = whole.value(graph.inputs(name)[1].node)
    is_step = bool(variable) and whole.is_scalar(variable) and variable not in whole.trainable
    return (TensorId(variable, 0), int(number)) if is_step and number is not None and number > 1 else None
