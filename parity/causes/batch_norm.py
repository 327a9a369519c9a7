"""Causes in batch normalization itself: how its statistics move, and what it normalizes with."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.moving_statistics import normalizing
from parity.causes.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import layers

_BATCH_NORM = layers.batch_norm


def _moves(evidence):
    """(moves of means, moves of variances), told apart by name; a variance is a statistic called so."""
    seen = evidence.statistics
    if seen is None or not seen.moves:
        return [], []
    variances = [m for name, moves in seen.moves.items() if "var" in name.lower() for m in moves]
    means = [m for name, moves in seen.moves.items() if "mean" in name.lower() for m in moves]
    return means, variances


def bessel(evidence):
    means, variances = _moves(evidence)
    seen = [m.mix for m in variances if m.mix.residual <= 4 * evidence.clean_residual and np.isfinite(m.mix.residual)]
    if not means or len(seen) < len(variances) or any(not near(m.share.factor, 1, 1e-3) for m in means):
        return None
    factors = {
        name: _median_factor(moves) for name, moves in evidence.statistics.moves.items() if "var" in name.lower()
    }
    if not factors or all(near(factor, 1, 1e-5) for factor in factors.values()):
        return None
    counts = {name: 1 / abs(1 - (f if f < 1 else 1 / f)) for name, f in factors.items() if not near(f, 1, 1e-6)}
    if not counts or any(abs(count / round(count) - 1) > 0.02 for count in counts.values() if count < 1e4):
        return None
    name, count = min(counts.items(), key=lambda item: item[1])
    return Finding(
        f"The port's moving variance takes {format_number(factors[name])} x legacy's batch variance ({round(count)} examples and positions in {name}): one side "
        "stores it with Bessel's n / (n - 1), the other without.",
        HIGH,
        f"moving means agree; variance fitted as a x legacy's + c x old, residual {max(m.residual for m in seen):.1e}",
    )


def _median_factor(moves):
    return float(np.median([move.mix.factor for move in moves]))


def decay(evidence):
    means, variances = _moves(evidence)
    shares = [move.share for move in means]
    if not shares or max(s.residual for s in shares) > 1e-3 or spread([s.factor for s in shares]) > 1e-2:
        return None
    share = float(np.median([s.factor for s in shares]))
    if near(share, 1, 1e-3):
        return None
    return Finding(
        "The port's statistics take {} x legacy's share of a batch: 1 - momentum differs by that factor ({}).".format(
            format_number(share),
            "0.99 against 0.999 is 10" if near(share, 10, 0.02) or near(share, 0.1, 0.02) else "so does the decay",
        ),
        HIGH,
        f"the same ratio in {len(shares)} proposals, residual {max(s.residual for s in shares):.1e}",
    )


def synchronized(evidence):
    seen = evidence.statistics
    if seen is None or seen.borrowed or not np.isfinite(seen.alike[1]):
        return None
    if seen.alike[1] > 1e-4 or seen.alike[0] <= 1e-3 or seen.global_mean > 1e-4:
        return None
    return Finding(
        "The port's replicas normalize with the moments of the global batch; legacy's towers each with their own.",
        HIGH,
        f"all replicas propose the same moments (gap {seen.alike[1]:.1e}; legacy's towers {seen.alike[0]:.1e}), and the first layer's mean is the "
        f"mean of legacy's ({seen.global_mean:.1e})",
    )


def after_first_norm(evidence):
    seen = evidence.statistics
    if seen is None or seen.borrowed or not seen.gaps or bessel(evidence) or decay(evidence) or synchronized(evidence):
        return None
    equal = [name for name, gap in seen.gaps.items() if gap <= 10 * evidence.eps]
    unequal = [name for name, gap in seen.gaps.items() if gap > 1000 * evidence.eps]
    if not equal or not unequal or any(not batch.same for batch in evidence.batches):
        return None
    return Finding(
        "The first batch normalization ({}) sees the same moments on both sides and what follows it does not: its "
        "epsilon, scale or offset differs.".format(sorted(equal)[0].rsplit("/", 1)[0]),
        MEDIUM,
        f"largest gap of its proposals {max(seen.gaps[name] for name in equal):.1e}; of {len(unequal)} later ones up to {max(seen.gaps.values()):.1e}",
    )


def _moving(how):
    """`layers.batch_norm` with `how(moving, moment, count, momentum)` as the new moving variance or mean."""

    def batch_norm(scope, x, momentum=0.9, epsilon=1e-5):
        import tensorflow as tf

        return _normalize(scope, x, momentum, epsilon, how, lambda x, axes: tf.nn.moments(x, axes))

    return batch_norm


def _normalize(scope, x, momentum, epsilon, how, moments):
    import tensorflow as tf

    channels, axes = int(x.shape[-1]), list(range(x.shape.rank - 1))
    gamma, beta = scope.get("gamma", (channels,), layers.ONES), scope.get("beta", (channels,), layers.ZEROS)
    means = scope.get("moving_mean", (channels,), layers.ZEROS, trainable=False)
    variances = scope.get("moving_variance", (channels,), layers.ONES, trainable=False)
    mean, variance = moments(x, axes)
    count = float(np.prod([int(x.shape[axis]) for axis in axes]))
    share, unbiased = how(momentum, count)
    scope.update("moving_mean", means - (means - mean) * share)
    scope.update("moving_variance", variances - (variances - variance * unbiased) * share)
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon)


def _global_moments(x, axes):
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return tf.nn.moments(x, axes)
    mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, tf.reduce_mean(x, axes))
    return mean, context.all_reduce(tf.distribute.ReduceOp.MEAN, tf.reduce_mean(tf.square(x - mean), axes))


def _synchronized_norm(scope, x, momentum=0.9, epsilon=1e-5):
    return _normalize(scope, x, momentum, epsilon, lambda m, n: (1.0 - m, n / max(n - 1.0, 1.0)), _global_moments)


def _larger_epsilon(scope, x, momentum=0.9, epsilon=1e-5):
    return _BATCH_NORM(scope, x, momentum, 100 * epsilon)


def _with_norm(batch_norm):
    """The modern side traced with another `layers.batch_norm`.

    Put back to the one that this module was imported with: replicas are traced in threads that take turns wherever
    they exchange something, so "the one before" may be another replica's.
    """

    class Step(injection.ScaledStep):
        def _forward_backward(self, local, step, replica, batch):
            layers.batch_norm = batch_norm
            try:
                return super()._forward_backward(local, step, replica, batch)
            finally:
                layers.batch_norm = _BATCH_NORM

    return injection.in_replica_step(Step)


CAUSES = (
    Cause(
        "BN_BESSEL",
        stages.STATISTICS,
        "Bessel's correction of the moving variance",
        "moving means agree; variance ratio n / (n - 1), n = b H W",
        "The fused kernel stores the unbiased variance, Keras 3 and the unfused layer the biased one.",
        "Multiply the batch variance by n / (n - 1) before it enters the moving average.",
        bessel,
        (Fault("biased_variance", _with_norm(_moving(lambda m, n: (1.0 - m, 1.0))), normalizing),),
        "R20",
    ),
    Cause(
        "BN_DECAY_099_0999",
        stages.STATISTICS,
        "another momentum of the batch statistics",
        "what a step adds to the statistics has one ratio, 10 for 0.99 against 0.999",
        "slim's and contrib's decay is 0.999, tf.layers' and Keras's momentum 0.99.",
        "Give the port legacy's momentum.",
        decay,
        (
            Fault(
                "momentum_of_another_library",
                _with_norm(_moving(lambda m, n: ((1.0 - m) / 10, n / (n - 1.0)))),
                normalizing,
            ),
        ),
        "R21",
    ),
    Cause(
        "BN_EPSILON",
        stages.LOSS,
        "batch normalization's epsilon",
        "the first normalization's moments agree, all after it differ by 1e-5 to 1e-2",
        "Epsilon defaults differ: 1e-3 in tf.layers, slim and Keras, 1e-5 in PyTorch and in papers; slim has no scale.",
        "Give the port legacy's epsilon, and its scale and offset.",
        after_first_norm,
        (Fault("norm_epsilon_of_another_library", _with_norm(_larger_epsilon), normalizing),),
    ),
    Cause(
        "SYNC_BN_ON",
        stages.LOSS,
        "batch normalization is synchronized",
        "the first loss differs with equal weights; all replicas propose the moments of the global batch",
        "synchronized=True (or SyncBatchNormalization) computes moments over all replicas; towers never did.",
        "synchronized=False for parity.",
        synchronized,
        (Fault("synchronized_moments", _with_norm(_synchronized_norm), normalizing),),
        "R23",
    ),
)
