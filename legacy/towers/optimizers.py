"""The workload's optimizer as the `tf.compat.v1.train` class of the same name."""

from __future__ import annotations

import tensorflow as tf

from workloads import optimizers

v1 = tf.compat.v1


def make(rule, rate):
    """The 1.x optimizer for `rule` (see `workloads.optimizers`) at learning-rate tensor `rate`."""
    if isinstance(rule, optimizers.GradientDescent):
        return v1.train.GradientDescentOptimizer(rate)
    if isinstance(rule, optimizers.Momentum):
        return v1.train.MomentumOptimizer(rate, rule.momentum, use_nesterov=rule.nesterov)
    if isinstance(rule, optimizers.Adam):
        return v1.train.AdamOptimizer(rate, rule.beta1, rule.beta2, rule.epsilon)
    if isinstance(rule, optimizers.RMSProp):
        return v1.train.RMSPropOptimizer(rate, rule.decay, rule.momentum, rule.epsilon)
    if isinstance(rule, optimizers.Adagrad):
        return v1.train.AdagradOptimizer(rate, rule.initial_accumulator)
    raise TypeError(f"no 1.x optimizer for {rule!r}")


def slot_variables(optimizer, rule, variables):
    """{"weight/slot": variable} and {accumulator: variable}, in the names of `workloads.optimizers`.

    Args:
      variables: {weight name: variable}, after `apply_gradients`.
    """
    slots = {
        f"{name}/{slot}": optimizer.get_slot(variable, slot)
        for name, variable in variables.items()
        for slot in rule.slots()
    }
    if rule.accumulators():
        slots.update(zip(("beta1_power", "beta2_power"), optimizer._get_beta_accumulators()))
    return slots
