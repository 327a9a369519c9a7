"""Adagrad."""

from __future__ import annotations

import dataclasses

import numpy as np

from workloads.optimizers.base import (
    KerasClass,
    Kernel,
    Optimizer,
    SlotRule,
    Tf1Class,
    squared_gradient,
)
from workloads.optimizers.observed_update import ObservedUpdate
from workloads.optimizers.update_forms import (
    KERAS_EPSILON,
    OWN,
    EpsilonPlace,
    UpdateForm,
    UpdateFormula,
    epsilon_form,
)


@dataclasses.dataclass(frozen=True)
class Adagrad(Optimizer):
    """`s += g**2; w -= r * g / sqrt(s)`."""

    initial_accumulator: float = 0.1

    def slots(self) -> dict[str, float]:
        return {"accumulator": self.initial_accumulator}

    def tf1_class(self) -> Tf1Class:
        return Tf1Class("AdagradOptimizer", {"initial_accumulator_value": self.initial_accumulator})

    def kernel(self) -> Kernel:
        return Kernel("ResourceApplyAdagrad", slots={"accumulator": "accum"})

    def keras_class(self) -> KerasClass:
        return KerasClass(
            "Adagrad",
            {"initial_accumulator_value": self.initial_accumulator, "epsilon": 0.0},
            slots={"accumulator": "_accumulators"},
        )

    def update_forms(self) -> dict[UpdateForm, UpdateFormula]:
        return {OWN: _with(0.0), epsilon_form("1e-7"): _with(KERAS_EPSILON)}

    def epsilon_places(self) -> tuple[EpsilonPlace, ...]:
        return (
            EpsilonPlace("outside the root", lambda update, epsilon: _with(epsilon)(update)),
            EpsilonPlace("inside the root", _epsilon_inside_root),
        )

    def slot_rules(self) -> dict[str, SlotRule]:
        return {"accumulator": SlotRule(1.0, 1.0, squared_gradient, "decay")}


def _with(epsilon: float) -> UpdateFormula:
    def form(update: ObservedUpdate) -> np.ndarray:
        return -update.learning_rate * update.gradient / (np.sqrt(update.new["accumulator"]) + epsilon)

    return form


def _epsilon_inside_root(update: ObservedUpdate, epsilon: float) -> np.ndarray:
    return -update.learning_rate * update.gradient / np.sqrt(update.new["accumulator"] + epsilon)
