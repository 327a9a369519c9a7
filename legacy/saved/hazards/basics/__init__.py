"""Parts of the checks of hazards: the hazard itself, and questions about a graph that several checks ask.

Here: the hazard itself, linear functions and their signs, directions and ways of gradients, constants, cross
entropies. Not here: any check.
Start with `hazard.py`."""
