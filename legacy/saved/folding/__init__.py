"""Folds what a user or a recording decides into a graph, so that an analysis sees the ops of one kind of step only.

`settings` makes constants of switches and scalars, `branches` takes out the branches that these rule out, and `decided`
computes what predicates are worth. Nothing here knows towers.
"""
