"""Reads the settings that a recording stores as Python text: literals, and records such as `Adam(beta1=0.9)`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from workloads import optimizers, schedules
from workloads.workload import Clip, MovingAverage

T = TypeVar("T")

SCHEDULES = (schedules.Fixed, schedules.ExponentialDecay, schedules.EpochDecay, schedules.PiecewiseConstant)


def known_records() -> dict[str, Callable[..., object]]:
    """Returns {class name: class} of the records that a text may construct."""
    return {record.__name__: record for record in (Clip, MovingAverage, *SCHEDULES, *optimizers.known_optimizers())}


def parse_setting(text: str, expected: type[T] | tuple[type[T], ...]) -> T | None:
    """Returns the value that a setting's text stands for. Nothing is evaluated.

    Args:
      text: `repr` of a number, a string, None, or one of `known_records` with literal fields.
      expected: class, or classes, that the value must be of.

    Returns:
      the value; None for the text "None" and for any text that is not of that form and class.
    """
    try:
        value = _value_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return value if isinstance(value, expected) else None


def _value_of(node: ast.expr) -> object:
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    record = known_records()[node.func.id]  # type: ignore[attr-defined]  # another callee's AttributeError is caught above
    fields = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    return record(*[ast.literal_eval(value) for value in node.args], **fields)
