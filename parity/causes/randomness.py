"""Causes in initial values and dropout."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, LOW, MEDIUM, Cause, Fault, Finding
from parity.causes.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near
from workloads import layers
from workloads.numerics import random_keys

#: {ratio of standard deviations: what makes it}
RATIOS = {
    20.0: "random_normal_initializer's 1.0 against RandomNormal's 0.05, or truncated normals' defaults",
    10.0: "random_uniform_initializer's [0, 1) against RandomUniform's +-0.05",
    0.87962566: "a truncated normal without the correction 1 / 0.8796",
    1.13683: "contrib's factor 1.3 / (2 x 0.5718) or the missing correction of old variance scaling",
}


def _scaled(evidence):
    """[(weight, ratio, whether it is an exact multiple)] of random weights that were drawn with another spread."""
    found = []
    for weight in evidence.initial.weights:
        if not np.isfinite(weight.std_ratio) or weight.size < 8:
            continue
        exact = weight.fit.residual < 1e-5
        noise = 1e-5 if exact else 4 / np.sqrt(weight.size)
        ratio = weight.fit.factor if exact else weight.std_ratio
        if abs(ratio - 1) > noise:
            found.append((weight, ratio, exact))
    return found


def _known(ratio, tolerance):
    for target, what in RATIOS.items():
        if near(ratio, target, tolerance) or near(ratio, 1 / target, tolerance):
            return what
    return None


def init_default(evidence):
    found = _scaled(evidence)
    if not found:
        return None
    weight, ratio, exact = max(found, key=lambda item: item[0].size)
    what = _known(ratio, 1e-3 if exact else 4 / np.sqrt(weight.size))
    return Finding(
        "{} starts with {} x legacy's standard deviation{}.".format(
            weight.name, format_number(ratio), ": " + what if what else ""
        ),
        HIGH if what and (exact or weight.size > 1000) else MEDIUM,
        "{} weights differ so; {} elements, {}".format(
            len(found), weight.size, "an exact multiple" if exact else "other random numbers"
        ),
    )


def init_seed(evidence):
    weights = [w for w in evidence.initial.weights if np.isfinite(w.std_ratio) and w.size >= 8]
    if not weights or _scaled(evidence) or not all(abs(w.fit.factor) < 0.9 for w in weights if w.size > 30):
        return None
    return Finding(
        f"{len(weights)} weights start from other random numbers of the same spread ({weights[0].name}): nothing after them is comparable.",
        HIGH,
        f"standard deviations agree, correlation {weights[0].fit.factor:.2f}",
    )


def same_mask(evidence):
    masks = evidence.masks
    if masks is None or not masks.agree[1] > 0.99 or masks.agree[0] > 0.99:
        return None
    return Finding(
        f"All replicas drop the same elements ({masks.agree[1]:.1%} agree; independent masks agree on {masks.expected[1]:.0%}).",
        HIGH,
        f"legacy's towers agree on {masks.agree[0]:.0%}",
    )


def keep_rate(evidence):
    masks = evidence.masks
    if masks is None:
        return None
    for name, (left, right) in masks.kept.items():
        noise = 5 / np.sqrt(masks.sizes[name])
        if not np.isfinite(left) or abs(left - right) <= noise:
            continue
        flipped = abs(right - (1 - left)) <= noise
        return Finding(
            "{} keeps {:.0%} of the elements in the port and {:.0%} in legacy{}.".format(
                name, right, left, ": keep_prob was read as a rate" if flipped else ""
            ),
            HIGH if flipped else MEDIUM,
            f"{masks.sizes[name]} elements were counted",
        )
    return None


def other_masks(evidence):
    masks = evidence.masks
    if (
        masks is None
        or not np.isfinite(masks.same)
        or masks.same > 0.9999
        or same_mask(evidence)
        or keep_rate(evidence)
    ):
        return None
    return Finding(
        f"Dropout draws other masks ({masks.same:.0%} of the elements agree, {masks.expected[0]:.0%} would by chance): losses and gradients "
        "cannot be compared.",
        HIGH if abs(masks.same - masks.expected[0]) < 0.1 else LOW,
        "rates agree, replicas are independent",
    )


def _rescale(factor):
    def change(state, setup):
        state.weights = {
            name: np.asarray(value * factor, value.dtype) if np.ptp(value) else value
            for name, value in state.weights.items()
        }
        _averages_too(state)

    return injection.in_first_state(change)


def _redraw(state, setup):
    for name, value in state.weights.items():
        if np.ptp(value):
            shuffled = random_keys.generator("another seed", name).permutation(value.ravel())
            state.weights[name] = shuffled.reshape(value.shape)
    _averages_too(state)


def _averages_too(state):
    state.averages = {name: state.weights[name].copy() for name in state.averages}


class _FirstsNoise(injection.ScaledStep):
    """Every replica draws the first one's noise: what Keras 3's Dropout does."""

    def _forward_backward(self, local, step, replica, batch):
        return super()._forward_backward(local, step, 0, batch)


class _OtherNoise(injection.ScaledStep):
    def _forward_backward(self, local, step, replica, batch):
        return super()._forward_backward(local, step, replica + 100, batch)


class _KeepsRate(injection.ScaledStep):
    """1.x's keep_prob handed to an argument that means the rate."""

    def _forward_backward(self, local, step, replica, batch):
        kept = layers.dropout
        layers.dropout = lambda scope, x, rate: kept(scope, x, 1.0 - rate) if rate else x
        try:
            return super()._forward_backward(local, step, replica, batch)
        finally:
            layers.dropout = kept


def dropping(workload):
    """`adapt`: workloads with dropout."""
    return workload if getattr(workload, "dropout_rate", 0) else None


CAUSES = (
    Cause(
        "INIT_DEFAULT",
        stages.INITIAL,
        "an initializer's default",
        "standard deviations of the first weights have the ratio 20, 10, 0.88 or 1.137",
        "Initializers of the same name have other defaults: random_normal 1.0 and 0.05, random_uniform [0, 1) and "
        "+-0.05, truncated normals with and without the correction for what is cut off.",
        "Name the argument (stddev, minval, maxval); load legacy's first values for parity.",
        init_default,
        (
            Fault("normal_of_another_default", _rescale(1 / 20.0)),
            Fault("uniform_of_another_default", _rescale(0.1)),
            Fault("uncorrected_truncated_normal", _rescale(0.87962566)),
        ),
        "R24",
    ),
    Cause(
        "INIT_SEED",
        stages.INITIAL,
        "other random first values",
        "the same spread, other numbers",
        "The same seed gives other numbers in another API.",
        "Load legacy's first values (a checkpoint, or the recording's).",
        init_seed,
        (Fault("other_first_values", injection.in_first_state(_redraw)),),
    ),
    Cause(
        "SAME_DROPOUT_MASK",
        stages.LOSS,
        "every replica drops the same elements",
        "masks of replicas 0 and 1 agree on more than 99 %",
        "Keras 3's Dropout, and any op with a fixed seed, draw the same numbers on every replica.",
        "Fold the replica's number into a stateless seed.",
        same_mask,
        (Fault("same_noise_on_every_replica", injection.in_replica_step(_FirstsNoise), dropping),),
        "R25",
    ),
    Cause(
        "KEEP_PROB_RATE",
        stages.LOSS,
        "keep_prob was read as a rate",
        "kept part p against 1 - p",
        "tf.nn.dropout's second argument is keep_prob in 1.x and the rate in 2.x.",
        "rate = 1 - keep_prob.",
        keep_rate,
        (Fault("keep_prob_as_rate", injection.in_replica_step(_KeepsRate), dropping),),
        "R26",
    ),
    Cause(
        "DROPOUT_STREAM",
        stages.LOSS,
        "dropout draws other masks",
        "masks agree as often as chance has it",
        "Two random generators.",
        "Inject the masks, or set the rate to zero for the comparison.",
        other_masks,
        (Fault("noise_of_another_seed", injection.in_replica_step(_OtherNoise), dropping),),
    ),
)
