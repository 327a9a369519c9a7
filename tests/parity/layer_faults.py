"""Faults in one layer of a built-in workload, for tests of whether that layer is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import tensorflow as tf

import modern.factory
from parity.comparison.result import Verification
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup, exact_setup
from workloads import layers
from workloads.job import Job
from workloads.scope import Scope
from workloads.selection import registry
from workloads.workload import Workload

#: A layer with a fault: function (the healthy layer, scope, input, further arguments) to the output.
Fault = Callable[..., tf.Tensor]


class Case(NamedTuple):
    """A fault in one layer.

    Attributes:
      workload: its name.
      kind: name of the function of `layers`.
      layer: the scope that the layer is in.
      fault: one of the functions below.
    """

    workload: str
    kind: str
    layer: str
    fault: Fault


class _OtherWeight(Scope):
    """A scope whose first weight is changed on the way to the layer."""

    def __init__(self, scope: Scope, change: Callable[[tf.Tensor], tf.Tensor]) -> None:
        super().__init__(scope._frame, scope._prefix)
        self._change: Callable[[tf.Tensor], tf.Tensor] | None = change

    def get(self, *arguments: Any, **options: Any) -> tf.Tensor:
        value = super().get(*arguments, **options)
        change, self._change = self._change, None
        return value if change is None else change(value)


def scaled_output(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(scope, x, *rest, **options) * 1.001


def shifted_input(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(scope, tf.roll(x, 1, axis=1), *rest, **options)


def reversed_weight(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(_OtherWeight(scope, lambda value: tf.reverse(value, [0])), x, *rest, **options)


def frozen_weight(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(_OtherWeight(scope, tf.stop_gradient), x, *rest, **options)


def rounded_weight(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(_OtherWeight(scope, lambda w: tf.cast(tf.cast(w, tf.bfloat16), w.dtype)), x, *rest, **options)


def no_gradient_behind(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(scope, tf.stop_gradient(x), *rest, **options)


def half_gradient(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    y = healthy(scope, x, *rest, **options)
    return 0.5 * y + tf.stop_gradient(0.5 * y)


def other_epsilon(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(scope, x, epsilon=1e-3)


def other_momentum(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(scope, x, momentum=0.99)


def no_forget_bias(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    return healthy(scope, x, *rest, forget_bias=0.0)


def other_rate(healthy: Fault, scope: Scope, x: tf.Tensor, rate: float) -> tf.Tensor:
    return healthy(scope, x, 2 * rate)


def more_decay(healthy: Fault, scope: Scope, x: tf.Tensor, *rest: Any, **options: Any) -> tf.Tensor:
    y = healthy(scope, x, *rest, **options)
    for name, value in list(scope._frame.values_given.items()):
        if name.startswith(scope._prefix) and value.shape.rank > 1:
            scope.decay(0.01, value)
    return y


CASES = [
    Case("resnet18", "conv", "stem", scaled_output),
    Case("resnet18", "conv", "stage0_block0/conv1", reversed_weight),
    Case("resnet18", "conv", "stage0_block1/conv2", shifted_input),
    Case("resnet18", "batch_norm", "stage1_block0/conv1", other_epsilon),
    Case("resnet18", "conv", "stage1_block0/shortcut", scaled_output),
    Case("resnet18", "conv", "stage2_block0/shortcut", no_gradient_behind),
    Case("resnet18", "conv", "stage1_block1/conv1", no_gradient_behind),
    Case("resnet18", "batch_norm", "stage2_block0/conv2", other_momentum),
    Case("resnet18", "conv", "stage2_block1/conv1", frozen_weight),
    Case("resnet18", "batch_norm", "stage2_block1/conv2", half_gradient),
    Case("resnet18", "conv", "stage3_block0/conv1", rounded_weight),
    Case("resnet18", "conv", "stage3_block0/shortcut", frozen_weight),
    Case("resnet18", "batch_norm", "stage3_block1/conv2", scaled_output),
    Case("resnet18", "conv", "stage3_block1/conv2", more_decay),
    Case("resnet18", "dense", "logits", frozen_weight),
    Case("stacked_lstm", "lstm_sequence", "lstm0", no_forget_bias),
    Case("stacked_lstm", "lstm_sequence", "lstm1", no_forget_bias),
    Case("stacked_lstm", "lstm_sequence", "lstm2", no_forget_bias),
    Case("stacked_lstm", "lstm_sequence", "lstm0", reversed_weight),
    Case("stacked_lstm", "lstm_sequence", "lstm1", shifted_input),
    Case("stacked_lstm", "lstm_sequence", "lstm2", scaled_output),
    Case("stacked_lstm", "lstm_sequence", "lstm0", frozen_weight),
    Case("stacked_lstm", "lstm_sequence", "lstm1", frozen_weight),
    Case("stacked_lstm", "lstm_sequence", "lstm1", half_gradient),
    Case("stacked_lstm", "lstm_sequence", "lstm2", no_gradient_behind),
    Case("stacked_lstm", "lstm_sequence", "lstm1", rounded_weight),
    Case("stacked_lstm", "dropout", "lstm0", other_rate),
    Case("stacked_lstm", "dropout", "lstm2", half_gradient),
    Case("stacked_lstm", "lstm_sequence", "lstm2", more_decay),
    Case("stacked_lstm", "dense", "logits", reversed_weight),
]


def faulty_workload(workload: Workload, case: Case) -> Workload:
    """Returns the workload with the fault."""

    def loss(self: Workload, scope: Scope, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        healthy = getattr(layers, case.kind)

        def layer(scope: Scope, *arguments: Any, **options: Any) -> tf.Tensor:
            if scope._prefix == case.layer + "/":
                return case.fault(healthy, scope, *arguments, **options)
            return healthy(scope, *arguments, **options)

        with mock.patch.object(layers, case.kind, layer):
            return type(workload).loss(self, scope, batch)

    kind = type("Faulty", (type(workload),), {"loss": loss})
    return kind(**{field.name: getattr(workload, field.name) for field in dataclasses.fields(workload)})


def tapped_setup(name: str, case: Case | None = None, taps: tuple[str, ...] = ("*",)) -> Setup:
    """Returns the setup of a workload at a small size, whose port has the fault.

    Args:
      name: of the workload.
      case: the fault; None for none.
      taps: patterns of the taps that are recorded.
    """
    job = Job(registry.get(name, "small"), replicas=2, global_batch=4, dtype="float32", seed=0)
    setup = exact_setup(job)
    setup = dataclasses.replace(
        setup,
        legacy=dataclasses.replace(setup.legacy, taps=taps),
        modern=dataclasses.replace(setup.modern, taps=taps),
    )
    if case is None:
        return setup
    faulty = dataclasses.replace(job, workload=faulty_workload(job.workload, case))

    def port(setup: Setup) -> Any:
        return modern.factory.modern_program(faulty, setup.make_source(job), setup.modern, setup.devices())

    return dataclasses.replace(setup, port=port)


def compared(setup: Setup, steps: int = 1) -> Verification:
    """Returns the comparison of a setup's two sides in its first steps."""
    with setup.legacy_program() as left, setup.modern_program() as right:
        return verify(left, right, setup.job, steps)
