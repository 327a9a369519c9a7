"""Hazards of moving averages: of weights, of results, or of statistics.

Here: checks of how averages move, and of where they begin. Not here: averages of gradients, as of a momentum
(`updates`). Start with `moving.py`."""

from legacy.saved.hazards.averages import beginnings, empty, moving

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    moving.averages_that_are_trained,
    moving.averages_that_keep_little,
    moving.averages_that_never_move,
    moving.averages_that_move_away,
    moving.averages_before_updates,
    moving.averages_moved_twice,
    moving.averages_whose_count_stays,
    beginnings.averages_that_begin_at_zero,
    beginnings.divisors_that_begin_at_zero,
    empty.averages_of_nothing,
)
