"""Lifts with other values of some constants of their graph."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import tensorflow as tf

from workloads.lifted.graph.edits import GraphCopy

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from workloads.lifted.workload import LiftedWorkload


def with_constants(workload: LiftedWorkload, values: Mapping[str, np.ndarray]) -> LiftedWorkload | None:
    """Returns a lift with other values of some constants; None if its graph does not have them.

    Args:
      workload: the lift, which is not changed.
      values: {node: value}, in the dtype and shape of its own.
    """
    if any(name not in workload.graph.nodes or workload.graph.type(name) != "Const" for name in values):
        return None
    result = GraphCopy(workload.graph)
    for name, value in values.items():
        tensor = tf.make_tensor_proto(value, value.dtype, value.shape)
        result.nodes[name].attr["value"].tensor.CopyFrom(tensor)
    return dataclasses.replace(workload, graph=result.graph())
