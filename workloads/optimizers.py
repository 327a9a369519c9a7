"""Optimizers as data: the constants and slots of TensorFlow 1.x's rules, with their 1.x defaults.

`slots` gives each per-weight slot's initial value, `accumulators` the scalars kept once per optimizer. Legacy
builds the `tf.compat.v1.train` optimizer of the same name, modern the update rule with the same kernel.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """Base of the five rules. `w` is a weight, `g` its combined gradient, `r` the learning rate."""

    def slots(self):
        """{slot name: initial value} kept for every weight."""
        return {}

    def accumulators(self):
        """{name: initial value} of the float32 scalars kept once."""
        return {}


@dataclasses.dataclass(frozen=True)
class GradientDescent(Optimizer):
    """`w -= r * g`."""


@dataclasses.dataclass(frozen=True)
class Momentum(Optimizer):
    """`a = momentum * a + g; w -= r * a` (Nesterov: `w -= r * (g + momentum * a)`)."""

    momentum: float = 0.9
    nesterov: bool = False

    def slots(self):
        return {"momentum": 0.0}


@dataclasses.dataclass(frozen=True)
class Adam(Optimizer):
    """Kingma & Ba, arXiv:1412.6980, in the epsilon-hat form TensorFlow uses."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def slots(self):
        return {"m": 0.0, "v": 0.0}

    def accumulators(self):
        return {"beta1_power": self.beta1, "beta2_power": self.beta2}


@dataclasses.dataclass(frozen=True)
class RMSProp(Optimizer):
    """`s = decay * s + (1 - decay) * g**2; a = momentum * a + r * g / sqrt(s + epsilon); w -= a`; `s` starts at one."""

    decay: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-10

    def slots(self):
        return {"rms": 1.0, "momentum": 0.0}


@dataclasses.dataclass(frozen=True)
class Adagrad(Optimizer):
    """`s += g**2; w -= r * g / sqrt(s)`."""

    initial_accumulator: float = 0.1

    def slots(self):
        return {"accumulator": self.initial_accumulator}
