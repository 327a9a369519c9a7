"""Weight decay in another place: legacy's penalty, which a port's optimizer adds to the gradient. No bug."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics.cause import HIGH, Cause, Finding
from parity.causes.basics.rewriting import Penalty, Rewrite, rewritten_evidence, with_penalty
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.comparison import stages
from parity.comparison.fits import near, spread
from parity.diagnosis.evidence import measured_once
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from workloads.optimizers import Optimizer

#: A rate of decay is one number if its fits, in steps and replicas, spread over at most this part of it.
SAME_RATE = 2e-2


@measured_once
def decay_in_optimizer(evidence: Evidence) -> Finding | None:
    """Recognizes DECAY_IN_OPTIMIZER: with the decay that the gradients lack, rounding explains every stage."""
    factors = evidence.gradient_factors
    if factors is None or not factors.decay or not factors.replicas_shown or not near(factors.total, 1, 1e-4):
        return None
    rates = {name: -float(np.median(values)) for name, values in sorted(factors.decay.items())}
    if any(rate <= 0 or spread(factors.decay[name]) > SAME_RATE for name, rate in rates.items()):
        return None
    if spread(rates.values()) <= SAME_RATE:  # one rate for all: the most precise fit
        rates = dict.fromkeys(rates, float(np.median(list(rates.values()))))
    rates = {name: shortest_decimal(rate, 1e-4) for name, rate in rates.items()}
    in_losses = next((lacks for lacks in (True, False) if _explains_all(evidence, rates, lacks)), None)
    if in_losses is None:
        return None
    listed = ", ".join(f"{format_factor(rate)} x {name}" for name, rate in list(rates.items())[:4])
    return Finding(
        f"The port's gradients{' and losses' if in_losses else ''} are recorded without legacy's weight decay, and its "
        f"optimizer applies the same decay itself ({listed}).",
        HIGH,
        "with that decay added to the port's records, rounding explains every stage of "
        + counted(len(evidence.steps), "step"),
        {"rates": tuple(rates.items()), "losses": in_losses},
        variables=tuple(rates),
    )


def rewrite_of_decay(finding: Finding, optimizer: Optimizer | None) -> Rewrite:
    """Returns the rewrite that adds the decay to the port's records, which the optimizer reads."""
    return with_penalty(Penalty(dict(finding.constants["rates"]), finding.constants["losses"], optimizer))


def _explains_all(evidence: Evidence, rates: dict[str, float], in_losses: bool) -> bool:
    penalty = Penalty(rates, in_losses, evidence.context.optimizer)
    deviations = rewritten_evidence(evidence, with_penalty(penalty)).deviations
    updates = (stages.WEIGHTS, *((stages.SLOTS,) if evidence.right.slots else ()))
    return not deviations.found and not {*updates} & {*deviations.unjudged}


CAUSES = (
    Cause(
        id="DECAY_IN_OPTIMIZER",
        stage=stages.GRADIENTS,
        covers=(stages.LOSS, stages.GRADIENTS, stages.COMBINED, stages.SLOTS, stages.WEIGHTS),
        title="the optimizer applies legacy's weight decay",
        signature="Gradients lack l w, and slots and weights are those of gradients with it",
        why="PyTorch's argument weight_decay, optax.add_decayed_weights, or a decay of the weights by hand beside "
        "plain gradient descent: the update is that of legacy's penalty in the loss.",
        fix="Nothing to fix: add the decay to the recorded gradients and losses to compare them. It is the same only "
        "without clipping, and for AdamW and a decay beside momentum it is not.",
        criterion=decay_in_optimizer,
        bug=False,
    ),
)
