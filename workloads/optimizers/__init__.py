"""Optimizers as data: one file each, with what TensorFlow 1.x, today's kernels, Keras and diagnosis must know of it.

Here: the optimizers' names, constants, slots and formulas. Not here: anything that runs them (`legacy.towers`,
`modern.mirrored`, `parity.diagnosis` read these descriptions). Start with `base.py`, then `momentum.py`.

To add an optimizer, write one subclass of `Optimizer` (here, or in a module of your own) and give it to a workload:

    >>> from workloads import optimizers
    >>> optimizers.Adam(beta1=0.5).slots()
    {'m': 0.0, 'v': 0.0}
    >>> optimizers.Adam(beta1=0.5).accumulators()
    {'beta1_power': 0.5, 'beta2_power': 0.999}
    >>> optimizers.Momentum(0.9).kernel().op
    'ResourceApplyMomentum'
"""

from __future__ import annotations

from workloads.optimizers.adagrad import Adagrad
from workloads.optimizers.adam import Adam
from workloads.optimizers.base import (
    ChangeSlot,
    GradientDifference,
    KerasClass,
    Kernel,
    Optimizer,
    SlotRule,
    Tf1Class,
    known_keras_classes,
    known_optimizers,
)
from workloads.optimizers.gradient_descent import GradientDescent
from workloads.optimizers.momentum import Momentum
from workloads.optimizers.observed_update import ObservedUpdate
from workloads.optimizers.rmsprop import RMSProp
from workloads.optimizers.update_forms import OWN, EpsilonPlace, FormKind, UpdateForm, UpdateFormula, epsilon_form

__all__ = [
    "OWN",
    "Adagrad",
    "Adam",
    "ChangeSlot",
    "EpsilonPlace",
    "FormKind",
    "GradientDescent",
    "GradientDifference",
    "KerasClass",
    "Kernel",
    "Momentum",
    "ObservedUpdate",
    "Optimizer",
    "RMSProp",
    "SlotRule",
    "Tf1Class",
    "UpdateForm",
    "UpdateFormula",
    "epsilon_form",
    "known_keras_classes",
    "known_optimizers",
]
