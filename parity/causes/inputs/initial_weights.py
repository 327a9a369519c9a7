"""Causes in the initial values of the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.comparison import stages
from parity.comparison.fits import near
from workloads.numerics import random_keys
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.facts.initial_state import InitialWeight
    from workloads.program import State

#: Expected standard deviation of a truncated standard normal, cut off at two.
TRUNCATED_DEVIATION = 0.87962566

#: {ratio of standard deviations: the defaults that make it}
KNOWN_RATIOS = {
    20.0: "random_normal_initializer's 1.0 against RandomNormal's 0.05, or truncated normals' defaults",
    10.0: "random_uniform_initializer's [0, 1) against RandomUniform's +-0.05",
    TRUNCATED_DEVIATION: "a truncated normal without the correction 1 / 0.8796",
    1.13683: "contrib's factor 1.3 / (2 x 0.5718) or the missing correction of old variance scaling",
}

#: Weights with fewer elements have no standard deviation to speak of.
FEWEST_ELEMENTS = 8

#: A fit with less left over makes the port's weights an exact multiple of legacy's.
EXACT = 1e-5


class _ScaledWeight(NamedTuple):
    """A random initial weight with another standard deviation.

    Attributes:
      weight: the difference.
      ratio: right / left.
      exact: whether the values are a multiple of legacy's, and not other random numbers.
    """

    weight: InitialWeight
    ratio: float
    exact: bool

    @property
    def tolerance(self) -> float:
        """Relative tolerance of a known ratio: if the numbers are others, about their sampling error."""
        return 1e-3 if self.exact else _sampling_error(self.weight)


def init_default(evidence: Evidence) -> Finding | None:
    """Recognizes INIT_DEFAULT: random initial weights have another standard deviation."""
    scaled = _scaled_weights(evidence)
    if not scaled:
        return None
    largest = max(scaled, key=lambda entry: entry.weight.size)
    weight, reason = largest.weight, _known_reason(largest)
    return Finding(
        f"{weight.name} starts with {format_factor(largest.ratio)} x legacy's standard deviation"
        + (f": {reason}." if reason else "."),
        HIGH if reason and (largest.exact or weight.size > 1000) else MEDIUM,
        f"{counted(len(scaled), 'weight has', 'weights have')} another spread; this one has {weight.size} elements, "
        + ("an exact multiple of legacy's" if largest.exact else "other random numbers than legacy's"),
        _scaled_constants(scaled),
        variables=tuple(entry.weight.name for entry in scaled),
    )


def init_seed(evidence: Evidence) -> Finding | None:
    """Recognizes INIT_SEED: initial weights are other random numbers of the same standard deviation."""
    weights = _random_weights(evidence)
    if not weights or _scaled_weights(evidence):
        return None
    if not all(abs(weight.fit.factor) < 0.9 for weight in weights if weight.size > 30):
        return None
    return Finding(
        f"{counted(len(weights), 'weight starts', 'weights start')} from other random numbers with the same standard "
        f"deviation ({weights[0].name}): "
        "nothing after them can be compared.",
        HIGH,
        f"standard deviations agree, correlation {weights[0].fit.factor:.2f}",
        {"given": True},
        variables=tuple(weight.name for weight in evidence.initial.weights),
    )


def _scaled_constants(scaled: Sequence[_ScaledWeight]) -> dict[str, Any]:
    """Each weight's factor; or, of other random numbers, that they are taken as they are."""
    if not all(entry.exact for entry in scaled):
        return {"given": True}
    return {"factors": tuple((entry.weight.name, shortest_decimal(entry.ratio, 1e-6)) for entry in scaled)}


def _inject_scaled(finding: Finding, setup: Setup) -> injection.Change:
    return _multiply_weights(dict(finding.constants.get("factors", ())))


def _inject_given(finding: Finding, setup: Setup) -> injection.Change:
    """Returns no change: the port takes over the user's first values, for random numbers cannot be fitted."""
    return injection.Change()


def _multiply_weights(factors: Mapping[str, float]) -> injection.Change:
    """Multiplies the initial weights named in {weight: factor}."""

    def change(state: State, setup: Setup) -> None:
        for name, factor in factors.items():
            state.weights[name] = np.asarray(state.weights[name] * factor, state.weights[name].dtype)
        _reset_averages(state)

    return injection.in_first_state(change)


def _random_weights(evidence: Evidence) -> list[InitialWeight]:
    """Initial weights that differ and have a standard deviation to compare."""
    return [
        weight
        for weight in evidence.initial.weights
        if np.isfinite(weight.std_ratio) and weight.size >= FEWEST_ELEMENTS
    ]


def _scaled_weights(evidence: Evidence) -> list[_ScaledWeight]:
    """Random weights whose standard deviations differ by more than their sampling error."""
    found = []
    for weight in _random_weights(evidence):
        exact = weight.fit.residual < EXACT
        ratio = weight.fit.factor if exact else weight.std_ratio
        if abs(ratio - 1) > (EXACT if exact else _sampling_error(weight)):
            found.append(_ScaledWeight(weight, ratio, exact))
    return found


def _sampling_error(weight: InitialWeight) -> float:
    """Error up to which two samples' standard deviations of one distribution differ, relative to it."""
    return 4 / float(np.sqrt(weight.size))


def _known_reason(scaled: _ScaledWeight) -> str | None:
    """The pair of defaults that makes the ratio, or None."""
    for known, reason in KNOWN_RATIOS.items():
        if near(scaled.ratio, known, scaled.tolerance) or near(scaled.ratio, 1 / known, scaled.tolerance):
            return reason
    return None


def _scale_weights(factor: float) -> injection.Change:
    """Multiplies the initial weights, those that are one constant excepted."""

    def change(state: State, setup: Setup) -> None:
        state.weights = {
            name: np.asarray(value * factor, value.dtype) if np.ptp(value) else value
            for name, value in state.weights.items()
        }
        _reset_averages(state)

    return injection.in_first_state(change)


def _shuffle_weights(state: State, setup: Setup) -> None:
    """Shuffles the elements of each initial weight: other random numbers of the same distribution."""
    for name, value in state.weights.items():
        if np.ptp(value):
            shuffled = random_keys.generator("another seed", name).permutation(value.ravel())
            state.weights[name] = shuffled.reshape(value.shape)
    _reset_averages(state)


def _reset_averages(state: State) -> None:
    """Starts the averages at the weights, as a new program does."""
    state.averages = {name: state.weights[name].copy() for name in state.averages}


CAUSES = (
    Cause(
        id="INIT_DEFAULT",
        stage=stages.INITIAL,
        title="an initializer's default",
        signature="The standard deviations of the initial weights have the ratio 20, 10, 0.88 or 1.137",
        why="Initializers of the same name have other defaults: random_normal has 1.0 and 0.05, random_uniform [0, 1) "
        "and +-0.05, and truncated normals come with and without the correction for the part that is cut off.",
        fix="Give the argument explicitly (stddev, minval, maxval); load legacy's initial values for parity.",
        criterion=init_default,
        change=_inject_scaled,
        faults=(
            Fault("normal_of_another_default", _scale_weights(1 / 20.0)),
            Fault("uniform_of_another_default", _scale_weights(0.1)),
            Fault("uncorrected_truncated_normal", _scale_weights(TRUNCATED_DEVIATION)),
        ),
        pitfall="R24",
    ),
    Cause(
        id="INIT_SEED",
        stage=stages.INITIAL,
        title="other random initial values",
        signature="The initial weights have the same standard deviation and other values",
        why="The same seed gives other numbers in another API.",
        fix="Load legacy's initial values (from a checkpoint, or from the recording).",
        criterion=init_seed,
        change=_inject_given,
        faults=(Fault("other_first_values", injection.in_first_state(_shuffle_weights)),),
    ),
)
