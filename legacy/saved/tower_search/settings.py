"""Recognises placeholders that are settings, such as a learning rate or is_training, and not data."""

from __future__ import annotations

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph

#: Ops that take a scalar setting in a model.
_SCALAR_USERS = ("Mul", "Add", "AddV2", "Sub", "RealDiv", "Div", "Maximum", "Minimum", "RandomUniform", "Switch")


def is_scalar_setting(graph: Graph, imported: ImportedGraph, name: str) -> bool:
    """Returns whether a node is a placeholder for a scalar setting.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: of the node.

    Returns:
      True for a placeholder of shape (); if its rank is not known, for a boolean or float32 placeholder that is used,
      and by elementwise ops alone.
    """
    if graph.type(name) != "Placeholder":
        return False
    shape = imported.shape(name)
    if shape is not None:
        return shape == ()
    users = [graph.type(user) for user, _, _ in graph.users(name)]
    elementwise = bool(users) and all(op_type in _SCALAR_USERS for op_type in users)
    return elementwise and imported.dtype(name) in ("bool", "float32")
