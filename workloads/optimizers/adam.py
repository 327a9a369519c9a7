"""Adam."""

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
    squared_gradient,
)
from workloads.optimizers.observed_update import ObservedUpdate
from workloads.optimizers.update_forms import (
    AMSGRAD,
    CORRECTION_AHEAD,
    CORRECTION_FROZEN,
    FIRST_CORRECTION_ONLY,
    KERAS_EPSILON,
    NO_BIAS_CORRECTION,
    OLD_SLOTS,
    OWN,
    SECOND_CORRECTION_ONLY,
    STEP_POWERS,
    TF1_EPSILON,
    EpsilonPlace,
    UpdateForm,
    UpdateFormula,
    epsilon_form,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Adam(Optimizer):
    """Kingma & Ba, arXiv:1412.6980, in the epsilon-hat form TensorFlow uses."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def slots(self) -> dict[str, float]:
        return {"m": 0.0, "v": 0.0}

    def accumulators(self) -> dict[str, float]:
        return {"beta1_power": self.beta1, "beta2_power": self.beta2}

    def tf1_class(self) -> Tf1Class:
        constants = {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}
        return Tf1Class("AdamOptimizer", constants, accumulators="_get_beta_accumulators")

    def kernel(self) -> Kernel:
        return Kernel(
            "ResourceApplyAdam",
            slots={"m": "m", "v": "v"},
            powers={"beta1_power": "beta1_power", "beta2_power": "beta2_power"},
            constants={"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon},
        )

    def keras_class(self) -> KerasClass:
        # Keras raises beta2 to the step's power anew in every step, where 1.x multiplies on. One ulp of
        # `beta2 ** step` is 1 / (1 - beta2) ulps of the bias correction `1 - beta2 ** step`, and so of the update.
        return KerasClass(
            "Adam",
            {"beta_1": self.beta1, "beta_2": self.beta2, "epsilon": self.epsilon},
            slots={"m": "_momentums", "v": "_velocities"},
            powers={"beta1_power": "beta_1", "beta2_power": "beta_2"},
            update_units=1.0 / (1.0 - self.beta2),
        )

    def update_forms(self) -> dict[UpdateForm, UpdateFormula]:
        return {
            OWN: self._by_powers(self.epsilon),
            STEP_POWERS: self._by_step(self.epsilon),
            epsilon_form("1e-7"): self._by_powers(KERAS_EPSILON),
            epsilon_form("1e-7", " by step"): self._by_step(KERAS_EPSILON),
            epsilon_form("1e-8"): self._by_powers(TF1_EPSILON),
            epsilon_form("1e-3"): self._by_powers(1e-3),
            epsilon_form("0.1"): self._by_powers(0.1),
            epsilon_form("1"): self._by_powers(1.0),
            NO_BIAS_CORRECTION: lambda update: _change(update, update.learning_rate, self.epsilon),
            FIRST_CORRECTION_ONLY: lambda update: _change(
                update, update.learning_rate / (1 - self.beta1 ** (update.step + 1)), self.epsilon
            ),
            SECOND_CORRECTION_ONLY: lambda update: _change(
                update, update.learning_rate * np.sqrt(1 - self.beta2 ** (update.step + 1)), self.epsilon
            ),
            CORRECTION_AHEAD: lambda update: _change(update, self._rate(update, update.step + 2), self.epsilon),
            CORRECTION_FROZEN: lambda update: _change(update, self._rate(update, 1), self.epsilon),
            OLD_SLOTS: self._by_old_slots,
            AMSGRAD: self._amsgrad,
        }

    def epsilon_places(self) -> tuple[EpsilonPlace, ...]:
        return (
            EpsilonPlace("", lambda update, epsilon: self._by_powers(epsilon)(update)),
            EpsilonPlace("after the bias correction", self._epsilon_after_correction),
            EpsilonPlace("inside the root", self._epsilon_inside_root),
        )

    def slot_rules(self) -> dict[str, SlotRule]:
        return {
            "m": SlotRule(self.beta1, 1 - self.beta1, gradient, "beta1"),
            "v": SlotRule(self.beta2, 1 - self.beta2, squared_gradient, "beta2"),
        }

    def gradient_difference(
        self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], learning_rate: float | None
    ) -> GradientDifference:
        return GradientDifference(after["m"], self.beta1 * before["m"], 1 - self.beta1)

    def _by_powers(self, epsilon: float) -> UpdateFormula:
        """Returns the update with bias correction by the powers of the betas that were kept."""

        def form(update: ObservedUpdate) -> np.ndarray | None:
            if len(update.powers) < 2:
                return None
            rate = update.learning_rate * np.sqrt(1 - update.powers[1]) / (1 - update.powers[0])
            return _change(update, rate, epsilon)

        return form

    def _by_step(self, epsilon: float) -> UpdateFormula:
        """Returns the update with bias correction by the step's own number."""

        def form(update: ObservedUpdate) -> np.ndarray:
            return _change(update, self._rate(update, update.step + 1), epsilon)

        return form

    def _rate(self, update: ObservedUpdate, count: int) -> float:
        """Returns the learning rate with the bias correction of update number `count`, from 1."""
        return float(update.learning_rate * np.sqrt(1 - self.beta2**count) / (1 - self.beta1**count))

    def _epsilon_after_correction(self, update: ObservedUpdate, epsilon: float) -> np.ndarray:
        """Returns PyTorch's update: epsilon is added to the root of the corrected second moment."""
        corrected = epsilon * np.sqrt(1 - self.beta2 ** (update.step + 1))
        return _change(update, self._rate(update, update.step + 1), corrected)

    def _epsilon_inside_root(self, update: ObservedUpdate, epsilon: float) -> np.ndarray:
        rate = self._rate(update, update.step + 1)
        return -rate * update.new["m"] / np.sqrt(np.maximum(update.new["v"], 0) + epsilon)

    def _by_old_slots(self, update: ObservedUpdate) -> np.ndarray:
        rate = self._rate(update, update.step + 1)
        return -rate * update.old["m"] / (np.sqrt(np.maximum(update.old["v"], 0)) + self.epsilon)

    def _amsgrad(self, update: ObservedUpdate) -> np.ndarray:
        rate = self._rate(update, update.step + 1)
        return -rate * update.new["m"] / (np.sqrt(np.maximum(update.largest("v"), 0)) + self.epsilon)


def _change(update: ObservedUpdate, rate: float, epsilon: float) -> np.ndarray:
    return -rate * update.new["m"] / (np.sqrt(np.maximum(update.new["v"], 0)) + epsilon)
