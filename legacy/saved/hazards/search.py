"""Finds the hazards of a saved tower program: reads them from its graph and runs nothing.

Each check is a function that yields a `Hazard` for each fault it finds. Most checks need only the `WholeGraph`, so that
they also work on a graph that trains nothing or cannot be lifted; the others need its analysis.
"""

from __future__ import annotations

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.hazards import (
    examples,
    inputs,
    labels,
    metrics,
    normalization,
    placement,
    reports,
    schedules,
    statistics,
    towers,
    training,
    untrained,
)
from legacy.saved.hazards.data import (
    augmentation,
    batches,
    iterators,
    outputs,
    pairs,
    random_numbers,
    reshapes,
    scaling,
    times,
    unequal_parts,
    whole_numbers,
    words,
)
from legacy.saved.hazards.losses import (
    broadcasts,
    critics,
    deviations,
    differences,
    idle_terms,
    likelihoods,
    logits,
    masks,
    overlaps,
    penalties,
    penalty_signs,
    scales,
    soft_labels,
    terms,
    tower_losses,
    unbounded,
)
from legacy.saved.hazards.losses.zero_penalties import zero_regularization
from legacy.saved.hazards.models import (
    attention,
    cosines,
    domains,
    infinite_derivatives,
    moments,
    noise,
    norms,
    padding,
    peepholes,
    sequences,
    single_classes,
    unused_dropout,
)
from legacy.saved.hazards.reinforcement import policies, targets
from legacy.saved.hazards.updates import (
    accumulators,
    averages,
    constants,
    gradients,
    loss_weights,
    momenta,
    shared_layers,
    states,
    twice,
    unused,
    weights,
)

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    placement.misplaced_towers,
    towers.unused_gradients,
    towers.gradients_in_queues,
    towers.gradients_of_workers,
    towers.unshared_variables,
    towers.unshared_values,
    schedules.miscounted_steps,
    schedules.frozen_learning_rate,
    reports.reports_of_one_tower,
    training.updates_never_run,
    terms.repeated_terms,
    tower_losses.terms_of_other_towers,
    terms.logarithms_of_probabilities,
    zero_regularization,
    untrained.variables_without_gradient,
    untrained.weights_of_zeros,
    inputs.unused_targets,
    inputs.kept_for_dropped,
    inputs.inactive_dropout,
    unused_dropout.unused_dropout,
    logits.activated_logits,
    normalization.fixed_statistics,
    logits.softmax_over_examples,
    logits.labels_that_do_not_add_up,
    labels.exchanged_labels,
    labels.dropped_logits,
    labels.labels_of_one_class,
    random_numbers.same_random_numbers,
    weights.layers_of_zeros,
    weights.weights_drawn_anew,
    loss_weights.trained_loss_weights,
    weights.weights_in_half_precision,
    accumulators.kept_gradients,
    differences.differences_of_one,
    metrics.classes_over_examples,
    metrics.reported_losses,
    states.state_never_read,
    states.variance_that_follows_the_mean,
    pairs.unpaired_inputs,
    whole_numbers.divided_whole_numbers,
    whole_numbers.steps_divided_as_whole_numbers,
    masks.masked_means,
    gradients.gradients_of_others,
    gradients.towers_of_unequal_weight,
    gradients.clipped_to_one_sign,
    penalty_signs.subtracted_penalties,
    penalty_signs.penalties_of_untrained,
    unused.unused_clipping,
    unused.unused_gradient_penalty,
    unused.losses_of_other_towers,
    normalization.stopped_moments,
    likelihoods.minimized_likelihoods,
    targets.differentiated_targets,
    policies.differentiated_advantages,
    policies.minimized_entropies,
    policies.minimized_policies,
    policies.reversed_ratios,
    soft_labels.differentiated_labels,
    overlaps.minimized_overlaps,
    overlaps.exchanged_branches,
    overlaps.focal_factors,
    deviations.deviations_for_variances,
    idle_terms.terms_of_weight_zero,
    idle_terms.terms_without_gradient,
    idle_terms.clipped_errors,
    unbounded.subtracted_squares,
    noise.gumbel_noise,
    peepholes.exchanged_peepholes,
    masks.masked_after_the_mean,
    constants.exchanged_constants,
    constants.growing_learning_rates,
    constants.negative_learning_rates,
    momenta.momentum_twice,
    shared_layers.layers_that_share_weights,
    averages.averages_that_are_trained,
    averages.averages_that_keep_little,
    averages.averages_that_never_move,
    sequences.last_outputs,
    padding.padding_read_first,
    attention.inverted_masks,
    attention.multiplied_masks,
    infinite_derivatives.roots_of_zero,
    infinite_derivatives.infinite_behind_where,
    domains.roots_of_negative_numbers,
    domains.angles_at_one,
    cosines.cosines_for_logits,
    cosines.weights_normalized_along_classes,
    iterators.same_examples,
    iterators.shuffles_of_one,
    words.targets_are_inputs,
    augmentation.flipped_apart,
    augmentation.interpolated_labels,
    scaling.badly_scaled_images,
    batches.parts_of_no_tower,
    outputs.outputs_in_another_order,
    inputs.switches_off_by_default,
    inputs.switched_off,
)
#: Checks that need an analysis.
ANALYSIS_CHECKS = (
    statistics.statistics_of_towers,
    examples.batch_constants,
    examples.same_batch,
    examples.no_input,
    training.nothing_trained,
    tower_losses.losses_divided_twice,
    tower_losses.sums_divided_by_another_count,
    training.mixed_combining,
    broadcasts.columns_against_vectors,
    training.unordered_changes,
    batches.dealt_rows,
    batches.dropped_remainder,
    times.split_along_time,
    reshapes.reshaped_for_transposed,
    words.rows_in_another_order,
    logits.shares_over_examples,
    logits.shares_over_pixels,
    labels.means_over_classes,
    moments.moments_of_parts,
    single_classes.softmax_of_one,
    noise.noise_of_one_example,
    scales.scaled_losses,
    scales.clipped_while_scaled,
    gradients.gradients_without_data,
    gradients.rows_of_one_tower,
    twice.updated_twice,
    norms.norms_over_examples,
    attention.scores_scaled_up,
    idle_terms.clipped_losses,
    unequal_parts.unequal_parts,
    critics.interpolated_by_pixel,
    critics.norms_of_parts,
    critics.generators_with_critics,
)


def find_hazards(saved: SavedGraph, found: Analysis | None = None) -> list[dict[str, str]]:
    """Finds the hazards of a saved graph.

    Args:
      saved: the graph, as read from its file.
      found: its analysis, or None if it could not be analysed.

    Returns:
      A row {"hazard", "op", "what", "in tf.distribute"} for each hazard.
    """
    whole = WholeGraph(saved, found)
    hazards = [hazard for check in GRAPH_CHECKS for hazard in check(whole)]
    hazards += penalties.regularization(whole, found)
    if found is not None:
        hazards += [hazard for check in ANALYSIS_CHECKS for hazard in check(whole, found)]
    return [hazard.row() for hazard in hazards]
