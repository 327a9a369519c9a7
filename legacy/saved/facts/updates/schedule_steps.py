"""Steps at which a schedule is evaluated for its page, and those at which its value changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import scalar_constant
from workloads.lifted.graph import parse_tensor_name

#: Steps at which a schedule is evaluated.
STEPS = (0, 100, 1000, 10000, 100000)
#: The largest product of constants, and the largest constant, that can be one of its boundaries.
LAST_STEP, LAST_BOUNDARY = 10**7, 2**31 - 2
#: Relative difference within which two values of a schedule are equal.
SAME_VALUE = 1e-6


def changes(value_at: Callable[[int], float], steps: Sequence[int]) -> list[tuple[int, float]]:
    """Returns (step, value) of a schedule where it differs from the one before; also half-way between two equal values.

    A value that the schedule has right after the step before is given for that step.

    >>> changes(lambda step: min(step, 10 - step), [0, 10, 11]), changes(lambda step: 0.5, [0, 10])
    ([(0, 0), (5, 5), (10, 0), (11, -1)], [(0, 0.5)])
    >>> changes(lambda step: 0.5 if step else 1.0, [0, 10])
    [(0, 1.0), (1, 0.5)]
    """
    found = [(steps[0], value_at(steps[0]))]
    for before, step in zip(steps, steps[1:]):
        value, middle = value_at(step), (before + step) // 2
        between = [(middle, value_at(middle))] if before < middle and _is_same(value, found[-1][1]) else []
        found += [one for one in between if not _is_same(one[1], value)]
        if not _is_same(value, found[-1][1]):
            is_early = found[-1][0] <= before and _is_same(value_at(before + 1), value)
            found.append((before + 1 if is_early else step, value))
    return found


def _is_same(value: float, other: float) -> bool:
    return abs(value - other) <= SAME_VALUE * abs(value)


def steps_to_show(nodes: Sequence[tf.compat.v1.NodeDef], of_examples: bool = True) -> list[int]:
    """Steps at which a schedule is evaluated: some powers of ten, its own boundaries and the steps after them.

    Args:
      nodes: those that compute the schedule.
      of_examples: whether a boundary may be a number of examples, and a smaller number those of a step.
    """
    constants = [tf.make_ndarray(node.attr["value"].tensor) for node in nodes if node.op == "Const"]
    values = [value for constant in constants for value in np.ravel(constant).tolist()]
    numbers = [value for value in values if isinstance(value, (int, float)) and 1 < value < LAST_BOUNDARY]
    ends = {int(number) for number in numbers if number == int(number)}
    if of_examples:  # such as floor(step * batch / examples)
        ends |= {big // small for big in ends for small in ends if small < big and big % small == 0}
    if any(node.op == "FloorDiv" for node in nodes):  # such as an epoch, step // 20
        ends |= {one * other for one in ends for other in ends if one < other and one * other < LAST_STEP}
    ends |= {end + shift for end in ends for shift in _shifts(nodes)}
    return sorted({*STEPS, *ends, *(end + 1 for end in ends)})


def _shifts(sequence: Iterable[tf.compat.v1.NodeDef]) -> set[int]:
    """Returns the whole numbers that are subtracted from something, as a warm-up's steps from the counter."""
    nodes = {node.name: node for node in sequence}
    found = [nodes[parse_tensor_name(node.input[1]).node] for node in nodes.values() if node.op == "Sub"]
    numbers = [scalar_constant(node) for node in found if node.op == "Const"]
    return {int(number) for number in numbers if number and 1 < number < LAST_STEP and number == int(number)}
