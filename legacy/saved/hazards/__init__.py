"""Hazards of a saved tower program: known bugs, and properties that a port loses, found in its graph.

Here: one module for each subject, each function a check that yields a `Hazard` for every place it finds.
Nothing here runs or changes a graph.
Start with `search.py`, which lists the checks."""
