"""Checks of what a model asks its scope for, and of what it returns; each refusal is one line."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import tensorflow as tf

from workloads.support.errors import InputError, require

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workloads.variable_spec import VariableSpec


def checked_shape(name: str, shape: Iterable[int]) -> tuple[int, ...]:
    """Returns a variable's shape as a tuple of integers.

    Raises:
      InputError: it is none.
    """
    try:
        sizes = tuple(operator.index(size) for size in shape)
    except TypeError:
        raise InputError(f"scope.get: shape of {name!r}: got {shape!r}, must be a sequence of integers") from None
    require(min(sizes, default=1) >= 1, f"scope.get: shape of {name!r}", sizes, "every size must be at least 1")
    return sizes


def check_loss(what: str, loss: object, dtype: str, of_examples: bool = False) -> None:
    """Raises `InputError` unless a loss is a tensor of the run's dtype, and a scalar.

    Args:
      what: beginning of the message.
      loss: what the model returned.
      dtype: name of the run's dtype.
      of_examples: whether the loss may have any shape, such as one value for each example.
    """
    if not isinstance(loss, tf.Tensor):
        raise InputError(f"{what}: got {type(loss).__name__}, must be a scalar {dtype} tensor")
    if loss.shape.rank != 0 and not of_examples:
        raise InputError(f"{what}: got shape {loss.shape}, must be a scalar")
    if loss.dtype != dtype:
        raise InputError(f"{what}: got {loss.dtype.name}, must be {dtype}, the run's dtype")


def check_update(where: str, spec: VariableSpec, value: object) -> None:
    """Raises `InputError` unless a statistic can have a value.

    Args:
      where: beginning of the message.
      spec: the statistic's.
      value: what the model proposes.
    """
    if not isinstance(value, tf.Tensor):
        got = type(value).__name__
    elif value.dtype != spec.dtype or not value.shape.is_compatible_with(spec.shape):
        got = f"{value.dtype.name} {value.shape}"
    else:
        return
    raise InputError(f"{where}: scope.update: {spec.name!r} got {got}, must be a {spec.dtype} tensor {spec.shape}")
