"""Hazards of losses: their terms, their logits, and the parts of them that towers share.

Here: checks that read the graph of a loss. Not here: those of penalties, gradients, updates, inputs and
statistics, one folder up. Start with `terms.py`."""

from legacy.saved.hazards.losses import (
    broadcasts,
    critics,
    deviations,
    differences,
    divergences,
    divided_by_all,
    divided_sums,
    idle_terms,
    likelihoods,
    logits,
    maximized_entropies,
    overlaps,
    scales,
    soft_labels,
    terms,
    tower_losses,
    unbounded,
    unused_directions,
)
from legacy.saved.hazards.losses.masks import counts, masked_losses, masks_of_means, repeated_logarithms

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    terms.repeated_terms,
    repeated_logarithms.repeated_logarithms,
    tower_losses.terms_of_other_towers,
    terms.logarithms_of_probabilities,
    logits.activated_logits,
    logits.softmax_over_examples,
    logits.labels_that_do_not_add_up,
    differences.differences_of_one,
    differences.differences_undone,
    unused_directions.smoothed_one_way,
    masked_losses.masked_means,
    likelihoods.minimized_likelihoods,
    maximized_entropies.maximized_entropies,
    soft_labels.differentiated_labels,
    overlaps.minimized_overlaps,
    overlaps.exchanged_branches,
    overlaps.focal_factors,
    critics.penalties_of_normalized_batches,
    deviations.deviations_for_variances,
    idle_terms.terms_of_weight_zero,
    idle_terms.terms_without_gradient,
    idle_terms.terms_of_constants,
    idle_terms.clipped_errors,
    unbounded.subtracted_squares,
    masks_of_means.masked_after_the_mean,
    masks_of_means.means_of_weights,
    counts.counts_of_the_opposite,
    counts.sums_of_unused_weights,
    masked_losses.counts_of_another_tower,
)

#: Checks that need an analysis.
ANALYSIS_CHECKS = (
    tower_losses.losses_divided_twice,
    tower_losses.losses_differentiated_by_each,
    divided_by_all.sums_divided_by_all_examples,
    divided_sums.sums_divided_by_another_count,
    broadcasts.columns_against_vectors,
    broadcasts.scalars_added_to_lists,
    broadcasts.scalars_added_to_losses,
    logits.shares_over_examples,
    logits.shares_over_pixels,
    masked_losses.sums_over_all_positions,
    divergences.divergences_divided_by_the_code,
    scales.scaled_losses,
    scales.clipped_while_scaled,
    idle_terms.clipped_losses,
    terms.sums_beside_means,
    critics.interpolated_by_pixel,
    critics.norms_of_parts,
)
