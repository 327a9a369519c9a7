"""Finds the hazards of a saved tower program: reads them from its graph and runs nothing.

Each check is a function that yields a `Hazard` for each fault it finds. Most checks need only the `WholeGraph`, so that
they also work on a graph that trains nothing or cannot be lifted; the others need its analysis.
"""

from __future__ import annotations

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.report import (
    input_hazards,
    learning_hazards,
    penalty_hazards,
    schedule_hazards,
    tower_hazards,
    training_hazards,
)
from legacy.saved.report.whole_graph import WholeGraph

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    tower_hazards.misplaced_towers,
    tower_hazards.unused_gradients,
    tower_hazards.unshared_variables,
    schedule_hazards.miscounted_steps,
    schedule_hazards.frozen_learning_rate,
    learning_hazards.reports_of_one_tower,
    training_hazards.updates_never_run,
    input_hazards.unused_targets,
    input_hazards.kept_for_dropped,
)
#: Checks that need an analysis.
ANALYSIS_CHECKS = (
    learning_hazards.statistics,
    learning_hazards.batch_constants,
    learning_hazards.same_batch,
    training_hazards.nothing_trained,
    training_hazards.mixed_combining,
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
    hazards += penalty_hazards.regularization(whole, found)
    if found is not None:
        hazards += [hazard for check in ANALYSIS_CHECKS for hazard in check(whole, found)]
    return [hazard.row() for hazard in hazards]
