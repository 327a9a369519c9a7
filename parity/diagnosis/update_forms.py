"""The forms that an optimizer's update takes in 1.x, in Keras 3 and in common mistakes, as functions of one step.

The first form of each rule is 1.x's own. Each reads the slots *after* the step, so a wrong slot does not also make
a wrong update.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Dict, List

import numpy as np

from workloads import optimizers

KERAS_EPSILON, TF1_EPSILON = 1e-7, 1e-8


class FormKind(enum.Enum):
    """How a form differs from TensorFlow 1.x's: in nothing, in a constant, in the formula, or in the slots' meaning."""

    OWN = "as in 1.x"
    EPSILON = "another epsilon"
    VARIANT = "another formula"
    STEP_POWERS = "bias correction computed from the step's number"
    KERAS_SLOT = "the slot holds the change itself"


@dataclasses.dataclass(frozen=True)
class UpdateForm:
    """Name of one form of an optimizer's update.

    Attributes:
      kind: `FormKind`.
      name: the form in reports: "nesterov", "1.x".
      epsilon: the other epsilon as reports print it, "1e-7"; empty for other kinds.
    """

    kind: FormKind
    name: str
    epsilon: str = ""


def epsilon_form(epsilon, suffix=""):
    """The `UpdateForm` with another epsilon, given as reports print it."""
    return UpdateForm(FormKind.EPSILON, f"epsilon {epsilon}{suffix}", epsilon)


OWN = UpdateForm(FormKind.OWN, "1.x")
NESTEROV = UpdateForm(FormKind.VARIANT, "nesterov")
HEAVY_BALL = UpdateForm(FormKind.VARIANT, "heavy ball")
NO_BIAS_CORRECTION = UpdateForm(FormKind.VARIANT, "no bias correction")
STEP_POWERS = UpdateForm(FormKind.STEP_POWERS, "by step")
KERAS_SLOT = UpdateForm(FormKind.KERAS_SLOT, "keras slot")


@dataclasses.dataclass(frozen=True)
class Taken:
    """One step that one side took; vectors are all weights' elements, float64, in the order of `names`."""

    step: int
    rate: float
    names: List[str]
    sizes: List[int]
    shapes: List[tuple]
    gradient: np.ndarray
    weights: np.ndarray
    change: np.ndarray
    old: Dict[str, np.ndarray]
    new: Dict[str, np.ndarray]
    powers: List[float]
    last_change: Any
    continues: bool

    def parts(self):
        """(weight, slice of the vectors) of every weight."""
        ends = np.cumsum(self.sizes)
        return [(name, slice(end - size, end)) for name, size, end in zip(self.names, self.sizes, ends)]


def slot_term(taken, slot, power):
    """What the slot adds up: the gradient, its square, or RMSProp's scaled gradient."""
    if power == "scaled":
        return taken.rate * taken.gradient / np.sqrt(taken.new["rms"] + 1e-10)
    return taken.gradient**power


def expected_slots(taken, rule):
    """{slot: what 1.x's rule makes of it} from the old slots and the gradient."""
    g, old = taken.gradient, taken.old
    if isinstance(rule, optimizers.Momentum):
        return {"momentum": rule.momentum * old["momentum"] + g}
    if isinstance(rule, optimizers.Adam):
        return {
            "m": rule.beta1 * old["m"] + (1 - rule.beta1) * g,
            "v": rule.beta2 * old["v"] + (1 - rule.beta2) * g**2,
        }
    if isinstance(rule, optimizers.RMSProp):
        return {"rms": rule.decay * old["rms"] + (1 - rule.decay) * g**2}
    return {"accumulator": old["accumulator"] + g**2} if isinstance(rule, optimizers.Adagrad) else {}


def _descent(taken, rule):
    return -taken.rate * taken.gradient


def _momentum(taken, rule):
    if rule.nesterov:
        return _nesterov(taken, rule)
    return -taken.rate * taken.new["momentum"]


def _nesterov(taken, rule):
    return -taken.rate * (taken.gradient + rule.momentum * taken.new["momentum"])


def _heavy_ball(taken, rule):
    return -taken.rate * taken.new["momentum"]


def _keras_momentum(taken, rule):
    """Keras: `v = m * v - rate * g; w += v`, where the slot is v itself."""
    return taken.new["momentum"]


def _adam_with(epsilon, corrected=True):
    def form(taken, rule):
        rate = taken.rate
        if corrected:
            if len(taken.powers) < 2:
                return None
            rate = rate * np.sqrt(1 - taken.powers[1]) / (1 - taken.powers[0])
        used = rule.epsilon if epsilon is None else epsilon
        return -rate * taken.new["m"] / (np.sqrt(np.maximum(taken.new["v"], 0)) + used)

    return form


def _adam_from_step(epsilon):
    """Bias correction by the step's own number and not by the powers that were kept."""

    def form(taken, rule):
        step = taken.step + 1
        rate = taken.rate * np.sqrt(1 - rule.beta2**step) / (1 - rule.beta1**step)
        used = rule.epsilon if epsilon is None else epsilon
        return -rate * taken.new["m"] / (np.sqrt(np.maximum(taken.new["v"], 0)) + used)

    return form


def _rmsprop_with(epsilon):
    """From the mean square after the step and the momentum before it."""

    def form(taken, rule):
        used = rule.epsilon if epsilon is None else epsilon
        return -(rule.momentum * taken.old["momentum"] + taken.rate * taken.gradient / np.sqrt(taken.new["rms"] + used))

    return form


def _adagrad_with(epsilon):
    def form(taken, rule):
        return -taken.rate * taken.gradient / (np.sqrt(taken.new["accumulator"]) + epsilon)

    return form


#: {rule: {`UpdateForm`: function that computes it}}; the first is 1.x's.
FORMS = {
    optimizers.GradientDescent: {OWN: _descent},
    optimizers.Momentum: {
        OWN: _momentum,
        NESTEROV: _nesterov,
        HEAVY_BALL: _heavy_ball,
        KERAS_SLOT: _keras_momentum,
    },
    optimizers.Adam: {
        OWN: _adam_with(None),
        STEP_POWERS: _adam_from_step(None),
        epsilon_form("1e-7"): _adam_with(KERAS_EPSILON),
        epsilon_form("1e-7", " by step"): _adam_from_step(KERAS_EPSILON),
        epsilon_form("1e-8"): _adam_with(TF1_EPSILON),
        epsilon_form("1e-3"): _adam_with(1e-3),
        epsilon_form("0.1"): _adam_with(0.1),
        epsilon_form("1"): _adam_with(1.0),
        NO_BIAS_CORRECTION: _adam_with(None, corrected=False),
    },
    optimizers.RMSProp: {
        OWN: _rmsprop_with(None),
        epsilon_form("1e-7"): _rmsprop_with(KERAS_EPSILON),
        epsilon_form("1e-8"): _rmsprop_with(TF1_EPSILON),
        epsilon_form("1e-3"): _rmsprop_with(1e-3),
        epsilon_form("1"): _rmsprop_with(1.0),
    },
    optimizers.Adagrad: {OWN: _adagrad_with(0.0), epsilon_form("1e-7"): _adagrad_with(KERAS_EPSILON)},
}

#: {rule: {slot: power of the gradient that it adds up}}
SLOTS = {
    optimizers.GradientDescent: {},
    optimizers.Momentum: {"momentum": 1},
    optimizers.Adam: {"m": 1, "v": 2},
    optimizers.RMSProp: {"rms": 2, "momentum": "scaled"},
    optimizers.Adagrad: {"accumulator": 2},
}
