"""Hazards of padded sequences: of their lengths, their times, and what a model of the next word may see.

May import the basics of hazards and facts; the search of hazards imports this folder.
"""

from legacy.saved.hazards.lengths import (
    causal_convolutions,
    cell_results,
    cell_states,
    convolutions,
    counted_padding,
    full_masks,
    inverted_masks,
    kept_labels,
    lookahead,
    other_lengths,
    pixels,
    single_steps,
    skipped_words,
    time_major,
    turned_examples,
    turned_outputs,
    unrolled_words,
)

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    cell_results.cells_for_logits,
    counted_padding.attended_padding,
    counted_padding.attended_by_other_lengths,
    counted_padding.averaged_padding,
    counted_padding.states_behind_padding,
    other_lengths.masked_by_other_lengths,
    other_lengths.all_times_of_ctc,
    full_masks.masks_of_all_positions,
    lookahead.masks_off_by_one,
    lookahead.targets_read_by_attention,
    causal_convolutions.targets_read_by_convolutions,
    convolutions.series_read_ahead,
    kept_labels.losses_of_one_label,
    pixels.pixels_read,
    unrolled_words.targets_read_at_once,
    cell_states.memories_for_outputs,
    turned_outputs.outputs_not_turned_back,
    turned_examples.examples_turned,
    inverted_masks.losses_of_padding,
    skipped_words.words_skipped,
)

#: Checks that need an analysis.
ANALYSIS_CHECKS = (
    lookahead.moments_of_times,
    time_major.examples_for_times,
    single_steps.loops_of_one_step,
)
