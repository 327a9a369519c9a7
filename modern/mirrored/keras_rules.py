"""The optimizers' updates by Keras 3, with the constants and slot values that make it agree with TensorFlow 1.x.

Each replica has a Keras optimizer of its own on its own variables and calls its `update_step`: the gradients
are combined and clipped already, and Keras would reduce (and clip) them once more.

Where Keras cannot agree: its momentum keeps `v = m * v - rate * g` and 1.x `a = m * a + g`, which is the same
path only while the rate is constant; and its formulas round differently in the last bits.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from workloads import optimizers, schedules

#: {Keras optimizer: {1.x slot: name of its list of slots}}; a list is empty where the optimizer keeps none.
SLOTS = {
    "SGD": {"momentum": "momentums"},
    "Adam": {"m": "_momentums", "v": "_velocities"},
    "RMSprop": {"rms": "_velocities", "momentum": "_momentums"},
    "Adagrad": {"accumulator": "_accumulators"},
}


class KerasRules:
    """Keras 3 optimizers, one per replica, in the place of `update_rules.Tf1Rules`.

    Args:
      workload: whose optimizer and schedule to follow.
      variables: `MirroredState`.
      replicas: how many.
    """

    def __init__(self, workload, variables, replicas):
        self._workload = workload
        self._rule = workload.optimizer
        self._names = list(variables.weights)
        self._optimizers = []
        for replica in range(replicas):
            local = list(variables.local(replica).weights.values())
            with tf.device(local[0].device):
                optimizer = make(self._rule)
                optimizer.build(local)
            self._optimizers.append(optimizer)

    def describe(self):
        """Text for the report, with what cannot agree."""
        text = f"keras {keras.__version__}: {type(self._optimizers[0]).__name__}"
        constant = isinstance(self._workload.learning_rate, schedules.Fixed)
        if isinstance(self._rule, optimizers.Momentum) and not constant:
            return text + "; CANNOT agree when the rate changes: Keras keeps the rate inside the momentum"
        return text + "; agrees to rounding, not in identical bits"

    def apply(self, local, gradients, rate):
        """See `update_rules.Tf1Rules.apply`."""
        optimizer = self._optimizers[local.replica]
        for name, gradient in gradients.items():
            optimizer.update_step(gradient, local.weights[name], tf.cast(rate, gradient.dtype))
        optimizer.iterations.assign_add(1)

    def load(self, state, rate):
        """Gives the Keras slots the values of a `State` in 1.x's terms; `rate` is the last step's."""
        for optimizer in self._optimizers:
            optimizer.iterations.assign(state.step)
            for slot, index, variable in self._pairs(optimizer):
                value = state.slots[f"{self._names[index]}/{slot}"]
                variable.assign(value * -rate if isinstance(self._rule, optimizers.Momentum) else value)

    def slots(self, state, rate):
        """The first replica's slots in 1.x's terms: `a = -v / rate`, and Adam's powers from the step."""
        slots = dict(state.slots)
        for slot, index, variable in self._pairs(self._optimizers[0]):
            value = np.asarray(variable.numpy())
            if isinstance(self._rule, optimizers.Momentum):
                value = np.asarray(value / np.asarray(-rate, value.dtype))
            slots[f"{self._names[index]}/{slot}"] = value
        for power, beta in self._rule.accumulators().items():
            slots[power] = np.asarray(np.float32(beta) ** np.float32(state.step + 1))
        return slots

    def _pairs(self, optimizer):
        for slot, attribute in SLOTS[type(optimizer).__name__].items():
            for index, variable in enumerate(getattr(optimizer, attribute)):
                yield slot, index, variable


def make(rule):
    """The Keras 3 optimizer for `rule`, with 1.x's constants: epsilons and initial slots are not Keras's defaults."""
    if isinstance(rule, optimizers.GradientDescent):
        return keras.optimizers.SGD()
    if isinstance(rule, optimizers.Momentum):
        return keras.optimizers.SGD(momentum=rule.momentum, nesterov=rule.nesterov)
    if isinstance(rule, optimizers.Adam):
        return keras.optimizers.Adam(beta_1=rule.beta1, beta_2=rule.beta2, epsilon=rule.epsilon)
    if isinstance(rule, optimizers.RMSProp):
        return keras.optimizers.RMSprop(rho=rule.decay, momentum=rule.momentum, epsilon=rule.epsilon)
    return keras.optimizers.Adagrad(initial_accumulator_value=rule.initial_accumulator, epsilon=0.0)
