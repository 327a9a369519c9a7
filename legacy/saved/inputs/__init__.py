"""Describes what enters a saved program's towers: its source, its shape, the bounds of its numbers, the rows in use.

Here: parts of batches, sparse tensors, tables, settings such as a learning rate, shapes that the graph leaves open. Not
here: which tower takes an input (`legacy.saved.tower_search`), data that a step runs with (`legacy.saved.data_trial`).
Start with `description.py`."""
