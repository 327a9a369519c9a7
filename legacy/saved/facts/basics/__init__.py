"""Basics of facts: an analysed training step or a whole graph, with the questions that several facts ask.

Here: the graphs, their towers, and rows of tables. Not here: any fact itself (`legacy.saved.facts`).
Start with `analysed_step.py`."""
