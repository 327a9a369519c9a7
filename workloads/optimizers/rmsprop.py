"""RMSProp."""

from __future__ import annotations

import dataclasses

import numpy as np

from workloads.optimizers.base import (
    ChangeSlot,
    KerasClass,
    Kernel,
    Optimizer,
    SlotRule,
    Tf1Class,
    squared_gradient,
)
from workloads.optimizers.observed_update import ObservedUpdate
from workloads.optimizers.update_forms import (
    CENTERED,
    CENTERED_OUTSIDE,
    KERAS_EPSILON,
    OWN,
    RATE_OUTSIDE,
    TF1_EPSILON,
    EpsilonPlace,
    UpdateForm,
    UpdateFormula,
    epsilon_form,
)

#: Place of the epsilon in PyTorch's RMSprop, whose momentum slot holds no learning rate.
PYTORCH_PLACE = "outside the root, with the learning rate outside the momentum slot"


@dataclasses.dataclass(frozen=True)
class RMSProp(Optimizer):
    """`s = decay * s + (1 - decay) * g**2; a = momentum * a + r * g / sqrt(s + epsilon); w -= a`; `s` starts at one."""

    decay: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-10

    def slots(self) -> dict[str, float]:
        return {"rms": 1.0, "momentum": 0.0}

    def tf1_class(self) -> Tf1Class:
        constants = {"decay": self.decay, "momentum": self.momentum, "epsilon": self.epsilon}
        return Tf1Class("RMSPropOptimizer", constants)

    def kernel(self) -> Kernel:
        return Kernel(
            "ResourceApplyRMSProp",
            slots={"rms": "ms", "momentum": "mom"},
            constants={"rho": self.decay, "momentum": self.momentum, "epsilon": self.epsilon},
        )

    def keras_class(self) -> KerasClass:
        return KerasClass(
            "RMSprop",
            {"rho": self.decay, "momentum": self.momentum, "epsilon": self.epsilon},
            slots={"rms": "_velocities", "momentum": "_momentums"},
        )

    def update_forms(self) -> dict[UpdateForm, UpdateFormula]:
        return {
            OWN: self._with(self.epsilon),
            epsilon_form("1e-7"): self._with(KERAS_EPSILON),
            epsilon_form("1e-8"): self._with(TF1_EPSILON),
            epsilon_form("1e-3"): self._with(1e-3),
            epsilon_form("1"): self._with(1.0),
            CENTERED: lambda update: self._change(update, np.sqrt(self._variance(update) + self.epsilon)),
            CENTERED_OUTSIDE: lambda update: self._change(update, np.sqrt(self._variance(update)) + self.epsilon),
            RATE_OUTSIDE: self._rate_outside,
        }

    def epsilon_places(self) -> tuple[EpsilonPlace, ...]:
        def outside(update: ObservedUpdate, epsilon: float) -> np.ndarray:
            return np.asarray(np.sqrt(np.maximum(update.new["rms"], 0)) + epsilon)

        places = (
            EpsilonPlace("", lambda update, epsilon: self._with(epsilon)(update)),
            EpsilonPlace("outside the root", lambda update, e: self._change(update, outside(update, e))),
        )
        if not self.momentum:
            return places  # then there is no inside and outside of the momentum slot
        return (
            *places,
            EpsilonPlace(PYTORCH_PLACE, lambda update, e: self._change_outside(update, outside(update, e))),
        )

    def slot_rules(self) -> dict[str, SlotRule]:
        return {
            "rms": SlotRule(self.decay, 1 - self.decay, squared_gradient, "decay"),
            "momentum": SlotRule(self.momentum, 1.0, self._taken, "momentum", rescaled=True, checked=False),
        }

    def change_slot(self, form: UpdateForm) -> ChangeSlot:
        return ChangeSlot("momentum", per_rate=form == RATE_OUTSIDE)

    def _taken(self, update: ObservedUpdate) -> np.ndarray:
        """Returns the term of the momentum slot."""
        return update.learning_rate * update.gradient / np.sqrt(update.new["rms"] + self.epsilon)

    def _with(self, epsilon: float) -> UpdateFormula:
        """Returns the update from the mean square after the step and the momentum before it."""

        def form(update: ObservedUpdate) -> np.ndarray:
            return self._change(update, np.sqrt(update.new["rms"] + epsilon))

        return form

    def _change(self, update: ObservedUpdate, divisor: np.ndarray) -> np.ndarray:
        """Returns the update whose gradient is divided by `divisor`."""
        return -(self.momentum * update.old["momentum"] + update.learning_rate * update.gradient / divisor)

    def _variance(self, update: ObservedUpdate) -> np.ndarray:
        """Returns the mean square of the gradients less the square of their mean."""
        return np.asarray(np.maximum(update.new["rms"] - update.mean_gradient(self.decay) ** 2, 0))

    def _rate_outside(self, update: ObservedUpdate) -> np.ndarray:
        """Returns the update `w -= r * a`, where `a = momentum * a + g / sqrt(s + epsilon)` holds no learning rate."""
        return self._change_outside(update, np.sqrt(update.new["rms"] + self.epsilon))

    def _change_outside(self, update: ObservedUpdate, divisor: np.ndarray) -> np.ndarray:
        """Returns the update whose momentum slot holds no learning rate."""
        return -update.learning_rate * (self.momentum * update.old["momentum"] + update.gradient / divisor)
