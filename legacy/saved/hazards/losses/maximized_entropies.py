"""Hazard of a cross entropy of the data's labels that is subtracted from a loss, and so becomes larger."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.losses.likelihoods import trains_layer_before, weights_of_nearest_layers


def maximized_entropies(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses with a cross entropy of labels that has a negative sign; one hazard for all.

    A loss that does not train the layer before the logits is an adversary's, as of a generator or of features that
    should not tell domains apart. One with a cross entropy of each sign by one layer weighs them against each other;
    a layer whose only cross entropy is the negative one learns to be wrong.
    """
    entropies = {entropy.op: entropy for entropy in cross_entropies(whole) if not entropy.is_product}
    for target in minimized_targets(whole) if entropies else []:
        signs = linear_signs(whole, target)
        found = [entropy for op, entropy in entropies.items() if op in signs]
        heads = {one.op: weights_of_nearest_layers(whole.graph, one.logits.node) for one in found}
        others = [one.op for one in found if signs[one.op] != -1]
        helped = {weight for op in others for weight in heads[op]}
        for entropy in [one for one in found if signs[one.op] == -1]:
            if others and (not heads[entropy.op] or heads[entropy.op] & helped):
                continue
            is_given = entropy.labels.node in whole.data and entropy.labels.node not in made_by_weights(whole)
            is_trained = is_given and gradient_flow(whole).passes(entropy.op)
            if is_trained and trains_layer_before(whole, target, entropy.logits.node):
                yield Hazard(
                    "LIKELIHOOD_MINIMIZED",
                    entropy.op,
                    f"{target} contains the cross entropy {entropy.op} with a negative sign: it falls where the labels "
                    "become less likely",
                    "a cross entropy has its minus sign already: add it to the loss; for parity keep the sign",
                )
                return
