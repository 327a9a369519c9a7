"""Hazards of how a model computes: outputs of RNNs, attention masks, norms, roots and logarithms.

Here: what the forward pass does wrong, whatever the loss is. Not here: losses and labels.
Start with `sequences.py`."""

from legacy.saved.hazards.models import (
    attention,
    cosines,
    counts,
    domains,
    frozen_dropout,
    infinite_derivatives,
    linear_layers,
    moments,
    noise,
    norms,
    old_derivatives,
    padding,
    sequences,
    shares_along_other_axes,
    single_classes,
    states_of_towers,
    sums_over_examples,
    unused_dropout,
)
from legacy.saved.hazards.models.axes import pooled_channels, positions_of_examples, units_for_examples
from legacy.saved.hazards.models.classes import margins_that_help
from legacy.saved.hazards.models.joins import biases_of_weights, joined_with_itself
from legacy.saved.hazards.models.normalized import deviations, exchanged, lengths_of_activations
from legacy.saved.hazards.models.shares import along_queries, over_joined_positions, scaled_up

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    unused_dropout.unused_dropout,
    unused_dropout.dropout_by_constants,
    unused_dropout.dropped_twice,
    frozen_dropout.dropout_of_frozen_layers,
    noise.gumbel_noise,
    old_derivatives.exchanged_peepholes,
    old_derivatives.second_derivatives_of_elu,
    old_derivatives.second_derivatives_of_normalization,
    sequences.last_outputs,
    sequences.counted_padding,
    padding.padding_read_first,
    attention.inverted_masks,
    attention.multiplied_masks,
    infinite_derivatives.roots_of_zero,
    infinite_derivatives.infinite_behind_where,
    infinite_derivatives.losses_that_are_not_numbers,
    domains.halved_ranges,
    domains.roots_of_negative_numbers,
    domains.probabilities_without_softmax,
    domains.angles_at_one,
    domains.sines_at_one,
    counts.counts_that_may_be_zero,
    norms.roots_without_epsilon,
    norms.norms_of_all_outputs,
    states_of_towers.states_of_all_towers,
    cosines.cosines_for_logits,
    margins_that_help.margins_that_help,
    cosines.weights_normalized_along_classes,
    cosines.minimized_cosines,
    cosines.compared_with_themselves,
    units_for_examples.means_over_units,
    moments.moments_of_another_layout,
    noise.noise_of_one_sign,
    noise.codes_of_one_sign,
    deviations.not_by_the_deviation,
    exchanged.scales_for_offsets,
    joined_with_itself.joined_with_themselves,
    biases_of_weights.biases_added_to_weights,
    positions_of_examples.positions_of_examples,
)

#: Checks that need an analysis.
ANALYSIS_CHECKS = (
    moments.moments_of_parts,
    pooled_channels.pooled_over_channels,
    single_classes.softmax_of_one,
    linear_layers.layers_without_activation,
    noise.noise_of_one_example,
    norms.norms_over_examples,
    lengths_of_activations.lengths_of_activations,
    sums_over_examples.likelihoods_over_examples,
    sums_over_examples.means_of_one_number,
    scaled_up.scores_scaled_up,
    along_queries.shares_along_queries,
    over_joined_positions.shares_over_joined_positions,
    shares_along_other_axes.shares_added_up_along_other_axes,
    shares_along_other_axes.classes_along_other_axes,
    states_of_towers.states_of_other_towers,
)
