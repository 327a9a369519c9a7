"""Causes below the mathematics: the order of additions, reduced precision, results that do not repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Fault, Finding
from parity.causes.combining.dropped_gradients import gradients_not_cleared
from parity.comparison import stages
from parity.comparison.fits import flatten_arrays, relative_norm
from parity.diagnosis.signatures.passes import compare_passes
from workloads.support.wording import counted

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.comparison.setup import Setup
    from parity.diagnosis.context.job_context import About
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep
    from workloads.program import Arrays
    from workloads.workload import Workload

#: A step that was taken twice does not repeat if its combined gradient differs by more than this part.
SAME_RESULT = 1e-5

#: Median residual of gradients in reduced precision; TensorFloat-32 is narrower. Factors and losses stay near 1.
REDUCED, TENSOR_FLOAT_32 = (2e-5, 0.3), (5e-5, 5e-3)
MOST_FACTOR, MOST_LOSS = 0.1, 1e-2

#: Rounding makes gradients differ by at most so many machine epsilons of their length; states need not be quite equal.
MOST_ROUNDING = 10000.0


def nondet(evidence: Evidence) -> Finding | None:
    """Recognizes NONDET: no form explains the combined gradient, and taking the step again gives another one."""
    left, right = evidence.combined_fits
    if left is None or not left.fits or right is None or right.fits or np.isfinite(right.weight):
        return None
    if evidence.repeat_difference <= SAME_RESULT or gradients_not_cleared(evidence) is not None:
        return None
    return Finding(
        "The port's reduction gives another result each time: the same step from the same state differs by "
        f"{evidence.repeat_difference:.1e}, and no sum of the replicas' gradients explains it.",
        HIGH,
        f"the last step was taken twice; legacy's reduction is explained to {next(iter(left.fits.values())):.1e}",
    )


def tf32(evidence: Evidence) -> Finding | None:
    """Recognizes TF32: gradients differ at random, by as much as products in reduced precision do."""
    gradients = evidence.gradients
    if not gradients or any(not batch.same for batch in evidence.batches):
        return None
    residual = float(np.median([entry.fit.residual for entry in gradients]))
    losses = [entry.loss for entry in gradients if np.isfinite(entry.loss)]
    if not REDUCED[0] < residual < REDUCED[1] or max(abs(loss - 1) for loss in [1.0, *losses]) > MOST_LOSS:
        return None
    if not all(abs(entry.fit.factor - 1) <= MOST_FACTOR for entry in gradients):
        return None
    if evidence.masks is not None and evidence.masks.same < 1:
        return None
    if _runs_on_cpu(evidence.context.about.get("right", {})):
        return None  # which has no such products
    both_signs = len({loss > 1 for loss in losses if loss != 1}) == 2
    passes = compare_passes(evidence)
    revived = passes is not None and bool(passes.revived)  # which errors of products do not do
    typical = TENSOR_FLOAT_32[0] < residual < TENSOR_FLOAT_32[1] and both_signs and not revived
    return Finding(
        f"Losses and gradients differ by {residual:.0e} without a factor or a pattern, and all that follows from them "
        "agrees: so large are the errors of products in reduced precision (TensorFloat-32 rounds to 10 bits).",
        MEDIUM if typical or _mentions_tf32(evidence.context.about) else LOW,
        f"median residual of {len(gradients)} gradients; no single factor, decay, mask, batch, clipping or update "
        "explains it",
    )


def _runs_on_cpu(settings: Mapping[str, str]) -> bool:
    """Whether a side's description of itself names devices, and nothing but CPUs."""
    devices = str(settings.get("devices", "")).upper()
    return "CPU" in devices and "GPU" not in devices


def _mentions_tf32(about: About) -> bool:
    """Whether a side's description of itself names TF32."""
    return any("TF32" in str(value) for side in about.values() for value in side.values())


def float_order(evidence: Evidence) -> Finding | None:
    """Recognizes FLOAT_ORDER: something differs, and in every stage of every step rounding explains it."""
    deviations = evidence.deviations
    if not deviations.differing or deviations.found or deviations.unjudged:
        return None
    steps = [step for step in evidence.steps if step.same_state]
    vectors = [pair for step in steps for pair in _gradient_vectors(step)]
    worst = max([0.0, *(relative_norm(right - left, left) for left, right in vectors)])
    if not worst <= MOST_ROUNDING * evidence.eps:
        return None
    noise, unjudged_passes = deviations.pure_rounding, deviations.unjudged_passes
    aside = f"; the gradients of {', '.join(noise[:3])} are pure rounding and were not used" if noise else ""
    unjudged = ""
    if unjudged_passes:
        unjudged = (
            f" Losses and gradients of {counted(len(unjudged_passes), 'step')} (the first: step {unjudged_passes[0]}) "
            "could not be compared: the weights had diverged."
        )
    of_update = "each side's update is the rule's for its own inputs, to a few roundings."
    if evidence.context.optimizer is None and set(deviations.differing) & {stages.WEIGHTS, stages.SLOTS}:
        of_update = "the port's update is legacy's, to a few roundings."
        unjudged += (
            " No rule of the update is known, and a small fault of it would look the same: parity.verify "
            "--tolerance=auto compares updates in float64."
        )
    return Finding(
        f"The difference is rounding: in steps from the same state gradients agree to {worst:.1e} of their length, and "
        f"in every stage of every step {of_update}" + unjudged,
        MEDIUM if unjudged else HIGH,
        f"machine epsilon is {evidence.eps:.1e}; additions in another order, or other kernels, make a few times that"
        + aside,
    )


def inject_nothing(finding: Finding, setup: Setup) -> injection.Change:
    """Returns no change: the clean port itself agrees with a run that differs by rounding alone."""
    return injection.Change()


def _gradient_vectors(step: ComparedStep) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(left, right) of each replica's gradients, and of the combined gradient, in the weights that both have."""
    for left, right in zip(step.left.gradients, step.right.gradients):
        yield _common_vectors(left, right)
    if step.left.combined and step.right.combined:
        yield _common_vectors(step.left.combined, step.right.combined)


def _common_vectors(left: Arrays, right: Arrays) -> tuple[np.ndarray, np.ndarray]:
    names = sorted(set(left) & set(right))
    return flatten_arrays(left, names), flatten_arrays(right, names)


class _ReversedExamples(ReplicaStep):
    """Takes each replica's examples in reverse: the same sums in another order."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        return super()._forward_backward(local, step, replica, {name: value[::-1] for name, value in batch.items()})


class _TensorFloatProducts(ReplicaStep):
    """Rounds the operands of products to 10 bits of mantissa, as an Ampere GPU does."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        import tensorflow as tf

        matmul, conv2d = tf.matmul, tf.nn.conv2d

        def rounded_matmul(a: tf.Tensor, b: tf.Tensor, **options: object) -> tf.Tensor:
            return matmul(round_to_tensor_float(a), round_to_tensor_float(b), **options)

        def rounded_conv2d(x: tf.Tensor, filters: tf.Tensor, **options: object) -> tf.Tensor:
            return conv2d(round_to_tensor_float(x), round_to_tensor_float(filters), **options)

        with mock.patch.object(tf, "matmul", rounded_matmul), mock.patch.object(tf.nn, "conv2d", rounded_conv2d):
            return super()._forward_backward(local, step, replica, batch)


def round_to_tensor_float(x: tf.Tensor) -> tf.Tensor:
    """Returns `x` rounded to TensorFloat-32's 10 bits of mantissa; its gradient is `x`'s own."""
    import tensorflow as tf

    bits = tf.bitcast(tf.cast(x, tf.float32), tf.int32)
    rounded = tf.bitwise.bitwise_and(bits + 0x1000, tf.constant(~0x1FFF, tf.int32))
    return x + tf.stop_gradient(tf.cast(tf.bitcast(rounded, tf.float32), x.dtype) - x)


class _NoisyReduction(ReplicaStep):
    """Adds other random numbers to the combined gradient each time."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        import tensorflow as tf

        combined = super()._combine(context, gradients)
        noise = {name: tf.random.normal(value.shape, dtype=value.dtype) for name, value in combined.items()}
        return {name: value * (1 + 0.01 * noise[name]) for name, value in combined.items()}


def _without_dropout(workload: Workload) -> Workload:
    """Sets the dropout rate to zero: the examples in reverse would get other masks."""
    return workload.without_dropout()


CAUSES = (
    Cause(
        id="NONDET",
        stage=stages.COMBINED,
        title="the reduction is not deterministic",
        signature="Large errors without a factor, which differ between runs of one step",
        why="The all-reduce computes wrong sums (real bugs existed), there is a race, or a random op without a seed "
        "stands between gradient and update.",
        fix="Compare with tf.distribute.ReductionToOneDevice; call tf.config.experimental.enable_op_determinism.",
        criterion=nondet,
        faults=(
            Fault(
                "reduction_with_noise",
                injection.in_replica_step(_NoisyReduction),
                injection.without_clip,
                also=("REPLICA_DRIFT",),
            ),
        ),
        pitfall="R29",
    ),
    Cause(
        id="TF32",
        stage=stages.LOSS,
        title="products in reduced precision",
        signature="Losses and gradients differ by 1e-4 to 1e-3 at random; everything else is exact",
        why="TensorFloat-32 is on by default on Ampere GPUs and later ones. bfloat16 and float16 look the same, with "
        "larger errors.",
        fix="Call tf.config.experimental.enable_tensor_float_32_execution(False) on both sides for parity, and report "
        "the precision with every measured speed.",
        criterion=tf32,
        faults=(Fault("products_in_tensor_float_32", injection.in_replica_step(_TensorFloatProducts)),),
        pitfall="R27",
        last=True,
    ),
    Cause(
        id="FLOAT_ORDER",
        stage=stages.GRADIENTS,
        title="rounding",
        signature="Differences of 1e-7 to 1e-6 everywhere, without a trend",
        why="Floating-point addition is not associative; reductions and kernels add in different orders.",
        fix="Accept it (--tolerance=auto), or use --all_reduce=tower_order for identical bits.",
        criterion=float_order,
        change=inject_nothing,
        faults=(Fault("examples_in_reverse", injection.in_replica_step(_ReversedExamples), _without_dropout),),
        pitfall="R28",
        bug=False,
        last=True,
    ),
)
