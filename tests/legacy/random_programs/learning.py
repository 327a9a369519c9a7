"""Learning rates, optimizers and moving averages of random programs, each beside what a page must say of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

v1 = tf.compat.v1


class Rate(NamedTuple):
    """A learning rate.

    Attributes:
      build: makes it, given the step counter.
      at: its value at a step; None where the program sets it from outside.
    """

    build: Callable[[Any], Any]
    at: Callable[[int], float] | None


def _variable(name: str, value: float) -> tf.Variable:
    initializer = v1.constant_initializer(value)
    return v1.get_variable(name, [], initializer=initializer, trainable=False, use_resource=False)


def _float(step: Any) -> tf.Tensor:
    return tf.cast(step, tf.float32)


def _warmed_up(step: Any) -> tf.Tensor:
    decayed = v1.train.exponential_decay(0.1, step, 500, 0.7)
    return tf.minimum(_float(step) / 200.0, 1.0) * decayed


def _risen_and_fallen(step: Any) -> tf.Tensor:
    rising, falling = 0.01 + 0.09 * _float(step) / 500.0, 0.1 * (1.0 - (_float(step) - 500.0) / 1000.0)
    return tf.where(_float(step) < 500.0, rising, tf.maximum(falling, 0.001))


def _restarted(step: int) -> float:
    """SGDR with periods of 200, 400, 800, ... steps, each beginning with 0.9 times the last one's rate."""
    number, begin, period = 0, 0, 200
    while step >= begin + period:
        number, begin, period = number + 1, begin + period, 2 * period
    return 0.1 * 0.9**number * 0.5 * (1 + math.cos(math.pi * (step - begin) / period))


RATES = {
    "constant": Rate(lambda step: 0.05, lambda step: 0.05),
    "exponential": Rate(lambda step: v1.train.exponential_decay(0.1, step, 300, 0.8), lambda s: 0.1 * 0.8 ** (s / 300)),
    "staircase": Rate(
        lambda step: v1.train.exponential_decay(0.1, step, 300, 0.8, staircase=True), lambda s: 0.1 * 0.8 ** (s // 300)
    ),
    "pieces": Rate(
        lambda step: v1.train.piecewise_constant(step, [400, 900], [0.1, 0.01, 0.001]),
        lambda s: 0.1 if s <= 400 else 0.01 if s <= 900 else 0.001,
    ),
    "polynomial": Rate(
        lambda step: v1.train.polynomial_decay(0.1, step, 2000, 0.001, power=2.0),
        lambda s: 0.099 * (1 - min(s, 2000) / 2000) ** 2 + 0.001,
    ),
    "inverse time": Rate(
        lambda step: v1.train.inverse_time_decay(0.1, step, 100, 0.5), lambda s: 0.1 / (1 + 0.5 * s / 100)
    ),
    "cosine": Rate(
        lambda step: v1.train.cosine_decay(0.1, step, 1500, alpha=0.01),
        lambda s: 0.1 * (0.99 * 0.5 * (1 + math.cos(math.pi * min(s, 1500) / 1500)) + 0.01),
    ),
    "warm-up": Rate(_warmed_up, lambda s: min(s / 200, 1.0) * 0.1 * 0.7 ** (s / 500)),
    "natural exponential": Rate(
        lambda step: v1.train.natural_exp_decay(0.1, step, 300, 0.5), lambda s: 0.1 * math.exp(-0.5 * s / 300)
    ),
    "restarts": Rate(lambda step: v1.train.cosine_decay_restarts(0.1, step, 200, m_mul=0.9), _restarted),
    "rise and fall": Rate(
        _risen_and_fallen, lambda s: 0.01 + 0.09 * s / 500 if s < 500 else max(0.1 * (1 - (s - 500) / 1000), 0.001)
    ),
    "epochs": Rate(lambda step: 0.1 * tf.pow(0.9, _float(step // 50)), lambda s: 0.1 * 0.9 ** (s // 50)),
    "branch": Rate(
        lambda step: v1.cond(step < 500, lambda: tf.constant(0.1), lambda: tf.constant(0.01)),
        lambda s: 0.1 if s < 500 else 0.01,
    ),
    "square root": Rate(
        lambda step: 0.5 * tf.minimum(tf.math.rsqrt(_float(step) + 1.0), (_float(step) + 1.0) * 4000.0**-1.5),
        lambda s: 0.5 * min((s + 1) ** -0.5, (s + 1) * 4000**-1.5),
    ),
    "fed": Rate(lambda step: v1.placeholder(tf.float32, [], "learning_rate"), None),
    "variable": Rate(lambda step: _variable("learning_rate", 0.02), None),
}


class Optimizer(NamedTuple):
    """An update rule.

    Attributes:
      apply: makes the update of (gradient, variable) pairs with a learning rate.
      rule: how the page calls it.
      constants: those that the page shows, the learning rate aside.
      known: {name of a library's rule: constants} that the page may call the updates of some weights instead.
    """

    apply: Callable[[Sequence[Any], Any], Any]
    rule: str
    constants: tuple[str, ...]
    known: Mapping[str, tuple[str, ...]] = {}


def _library(make: Callable[[Any], Any], rule: str, *constants: str) -> Optimizer:
    return Optimizer(lambda pairs, rate: make(rate).apply_gradients(pairs), rule, constants)


def _slot(variable: tf.Variable, name: str) -> tf.Variable:
    name = variable.op.name + "/" + name
    zeros = v1.zeros_initializer()
    return v1.get_variable(name, variable.shape, initializer=zeros, trainable=False, use_resource=False)


def _dense(gradient: Any) -> tf.Tensor:
    return tf.convert_to_tensor(gradient)


def _descend_by_hand(pairs: Sequence[Any], rate: Any) -> Any:
    return tf.group(*[v1.assign_sub(variable, rate * _dense(gradient)) for gradient, variable in pairs])


def _velocities_by_hand(pairs: Sequence[Any], rate: Any) -> Any:
    updates = []
    for gradient, variable in pairs:
        velocity = v1.assign(_slot(variable, "velocity"), 0.9 * _slot_value(variable) - rate * _dense(gradient))
        updates.append(v1.assign_add(variable, velocity))
    return tf.group(*updates)


def _slot_value(variable: tf.Variable) -> tf.Variable:
    with v1.variable_scope(v1.get_variable_scope(), reuse=True):
        return v1.get_variable(variable.op.name + "/velocity", use_resource=False)


def _moments_by_hand(pairs: Sequence[Any], rate: Any) -> Any:
    updates = []
    for gradient, variable in pairs:
        gradient, m, v = _dense(gradient), _slot(variable, "m"), _slot(variable, "v")
        new_m = 0.9 * m + 0.1 * gradient
        new_v = 0.99 * v + 0.01 * tf.square(gradient)  # with 0.999, the first updates would be too large
        updates += [
            m.assign(new_m),
            v.assign(new_v),
            variable.assign(variable - rate * new_m / (tf.sqrt(new_v) + 1e-6)),
        ]
    return tf.group(*updates)


def _signs_by_hand(pairs: Sequence[Any], rate: Any) -> Any:
    return tf.group(*[v1.assign_sub(variable, rate * tf.sign(_dense(gradient))) for gradient, variable in pairs])


def _decayed_by_hand(pairs: Sequence[Any], rate: Any) -> Any:
    """Moments without corrections, and a decay of the weights besides, as BERT's optimizer has them."""
    updates = []
    for gradient, variable in pairs:
        gradient, m, v = _dense(gradient), _slot(variable, "adam_m"), _slot(variable, "adam_v")
        new_m = tf.multiply(0.9, m) + tf.multiply(1.0 - 0.9, gradient)
        new_v = tf.multiply(0.99, v) + tf.multiply(1.0 - 0.99, tf.square(gradient))
        update = new_m / (tf.sqrt(new_v) + 1e-6)
        if variable.shape.rank > 1:
            update += 0.01 * variable
        updates += [variable.assign(variable - rate * update), m.assign(new_m), v.assign(new_v)]
    return tf.group(*updates)


_ADAM = {"Adam without bias correction, of plain ops (Assign)": ("beta1=0.9", "beta2=0.99", "epsilon=1e-06")}
_IN_ADAM = ("0.9", "0.1", "0.99", "0.01", "1e-06")
OPTIMIZERS = {
    "descent": _library(v1.train.GradientDescentOptimizer, "GradientDescent"),
    "momentum": _library(lambda rate: v1.train.MomentumOptimizer(rate, 0.9), "Momentum", "momentum=0.9"),
    "nesterov": _library(
        lambda rate: v1.train.MomentumOptimizer(rate, 0.8, use_nesterov=True), "Momentum", "momentum=0.8", "nesterov"
    ),
    "Adam": _library(
        lambda rate: v1.train.AdamOptimizer(rate, 0.5, 0.99, 1e-4), "Adam", "beta1=0.5", "beta2=0.99", "epsilon=0.0001"
    ),
    "RMSProp": _library(
        lambda rate: v1.train.RMSPropOptimizer(rate, 0.95, 0.5, 1e-3),
        "RMSProp",
        "rho=0.95",
        "momentum=0.5",
        "epsilon=0.001",
    ),
    "RMSProp centered": _library(
        lambda rate: v1.train.RMSPropOptimizer(rate, 0.9, 0.0, 1e-2, centered=True),
        "CenteredRMSProp",
        "rho=0.9",
        "epsilon=0.01",
    ),
    "proximal": _library(lambda rate: v1.train.ProximalAdagradOptimizer(rate, 0.2), "ProximalAdagrad"),
    "Adagrad": _library(lambda rate: v1.train.AdagradOptimizer(rate, 0.2), "Adagrad"),
    "Adadelta": _library(
        lambda rate: v1.train.AdadeltaOptimizer(rate, 0.9, 1e-6), "Adadelta", "rho=0.9", "epsilon=1e-06"
    ),
    "Ftrl": _library(lambda rate: v1.train.FtrlOptimizer(rate), "Ftrl"),
    "descent by hand": Optimizer(_descend_by_hand, "written by hand (AssignSub)", ()),
    "velocity by hand": Optimizer(_velocities_by_hand, "written by hand (AssignAdd)", ("0.9",)),
    "moments by hand": Optimizer(_moments_by_hand, "written by hand (Assign)", _IN_ADAM, _ADAM),
    "signs by hand": Optimizer(_signs_by_hand, "written by hand (AssignSub)", ()),
    "decay by hand": Optimizer(_decayed_by_hand, "written by hand (Assign)", _IN_ADAM, _ADAM),
}
#: Those that the library wrote.
BY_HAND = ("descent by hand", "velocity by hand", "moments by hand", "signs by hand", "decay by hand")
