"""Hazards of the changes that a step makes: gradients, weights, and state that it keeps for later steps.

Here: checks of gradients as they are applied, weights, sums of gradients and states. Not here: batch statistics and
schedules, one folder up.
Start with `gradients.py`."""

from legacy.saved.hazards.updates import (
    accumulators,
    constants,
    gradients,
    loss_weights,
    momenta,
    norms_of_towers,
    opponents,
    rates,
    rates_by_step,
    shared_layers,
    states,
    sums_of_runs,
    twice,
    unused,
    weight_decay,
    weights,
)

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    weights.layers_of_zeros,
    weights.weights_drawn_anew,
    loss_weights.trained_loss_weights,
    weights.weights_in_half_precision,
    accumulators.kept_gradients,
    sums_of_runs.sums_that_are_not_divided,
    states.state_never_read,
    states.variance_that_follows_the_mean,
    gradients.gradients_of_others,
    gradients.towers_of_unequal_weight,
    gradients.clipped_to_one_sign,
    unused.unused_clipping,
    unused.unused_gradient_penalty,
    unused.losses_of_other_towers,
    constants.exchanged_constants,
    constants.momenta_of_zero,
    constants.growing_learning_rates,
    constants.negative_learning_rates,
    rates_by_step.rates_that_turn,
    rates_by_step.rates_that_vanish,
    rates_by_step.rates_that_rise_in_steps,
    rates_by_step.intervals_of_no_step,
    momenta.momentum_twice,
    momenta.momenta_of_towers,
    weight_decay.decayed_twice,
    weight_decay.decayed_by_several_ops,
    weight_decay.decays_scaled_twice,
    weight_decay.decayed_normalizations,
    rates.learning_rate_twice,
    norms_of_towers.clipped_by_another_tower,
    norms_of_towers.guarded_by_one_tower,
    shared_layers.layers_that_share_weights,
)

#: Checks that need an analysis.
ANALYSIS_CHECKS = (
    momenta.unordered_corrections,
    gradients.gradients_without_data,
    gradients.rows_of_one_tower,
    twice.updated_twice,
    twice.powers_raised_twice,
    weights.clipped_weights_of_others,
    accumulators.sums_set_back_too_early,
    rates.rates_scaled_beside_sums,
    opponents.generators_that_train_critics,
    opponents.critics_that_train_generators,
    opponents.actors_that_train_critics,
)
