"""Gradient descent."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from workloads.optimizers.base import GradientDifference, KerasClass, Kernel, Optimizer, Tf1Class
from workloads.optimizers.observed_update import ObservedUpdate
from workloads.optimizers.update_forms import OWN, UpdateForm, UpdateFormula

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class GradientDescent(Optimizer):
    """`w -= r * g`."""

    def tf1_class(self) -> Tf1Class:
        return Tf1Class("GradientDescentOptimizer", {})

    def kernel(self) -> Kernel:
        return Kernel("ResourceApplyGradientDescent", learning_rate="alpha", gradient="delta")

    def keras_class(self) -> KerasClass:
        return KerasClass("SGD", {})

    def update_forms(self) -> dict[UpdateForm, UpdateFormula]:
        return {OWN: _descent}

    def gradient_difference(
        self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], learning_rate: float | None
    ) -> GradientDifference | None:
        if not learning_rate:
            return None
        return GradientDifference(before["weight"], after["weight"], float(learning_rate))


def _descent(update: ObservedUpdate) -> np.ndarray:
    return -update.learning_rate * update.gradient
