"""`VariableSpec`: name, shape and initializer of one of a model's variables; the initial values drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Optional, Tuple

import numpy as np

from workloads.initializers import Initializer
from workloads.numerics import random_keys
from workloads.support.errors import InputError
from workloads.support.user import user_code

if TYPE_CHECKING:
    from collections.abc import Iterable


class VariableSpec(NamedTuple):
    """One variable of a model.

    Attributes:
      name: with its scopes, "conv1/weights".
      shape: of the variable.
      dtype: name of its dtype.
      trainable: whether the optimizer changes it; otherwise it is a statistic.
      initializer: draws the initial value; None where it is known from elsewhere.
    """

    name: str
    shape: Tuple[int, ...]
    dtype: str
    trainable: bool
    initializer: Optional[Initializer]


def initial_values(specs: Iterable[VariableSpec], seed: int) -> dict[str, np.ndarray]:
    """Returns {variable name: float32 array}, each keyed by its own name, so that adding one changes no other.

    Raises:
      InputError: a variable has no initializer.
    """
    values = {}
    for spec in specs:
        if spec.initializer is None:
            raise InputError(f"initial_values: {spec.name!r} has no initializer")
        what = f"initializer of {spec.name!r}"
        with user_code.calling(what, spec.initializer, f"an array {spec.shape}"):
            value = np.asarray(spec.initializer(spec.shape, random_keys.generator("init", seed, spec.name)))
        if value.shape != tuple(spec.shape) or value.dtype.kind not in "fiub":
            what = user_code.named(what, spec.initializer)
            raise InputError(f"{what}: got {value.dtype} {value.shape}, must be an array of numbers {spec.shape}")
        values[spec.name] = value
    return values
