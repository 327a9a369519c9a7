"""Causes below the mathematics: the order of additions, reduced precision, results that do not repeat."""

from __future__ import annotations

from unittest import mock

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, LOW, MEDIUM, Cause, Fault, Finding
from parity.comparison import stages
from parity.comparison.fits import flatten_arrays, relative_norm


def not_repeatable(evidence):
    left, right = evidence.combined_fits
    if right is None or right.fits or np.isfinite(right.weight) or left is None or not left.fits:
        return None
    if evidence.repeat_difference <= 1e-5:
        return None
    return Finding(
        f"The port's reduction gives another result each time: the same step from the same state differs by {evidence.repeat_difference:.1e}, and "
        "no sum of the replicas' gradients explains it.",
        HIGH,
        f"the last step was taken twice; legacy's reduction is explained to {next(iter(left.fits.values())):.1e}",
    )


def reduced_precision(evidence):
    found = evidence.gradients
    if not found or any(not batch.same for batch in evidence.batches):
        return None
    residuals = [entry.fit.residual for entry in found]
    factors = [entry.fit.factor for entry in found]
    losses = [abs(entry.loss - 1) for entry in found if np.isfinite(entry.loss)]
    middle = float(np.median(residuals))
    if not 2e-5 < middle < 0.3 or max(abs(f - 1) for f in factors) > 0.1 or max(losses, default=0.0) > 1e-2:
        return None
    if evidence.masks is not None and evidence.masks.same < 1:
        return None
    signs = {entry.loss > 1 for entry in found if np.isfinite(entry.loss) and entry.loss != 1}
    about = " ".join(str(value) for side in evidence.context.about.values() for value in dict(side).values())
    return Finding(
        f"Losses and gradients differ by {middle:.0e} without a factor or a pattern, and all that follows from them agrees: "
        "the size of products in reduced precision (TensorFloat-32 rounds to 10 bits).",
        MEDIUM if (5e-5 < middle < 5e-3 and len(signs) == 2) or "TF32" in about else LOW,
        f"median residual of {len(found)} gradients; no one factor, decay, mask, batch, clipping or update explains it",
    )


def rounding(evidence):
    worst, differ = 0.0, False
    for step in evidence.steps:
        if not step.same_state:
            continue
        for left, right in zip(step.left.gradients, step.right.gradients):
            names = sorted(set(left) & set(right))
            a, b = flatten_arrays(left, names), flatten_arrays(right, names)
            differ = differ or not np.array_equal(a, b)
            worst = max(worst, relative_norm(b - a, a))
        for name in set(step.left.combined) & set(step.right.combined):
            differ = differ or not np.array_equal(step.left.combined[name], step.right.combined[name])
        if step.left.combined and step.right.combined:
            names = sorted(set(step.left.combined) & set(step.right.combined))
            a, b = flatten_arrays(step.left.combined, names), flatten_arrays(step.right.combined, names)
            worst = max(worst, relative_norm(b - a, a))
        differ = differ or any(not np.array_equal(a, b) for a, b in zip(step.left.losses, step.right.losses))
    if not differ or worst > 100 * evidence.eps:
        return None
    return Finding(
        f"What differs is rounding: gradients agree to {worst:.1e} of their length in steps from the same state, and nothing "
        "has a factor or a trend.",
        HIGH,
        f"machine epsilon is {evidence.eps:.1e}; additions in another order, or other kernels, make a few of it",
    )


class _Backwards(injection.ScaledStep):
    """Each replica's examples in reverse: the same sums in another order."""

    def _forward_backward(self, local, step, replica, batch):
        return super()._forward_backward(local, step, replica, {name: value[::-1] for name, value in batch.items()})


class _TensorFloat(injection.ScaledStep):
    """Products of operands rounded to 10 bits of mantissa, as an Ampere GPU takes them."""

    def _forward_backward(self, local, step, replica, batch):
        import tensorflow as tf

        def rounded(x):
            bits = tf.bitcast(tf.cast(x, tf.float32), tf.int32)
            kept = tf.bitwise.bitwise_and(bits + 0x1000, tf.constant(~0x1FFF, tf.int32))
            return x + tf.stop_gradient(tf.cast(tf.bitcast(kept, tf.float32), x.dtype) - x)

        matmul, conv2d = tf.matmul, tf.nn.conv2d
        with mock.patch.object(tf, "matmul", lambda a, b, **k: matmul(rounded(a), rounded(b), **k)), mock.patch.object(
            tf.nn, "conv2d", lambda a, b, **k: conv2d(rounded(a), rounded(b), **k)
        ):
            return super()._forward_backward(local, step, replica, batch)


class _Noisy(injection.ScaledStep):
    """A reduction that adds something else each time."""

    def _combine(self, context, gradients):
        import tensorflow as tf

        combined = super()._combine(context, gradients)
        noise = {name: tf.random.normal(value.shape, dtype=value.dtype) for name, value in combined.items()}
        return {name: value * (1 + 0.01 * noise[name]) for name, value in combined.items()}


def _in_order(workload):
    """`adapt`: dropout would give the reversed examples other masks."""
    return workload.without_dropout()


CAUSES = (
    Cause(
        "NONDET",
        stages.COMBINED,
        "the reduction does not repeat",
        "large errors without a factor that differ between runs of one step",
        "Wrong sums in an all-reduce (real bugs existed), a race, an unseeded random op between gradient and update.",
        "Compare with tf.distribute.ReductionToOneDevice; tf.config.experimental.enable_op_determinism.",
        not_repeatable,
        (
            Fault(
                "reduction_with_noise",
                injection.in_replica_step(_Noisy),
                injection.without_clip,
                also=("REPLICA_DRIFT",),
            ),
        ),
        "R29",
    ),
    Cause(
        "TF32",
        stages.LOSS,
        "products in reduced precision",
        "losses and gradients off by 1e-4 to 1e-3 at random, all else exact",
        "TensorFloat-32 is on by default on Ampere GPUs and later; bfloat16 and float16 look alike, larger.",
        "tf.config.experimental.enable_tensor_float_32_execution(False) on both sides for parity; say what a speed run "
        "used.",
        reduced_precision,
        (Fault("products_in_tensor_float_32", injection.in_replica_step(_TensorFloat)),),
        "R27",
        last=True,
    ),
    Cause(
        "FLOAT_ORDER",
        stages.GRADIENTS,
        "rounding",
        "1e-7 to 1e-6 everywhere, no trend",
        "Floating-point addition is not associative; reductions and kernels add in different orders.",
        "Accept it (--tolerance=auto), or --all_reduce=tower_order for identical bits.",
        rounding,
        (Fault("examples_in_reverse", injection.in_replica_step(_Backwards), _in_order),),
        "R28",
        bug=False,
        last=True,
    ),
)
