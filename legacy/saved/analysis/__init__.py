"""Recognises a training step in a saved graph: towers, inputs, losses, gradients, updates, races.

Here: the steps from a graph to the plan of its lift. Not here: texts about it (`legacy.saved.report`).
Start with `analyse.py`, which calls the others in order."""
