"""`UpdateForm`: the name of one formula for an update, as TensorFlow 1.x, Keras or a common mistake has it."""

from __future__ import annotations

import dataclasses
import enum
from typing import Callable, NamedTuple, Optional

import numpy as np

from workloads.optimizers.observed_update import ObservedUpdate

#: Default epsilons of Keras 3 and of 1.x's Adam: ports often keep the wrong one.
KERAS_EPSILON, TF1_EPSILON = 1e-7, 1e-8

#: A formula for one step's change of the weights; None where the step lacks an array that it reads.
UpdateFormula = Callable[[ObservedUpdate], Optional[np.ndarray]]


class FormKind(enum.Enum):
    """The difference of a form from TensorFlow 1.x's: none, in a constant, in the formula, or in the slots' meaning."""

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


def epsilon_form(epsilon: str, suffix: str = "") -> UpdateForm:
    """Returns the `UpdateForm` with another epsilon, given as reports print it."""
    return UpdateForm(FormKind.EPSILON, f"epsilon {epsilon}{suffix}", epsilon)


class EpsilonPlace(NamedTuple):
    """A place of the epsilon in an optimizer's update, with the update as a function of its value.

    Attributes:
      name: the place in reports: "after the bias correction".
      formula: function from a step and an epsilon to the change of the weights; None where the step lacks what the
        formula reads.
    """

    name: str
    formula: Callable[[ObservedUpdate, float], Optional[np.ndarray]]


OWN = UpdateForm(FormKind.OWN, "1.x")
NESTEROV = UpdateForm(FormKind.VARIANT, "nesterov")
HEAVY_BALL = UpdateForm(FormKind.VARIANT, "heavy ball")
NO_BIAS_CORRECTION = UpdateForm(FormKind.VARIANT, "no bias correction")
STEP_POWERS = UpdateForm(FormKind.STEP_POWERS, "by step")
KERAS_SLOT = UpdateForm(FormKind.KERAS_SLOT, "keras slot")
AMSGRAD = UpdateForm(FormKind.VARIANT, "AMSGrad (divides by the largest second moment so far)")
FIRST_CORRECTION_ONLY = UpdateForm(FormKind.VARIANT, "bias correction of the first moment only")
SECOND_CORRECTION_ONLY = UpdateForm(FormKind.VARIANT, "bias correction of the second moment only")
CORRECTION_AHEAD = UpdateForm(FormKind.VARIANT, "bias correction of the next step")
CORRECTION_FROZEN = UpdateForm(FormKind.VARIANT, "bias correction of the first step in every step")
OLD_SLOTS = UpdateForm(FormKind.VARIANT, "an update from the slots before the step")
CENTERED = UpdateForm(FormKind.VARIANT, "centered (divides by the deviation from the mean gradient)")
CENTERED_OUTSIDE = UpdateForm(FormKind.VARIANT, "centered, with epsilon outside the root")
RATE_OUTSIDE = UpdateForm(FormKind.VARIANT, "momentum with the learning rate outside the slot")
