"""Hazards of variables that are no weights: states that a step assigns, and memories that it compares with.

May import the basics of hazards and facts; the search of hazards imports this folder.
"""

from legacy.saved.hazards.memories import idle_queues, old_and_new

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (old_and_new.derivatives_of_new_values, idle_queues.queues_that_are_never_filled)
