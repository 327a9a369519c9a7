"""Hazards of things that ought to be alike and are not: two sides of a distance, two terms, a sum and its count.

May import the basics of hazards and facts, and signs of pushes; the search of hazards imports this folder.
"""

from legacy.saved.hazards.asymmetries import (
    activations,
    branches,
    contrasts,
    counted_masks,
    decayed_biases,
    focus,
    gates,
    idle_masks,
    maximized_losses,
    moments_by_hand,
    overlaps_of_logits,
    reversed_copies,
    same_classes,
    squared_norms,
    temperatures,
    twin_critics,
    untouched_parts,
    variances_by_hand,
)
from legacy.saved.hazards.asymmetries.networks import compared_networks, divided_critics

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    twin_critics.larger_of_two_critics,
    temperatures.temperatures_of_one_side,
    contrasts.scales_of_one_side,
    contrasts.scales_of_joined_parts,
    activations.activations_of_one_side,
    overlaps_of_logits.overlaps_of_logits,
    branches.conditions_without_magnitude,
    focus.factors_of_one_term,
    focus.minimized_focal_losses,
    same_classes.same_classes_driven_apart,
    same_classes.labels_of_pairs_exchanged,
    squared_norms.squared_norms_compared,
    untouched_parts.parts_without_weights,
    counted_masks.counts_of_other_masks,
    maximized_losses.maximized_errors,
    moments_by_hand.corrections_of_another_decay,
    moments_by_hand.moments_without_correction,
    moments_by_hand.roots_of_averaged_gradients,
    decayed_biases.biases_decayed_alone,
    reversed_copies.copies_into_trained,
    gates.gates_of_both_states,
    variances_by_hand.variances_that_are_sums,
    variances_by_hand.deviations_without_epsilon,
    compared_networks.networks_that_are_compared,
    divided_critics.divided_critics,
    idle_masks.masks_of_shifted_keys,
)

#: Checks that need an analysis.
ANALYSIS_CHECKS = (idle_masks.masks_without_effect, contrasts.partners_of_one_example)
