"""Hazards of how data and random numbers reach the towers.

Here: parts of different examples in one loss, rows that towers share or leave out, equal seeds. Not here: targets,
dropout and sums over examples, one folder up.
Start with `pairs.py`."""

from legacy.saved.hazards.data import (
    augmentation,
    batches,
    dealt_apart,
    drawn_alike,
    future,
    iterators,
    outputs,
    paired_metrics,
    pairs,
    pipelines,
    random_numbers,
    reshapes,
    scaling,
    times,
    unequal_parts,
    whole_numbers,
    words,
)
from legacy.saved.hazards.data.columns import labels_among_features

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    random_numbers.same_random_numbers,
    random_numbers.random_numbers_of_some_towers,
    pairs.unpaired_inputs,
    dealt_apart.labels_dealt_otherwise,
    paired_metrics.labels_of_other_predictions,
    whole_numbers.divided_whole_numbers,
    whole_numbers.steps_divided_as_whole_numbers,
    iterators.same_examples,
    iterators.shuffles_of_one,
    pipelines.random_before_cache,
    pipelines.shuffled_batches,
    words.targets_are_inputs,
    future.words_read_ahead,
    augmentation.flipped_apart,
    augmentation.interpolated_labels,
    augmentation.labels_mixed_otherwise,
    scaling.badly_scaled_images,
    batches.parts_of_no_tower,
    outputs.outputs_in_another_order,
)

#: Checks that need an analysis.
ANALYSIS_CHECKS = (
    batches.dealt_rows,
    batches.dropped_remainder,
    times.split_along_time,
    reshapes.reshaped_for_transposed,
    words.rows_in_another_order,
    unequal_parts.unequal_parts,
    scaling.scaled_in_some_towers,
    drawn_alike.augmented_alike,
    labels_among_features.labels_among_features,
)
