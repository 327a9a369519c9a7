"""Hazards of losses that push a result of the network one way only, so that nothing holds it back.

May import the basics of hazards and facts; the search of hazards imports this folder.
"""

from legacy.saved.hazards.signs import (
    deviation_hinges,
    distances_for_logits,
    equal_targets,
    far_errors,
    free_zones,
    heads,
    idle_hinges,
    log_sums,
    lookups,
    nearest_pairs,
    opposed_labels,
    sequence_scores,
    shared_goals,
)

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    heads.results_pushed_one_way,
    opposed_labels.distances_pushed_one_way,
    equal_targets.equal_targets,
    free_zones.overlapping_hinges,
    idle_hinges.hinges_without_effect,
    deviation_hinges.deviations_bounded_above,
    distances_for_logits.distances_for_logits,
    shared_goals.generators_with_critics,
    log_sums.minimized_log_sums,
    sequence_scores.minimized_chains,
    nearest_pairs.nearest_is_itself,
    lookups.products_pushed_one_way,
    far_errors.losses_of_large_errors,
)
