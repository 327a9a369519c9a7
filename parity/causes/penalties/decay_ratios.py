"""Weight decay of the port relative to legacy's, and the weights that only the port decays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parity.causes.basics.gradient_changes import decayed_gradients, scaled_gradients
from parity.causes.basics.loss_fit import fit_loss
from parity.causes.basics.wording import format_factor
from parity.comparison.fits import near, spread
from parity.diagnosis.gradient_factors import decay_noise
from workloads.support.wording import FEW, counted, listed

if TYPE_CHECKING:
    from parity.causes.basics.cause import Finding
    from parity.causes.basics.injection import Change
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.gradient_factors import GradientFactors

#: Ratios of weights, or of replicas, agree if they differ by at most this much.
SAME_RATIO = 1e-2

#: A replica has no decay if its multiple of a weight is below this part of another replica's.
LEAST_RATIO = 1e-6


class DecayRatios(NamedTuple):
    """Ratios of the port's weight decay to legacy's, the same for every decayed weight.

    Attributes:
      by_replica: one ratio a replica.
      base: the multiple of a weight, over legacy's, that a correct decay has: 1, or the reduction's factor.
      factors: the fit that they come from.
    """

    by_replica: list[float]
    base: float
    factors: GradientFactors

    @property
    def common(self) -> float:
        """The ratio of all replicas, or NaN if they differ."""
        return self.by_replica[0] if np.ptp(self.by_replica) <= SAME_RATIO else float("nan")

    def is_in_shares(self, replicas: int) -> bool:
        """Returns whether each replica's data gradient is 1/N of legacy's, as when the loss alone is divided by N."""
        return self.factors.replicas_shown and near(self.factors.replica, 1 / replicas, 1e-3)

    @property
    def because(self) -> str:
        """The fit in words."""
        return describe_decay_fit(self.factors)


def fit_decay_ratios(evidence: Evidence) -> DecayRatios | None:
    """Returns the ratios; None if the decay is equal or unknown, or if weights differ in their ratio.

    The port's multiple of a weight is the data's factor times legacy's rate, plus the extra multiple of the fit. Where
    the replicas' data gradients agree and only the reduction has a factor, that factor is no fault of the decay.
    """
    factors, rate = evidence.gradient_factors, evidence.context.weight_decay
    if factors is None or not factors.decay or not rate or newly_decayed_weights(evidence):
        return None
    if weights_with_own_rate(evidence):
        return None
    extras = list(factors.decay.values())
    extras += [[0.0] * len(extras[0]) for _ in equally_decayed_weights(evidence)]
    totals = [[factors.total + extra / rate for extra in values] for values in extras]
    base = _base(factors, [total for row in totals for total in row])
    rows = [[total / base for total in row] for row in totals]
    columns = list(zip(*rows))
    if max(spread(column) for column in columns) > SAME_RATIO and np.ptp(rows, axis=0).max() > SAME_RATIO:
        return None
    return DecayRatios([float(np.median(column)) for column in columns], base, factors)


def _base(factors: GradientFactors, totals: list[float]) -> float:
    """Returns the reduction's factor where it multiplies equal replica gradients, unless the decays are right as is."""
    equal_replicas = factors.replicas_shown and near(factors.replica, 1, 1e-3)
    if not equal_replicas or all(near(total, 1, 5e-3) for total in totals):
        return 1.0
    return factors.reduction


def newly_decayed_weights(evidence: Evidence) -> list[str]:
    """Returns the weights that the port decays and legacy does not.

    A recording does not say which weights legacy decays. There they are biases, scales and offsets that gain a decay
    while no matrix does: a decay that legacy has is one of matrices.
    """
    factors, penalized = evidence.gradient_factors, evidence.context.penalized
    if factors is None:
        return []
    gained = sorted(name for name, values in factors.decay.items() if max(map(abs, values)) > 0)
    if penalized is not None:
        return [name for name in gained if name not in penalized]
    shown = {name for gradient in evidence.gradients for name in gradient.tensors}
    weights = evidence.left.weights  # and no sums of gradients, which other runs apply
    matrices = {name for name in shown if name in weights and np.ndim(weights[name]) > 1}
    only_vectors = bool(matrices) and not matrices & {*gained} and all(factors.decay[name][0] > 0 for name in gained)
    return gained if only_vectors else []


def weights_with_own_rate(evidence: Evidence) -> list[str]:
    """Returns weights of another decay that legacy's loss penalizes by itself, at a rate that the job does not name."""
    factors, context = evidence.gradient_factors, evidence.context
    if factors is None or context.penalized is None:
        return []
    return sorted(name for name in factors.decay if name in context.penalized and name not in (context.decayed or ()))


def multiples_of_unknown_rate(evidence: Evidence) -> dict[str, list[float]]:
    """Returns {weight: each replica's extra multiple of it} where legacy's own rate of its decay is not known."""
    factors, context = evidence.gradient_factors, evidence.context
    if factors is None or not factors.replicas_shown or newly_decayed_weights(evidence):
        return {}
    is_known = bool(context.weight_decay or context.decayed) and not weights_with_own_rate(evidence)
    return {} if is_known else {name: list(values) for name, values in factors.decay.items()}


def multiples_of_all_but_first(evidence: Evidence) -> dict[str, float]:
    """Returns {weight: extra multiple} where all replicas but the first have one, and each weight's are of one sign.

    So a decay looks that one side has in its first tower only, and the other side in all.
    """
    found = {}
    for name, (first, *others) in multiples_of_unknown_rate(evidence).items():
        rate = float(np.median(others)) if others else 0.0
        if not rate or abs(first) > LEAST_RATIO * abs(rate) or np.ptp(others) > 0.05 * abs(rate):
            return {}
        found[name] = rate
    return found if len({rate > 0 for rate in found.values()}) == 1 else {}


def equally_decayed_weights(evidence: Evidence) -> list[str]:
    """Returns the weights that legacy decays and the port decays alike; none if the decayed ones are not known."""
    factors, decayed, rate = evidence.gradient_factors, evidence.context.decayed, evidence.context.weight_decay
    shown = {name for gradient in evidence.gradients for name in gradient.tensors}
    if factors is None or decayed is None or not rate:
        return []
    others = [name for name in decayed if name in shown and name not in factors.decay]
    weights = evidence.steps[0].left_before.weights
    return [name for name in others if np.any(weights[name]) and decay_noise(evidence, name) < 0.1 * abs(rate)]


def changed_weights(evidence: Evidence) -> tuple[str, ...]:
    """Returns the weights of another decay where it is not known which others legacy decays; else none, for all are."""
    factors = evidence.gradient_factors
    return () if factors is None or evidence.context.decayed is not None else tuple(sorted(factors.decay))


def of_weights(names: Sequence[str]) -> str:
    """Returns " of a, b" for names of weights, and nothing for none."""
    return f" of {listed(names, FEW)}" if names else ""


def describe_decay_fit(factors: GradientFactors) -> str:
    """Returns the fit of data factor and decay as a phrase."""
    return (
        f"fitted g = a g_legacy + d w in {counted(factors.steps, 'step')} from the same state: data factor "
        f"{format_factor(factors.total)}, residual {factors.residual:.1e}"
    )


def decay_constants(factors: GradientFactors, evidence: Evidence) -> dict[str, Any]:
    """Returns the extra multiples of the weights, and what the losses show of them, for `inject_decay`."""
    reduction = factors.reduction if factors.replicas_shown else 1.0
    multiples = {name: tuple(value / reduction for value in values) for name, values in factors.decay.items()}
    fit = fit_loss(evidence, [factors.replica], multiples)
    constants = {"multiples": tuple(sorted(multiples.items())), "in_loss": fit.in_loss}
    if near(factors.total, 1, 1e-4) and factors.replicas_shown and not near(factors.replica, 1, 1e-4):
        constants.update(replica=factors.replica, reduction=factors.reduction, loss=fit.factor)
    return constants


def inject_decay(finding: Finding, setup: Setup) -> Change:
    """Injects the finding's multiples of the weights; the same one on every replica where replicas are not shown.

    Where each replica's gradients are shares of legacy's, and their sum makes up for it, the shares are injected too.
    """
    constants, replicas = finding.constants, setup.job.replicas
    multiples = {
        name: values if len(values) == replicas else (values[0],) * replicas for name, values in constants["multiples"]
    }
    injected = decayed_gradients(multiples, constants["in_loss"])
    if "replica" not in constants:
        return injected
    return injected + scaled_gradients(constants["replica"], constants["reduction"], constants["loss"])
