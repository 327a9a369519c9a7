"""Parts of the checks of hazards: the hazard itself, and questions about a graph that several checks ask.

Here: `hazard.py`, `linear_weights.py`, `cross_entropies.py` and `elements.py`. Not here: any check.
Start with `hazard.py`."""
