"""Finds the hazards of a saved tower program: reads them from its graph and runs nothing.

Each check is a function that yields a `Hazard` for each fault it finds. Most checks need only the `WholeGraph`, so that
they also work on a graph that trains nothing or cannot be lifted; the others need its analysis. Each folder lists
its own checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.hazards import (
    asymmetries,
    averages,
    combining,
    components,
    data,
    examples,
    goals,
    hidden_classes,
    hinges,
    inputs,
    labels,
    lengths,
    losses,
    memories,
    metrics,
    models,
    normalization,
    penalties,
    reinforcement,
    rules,
    signs,
    statistics,
    updates,
)
from legacy.saved.hazards.averages.never_run import updates_never_run
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.penalties.counts import regularization
from legacy.saved.hazards.rates import frozen_rates, idle_rates, schedules
from legacy.saved.hazards.towers import copies, placement, reports, shared
from legacy.saved.hazards.training import (
    changes,
    constant_examples,
    dropout_in_evaluation,
    equal_units,
    unsaved_weights,
    untrained,
    untrained_by_steps,
)

#: The hazard of a check that failed, and most letters of its error.
NOT_CHECKED, MOST_LETTERS = "NOT_CHECKED", 120

#: Checks of the graph alone, in the order of the page: of towers and updates first, then those of each folder.
GRAPH_CHECKS = (
    placement.misplaced_towers,
    shared.unused_gradients,
    shared.gradients_in_queues,
    shared.gradients_of_workers,
    shared.unshared_variables,
    shared.unshared_values,
    copies.copies_that_begin_apart,
    copies.copies_that_are_not_set,
    schedules.miscounted_steps,
    frozen_rates.frozen_learning_rate,
    idle_rates.idle_rates,
    schedules.steps_that_are_not_saved,
    unsaved_weights.weights_that_are_not_saved,
    reports.reports_of_one_tower,
    updates_never_run,
    untrained.variables_without_gradient,
    untrained.gradients_of_the_first_alone,
    untrained.weights_of_zeros,
    untrained_by_steps.variables_behind_rounding,
    dropout_in_evaluation.dropout_in_evaluation,
    untrained.untrained_layers,
    equal_units.units_that_stay_equal,
    inputs.unused_targets,
    components.equal_components,
    inputs.kept_for_dropped,
    inputs.inactive_dropout,
    normalization.fixed_statistics,
    normalization.normalized_in_some_towers,
    labels.exchanged_labels,
    labels.dropped_logits,
    labels.dropped_results,
    labels.labels_of_one_class,
    labels.weights_by_appearance,
    metrics.classes_over_examples,
    metrics.reported_losses,
    hidden_classes.classes_of_hidden_units,
    normalization.stopped_moments,
    hinges.hinges_of_zero,
    hinges.margins_without_effect,
    hinges.negative_margins,
    hinges.reversed_hinges,
    hinges.hinges_of_means,
    statistics.statistics_of_other_data,
    inputs.switched_off,
    *data.GRAPH_CHECKS,
    *models.GRAPH_CHECKS,
    *lengths.GRAPH_CHECKS,
    *losses.GRAPH_CHECKS,
    *penalties.GRAPH_CHECKS,
    *signs.GRAPH_CHECKS,
    *asymmetries.GRAPH_CHECKS,
    *reinforcement.GRAPH_CHECKS,
    *updates.GRAPH_CHECKS,
    *averages.GRAPH_CHECKS,
    *memories.GRAPH_CHECKS,
    *goals.GRAPH_CHECKS,
    *rules.GRAPH_CHECKS,
)
#: Checks of a graph that cannot be analysed; each has one of another name in `ANALYSIS_CHECKS`, which sees more.
CHECKS_WITHOUT_ANALYSIS = (statistics.statistics_of_towers_as_written,)
#: Checks that need an analysis.
ANALYSIS_CHECKS = (
    statistics.statistics_of_towers,
    schedules.steps_of_one_towers_examples,
    examples.batch_constants,
    examples.same_batch,
    constant_examples.no_input,
    changes.nothing_trained,
    *combining.ANALYSIS_CHECKS,
    changes.unordered_changes,
    changes.unordered_momenta,
    labels.means_over_classes,
    *data.ANALYSIS_CHECKS,
    *models.ANALYSIS_CHECKS,
    *lengths.ANALYSIS_CHECKS,
    *losses.ANALYSIS_CHECKS,
    *asymmetries.ANALYSIS_CHECKS,
    *goals.ANALYSIS_CHECKS,
    *reinforcement.ANALYSIS_CHECKS,
    *updates.ANALYSIS_CHECKS,
)


def find_hazards(
    saved: SavedGraph, found: Analysis | None = None, whole: WholeGraph | None = None
) -> list[dict[str, str]]:
    """Finds the hazards of a saved graph.

    Args:
      saved: the graph, as read from its file.
      found: its analysis, or None if it could not be analysed.
      whole: what is known of the graph with that analysis, if it was found before.

    Returns:
      A row {"hazard", "op", "what", "in tf.distribute"} for each hazard; one row for a run that recurs in a period.
    """
    whole = whole or WholeGraph(saved, found)
    hazards = [hazard for check in GRAPH_CHECKS for hazard in _found_by(check, whole)]
    hazards += _found_by(regularization, whole, found)
    if found is None:
        hazards += [hazard for check in CHECKS_WITHOUT_ANALYSIS for hazard in _found_by(check, whole)]
    else:
        hazards += [hazard for check in ANALYSIS_CHECKS for hazard in _found_by(check, whole, found)]
    return [hazard.row() for hazard in dict.fromkeys(hazards)]


def _found_by(check: Callable[..., Iterable[Hazard]], *subject: WholeGraph | Analysis | None) -> list[Hazard]:
    """The hazards of a check; one that fails on an unusual graph gets a row of its own, and does not end the page."""
    try:
        return list(check(*subject))
    except Exception as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:MOST_LETTERS]}"
        place = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
        text = f"the check {place} cannot read this graph ({what}), so that what it looks for is not known"
        return [Hazard(NOT_CHECKED, place, text, "none: this is a fault of the check; please report it")]
