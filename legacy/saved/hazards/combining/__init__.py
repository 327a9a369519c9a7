"""Hazards of how the towers' gradients become one, such as those that are summed beside others that are averaged.

May import the basics of hazards and facts; the search of hazards imports this folder.
"""

from legacy.saved.hazards.combining import mixed, multipliers

#: Checks of the graph and its analysis, in the order of the page.
ANALYSIS_CHECKS = (mixed.mixed_combining, multipliers.multipliers_without_effect)
