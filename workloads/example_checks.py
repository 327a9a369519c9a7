"""Checks of the examples that a workload makes itself, before they are used; each refusal is one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from workloads.support.errors import InputError
from workloads.support.user import user_code
from workloads.workload import Workload

if TYPE_CHECKING:
    from workloads.workload import InputSpec

#: Range of an integer input that has no number of classes.
_INT32 = np.iinfo(np.int32)


def overrides_examples(workload: Workload) -> bool:
    """Returns whether a workload makes its examples itself."""
    return type(workload).examples is not Workload.examples


def checked_examples(workload: Workload, examples: object, count: int) -> Mapping[str, np.ndarray]:
    """Returns a workload's examples as arrays.

    Args:
      workload: says what its inputs are.
      examples: what its `examples` returned.
      count: number of examples that were asked for.

    Returns:
      {input name: array [count, *shape] of numbers}; integers where the input's kind is "int".

    Raises:
      InputError: inputs are missing or unknown, or an array is not of that shape or kind.
    """
    what, inputs = user_code.named(f"{workload.name}.examples", workload.examples), workload.inputs()
    names = ", ".join(sorted(inputs))
    if not isinstance(examples, Mapping):
        raise InputError(f"{what}: got {type(examples).__name__}, must be a dict of arrays: {names}")
    if set(examples) != set(inputs):
        got = ", ".join(sorted(map(str, examples))) or "nothing"
        raise InputError(f"{what}: got {got}, must be exactly: {names}")
    return checked_arrays(what, inputs, examples, count)


def checked_arrays(
    what: str, inputs: Mapping[str, InputSpec], arrays: Mapping[str, object], count: int
) -> dict[str, np.ndarray]:
    """Returns the values of all inputs as arrays.

    Args:
      what: beginning of messages, such as "--data=digits.npz".
      inputs: {name: `InputSpec`}.
      arrays: {name: value} of at least these inputs.
      count: number of examples.

    Returns:
      {input name: array [count, *shape] of numbers}; whole numbers where the input's kind is "int".

    Raises:
      InputError: an array is not of that shape or kind.
    """
    return {name: _checked_array(f"{what}: {name!r}", spec, arrays[name], count) for name, spec in inputs.items()}


def _checked_array(what: str, spec: InputSpec, value: object, count: int) -> np.ndarray:
    """Returns one input's values as an array of numbers; `InputError`, which begins with `what`, if they are none."""
    shape = (count,) + tuple(spec.shape)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, NotImplementedError, RuntimeError) as error:  # ragged lists, tensors of a graph
        raise InputError(f"{what}: got {user_code.error_line(error)}, must be an array {shape}") from error
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what}: got {array.dtype} {array.shape}, must be an array of real numbers {shape}")
    if array.shape != shape:
        raise InputError(f"{what}: got shape {array.shape}, must be {shape}: the batch, then one example's shape")
    if spec.kind == "int":
        _check_integers(what, spec, array)
    return array


def _check_integers(what: str, spec: InputSpec, array: np.ndarray) -> None:
    """Raises `InputError`, which begins with `what`, unless all are whole numbers that the input may have."""
    if array.dtype.kind == "f" and not np.array_equal(array, np.floor(array)):  # NaN is unequal to itself
        raise InputError(f"{what}: got {array.dtype}, must be whole numbers")
    lowest, highest = (0, spec.classes - 1) if spec.classes else (_INT32.min, _INT32.max)
    if array.size and not (lowest <= array.min() and array.max() <= highest):
        got = f"{array.min()} to {array.max()}"
        raise InputError(f"{what}: got numbers from {got}, must be from {lowest} to {highest}")
