"""Hazards of what a loss wants: overlaps of boxes, volumes of flows, classes of equal examples, unchanged examples.

Here: checks of one loss and what it is given. Not here: signs that hold for all data, in `signs`.
Start with `volumes.py`."""

from legacy.saved.hazards.goals import (
    bounded_critics,
    class_weights,
    easiest,
    farthest_rows,
    logits_for_labels,
    logs_of_means,
    mixed_shares,
    nearest_codes,
    noisy_targets,
    other_tables,
    overlaps_of_boxes,
    partners,
    ranges,
    similarities,
    squares_of_means,
    told_apart,
    unused_changes,
    volumes,
)

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    overlaps_of_boxes.minimized_overlaps_of_boxes,
    volumes.volumes_that_shrink,
    told_apart.equal_examples_told_apart,
    logits_for_labels.labels_that_are_logits,
    unused_changes.unused_changes_of_examples,
    unused_changes.unused_masks_of_results,
    mixed_shares.shares_that_do_not_add_up,
    farthest_rows.farthest_rows,
    squares_of_means.squares_of_mean_errors,
    nearest_codes.codes_without_gradient,
    ranges.targets_out_of_reach,
    ranges.examples_of_another_range,
    logs_of_means.logs_of_mean_probabilities,
    easiest.easiest_pairs,
    easiest.easiest_negatives,
    class_weights.reversed_class_weights,
    class_weights.logits_times_class_weights,
    noisy_targets.noisy_targets,
    other_tables.tables_of_other_numbers,
    similarities.minimized_similarities,
    bounded_critics.bounded_critics,
    bounded_critics.critics_without_bound,
)

#: Checks that need an analysis.
ANALYSIS_CHECKS = (partners.partners_in_other_rows, squares_of_means.squares_of_sums_of_errors)
