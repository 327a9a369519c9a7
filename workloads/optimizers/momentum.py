"""Momentum, plain and Nesterov's."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from workloads.optimizers.base import (
    GradientDifference,
    KerasClass,
    Kernel,
    Optimizer,
    SlotRule,
    Tf1Class,
    gradient,
)
from workloads.optimizers.observed_update import ObservedUpdate
from workloads.optimizers.update_forms import (
    HEAVY_BALL,
    KERAS_SLOT,
    NESTEROV,
    OLD_SLOTS,
    OWN,
    UpdateForm,
    UpdateFormula,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Momentum(Optimizer):
    """`a = momentum * a + g; w -= r * a` (Nesterov: `w -= r * (g + momentum * a)`)."""

    momentum: float = 0.9
    nesterov: bool = False

    def slots(self) -> dict[str, float]:
        return {"momentum": 0.0}

    def tf1_class(self) -> Tf1Class:
        return Tf1Class("MomentumOptimizer", {"momentum": self.momentum, "use_nesterov": self.nesterov})

    def kernel(self) -> Kernel:
        return Kernel(
            "ResourceApplyMomentum",
            slots={"momentum": "accum"},
            constants={"momentum": self.momentum},
            attributes={"use_nesterov": self.nesterov},
        )

    def keras_class(self) -> KerasClass:
        # Keras keeps `v = m * v - r * g; w += v`: the same path only while the learning rate is constant.
        return KerasClass(
            "SGD",
            {"momentum": self.momentum, "nesterov": self.nesterov},
            slots={"momentum": "momentums"},
            rate_inside=("momentum",),
        )

    def update_forms(self) -> dict[UpdateForm, UpdateFormula]:
        return {
            OWN: self._nesterov if self.nesterov else self._heavy_ball,
            NESTEROV: self._nesterov,
            HEAVY_BALL: self._heavy_ball,
            KERAS_SLOT: self._keras_slot,
            OLD_SLOTS: lambda update: -update.learning_rate * update.old["momentum"],
        }

    def slot_rules(self) -> dict[str, SlotRule]:
        return {"momentum": SlotRule(self.momentum, 1.0, gradient, "momentum", rescaled=True)}

    def gradient_difference(
        self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], learning_rate: float | None
    ) -> GradientDifference:
        return GradientDifference(after["momentum"], self.momentum * before["momentum"], 1.0)

    def _nesterov(self, update: ObservedUpdate) -> np.ndarray:
        return -update.learning_rate * (update.gradient + self.momentum * update.new["momentum"])

    def _heavy_ball(self, update: ObservedUpdate) -> np.ndarray:
        return -update.learning_rate * update.new["momentum"]

    def _keras_slot(self, update: ObservedUpdate) -> np.ndarray:
        """Returns Keras's update, whose slot is the change itself."""
        return update.new["momentum"]
