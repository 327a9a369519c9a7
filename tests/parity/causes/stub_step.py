"""Runs the replica steps of injected faults on plain numbers, without a graph, a strategy or a session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import tensorflow as tf

from modern.mirrored.state.variables import LocalState
from modern.mirrored.step.replica_step import ReplicaStep
from modern.mirrored.step.training_step import PassResult
from parity.causes.basics.injection import Change, WrappedRules
from parity.causes.catalogue import CAUSES
from tests.cases import Dyadic
from workloads.job import Job
from workloads.workload import Workload

FAULTS = {fault.name: fault for cause in CAUSES for fault in cause.faults}


def change_of(name: str) -> Change:
    """Returns the change of the port that a fault consists of."""
    change = FAULTS[name].inject
    assert isinstance(change, Change)
    return change


def faulty_step(name: str, workload: Workload | None = None, replicas: int = 4) -> ReplicaStep:
    """Returns the replica step of a fault, without variables; four replicas of two examples unless given."""
    (step_class,) = change_of(name).steps
    step = object.__new__(step_class)
    step._job = Job(workload or Dyadic(), replicas, global_batch=2 * replicas)
    return step


class Variable:
    """A variable that is read as a number."""

    def __init__(self, value: float) -> None:
        self._value = value

    def read_value(self) -> float:
        return self._value


def forward_backward(
    step: ReplicaStep,
    gradients: dict[str, Any],
    replica: int = 0,
    loss: Any = 1.0,
    weights: dict[str, float] | None = None,
    batch: dict[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Returns (loss, gradients) that the faulty step makes of the healthy step's loss and gradients."""
    local = SimpleNamespace(weights={name: Variable(value) for name, value in (weights or {}).items()})
    healthy = mock.patch.object(
        ReplicaStep, "_forward_backward", lambda *args: PassResult(loss, dict(gradients), {}, {})
    )
    with healthy:
        made_loss, made, updates, masks = step._forward_backward(local, 0, replica, batch or {})
    assert (updates, masks) == ({}, {})
    return made_loss, made


def combine(step: ReplicaStep, gradients: dict[str, float]) -> dict[str, float]:
    """Returns the faulty step's combined gradients where the healthy step combines equal replicas by their mean."""
    with mock.patch.object(ReplicaStep, "_combine", lambda self, context, gradients: dict(gradients)):
        return step._combine(None, gradients)


def local_state(
    step: int = 0,
    weights: dict[str, Any] | None = None,
    slots: dict[str, Any] | None = None,
    statistics: dict[str, Any] | None = None,
    averages: dict[str, Any] | None = None,
) -> LocalState:
    """Returns one replica's variables, float32, with the values that are given."""
    kinds = [
        {name: tf.Variable(value, dtype=tf.float32) for name, value in (values or {}).items()}
        for values in (weights, slots, statistics, averages)
    ]
    return LocalState(0, tf.Variable(step, dtype=tf.int64), *kinds)


def values_of(variables: dict[str, tf.Variable]) -> dict[str, Any]:
    """Returns {name: value as Python numbers or lists}."""
    return {name: variable.numpy().tolist() for name, variable in variables.items()}


class SubtractGradients(WrappedRules):
    """Update rules that subtract the learning rate times the gradient from each weight, and add 1 to each slot."""

    def __init__(self) -> None:
        pass

    def apply(self, local: LocalState, gradients: dict[str, Any], rate: Any) -> None:
        for name, gradient in gradients.items():
            local.weights[name].assign_sub(rate * gradient)
        for slot in local.slots.values():
            slot.assign_add(tf.ones_like(slot))


def apply_rules(name: str, local: LocalState, gradients: dict[str, Any], rate: float) -> None:
    """Updates `local` by a fault's rules, which wrap `SubtractGradients`."""
    (wrap,) = change_of(name).rules
    wrap(SubtractGradients()).apply(local, {key: tf.constant(value) for key, value in gradients.items()}, rate)
