"""Random integers of a graph: the bounds of an op, and made-up numbers for a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan

v1 = tf.compat.v1


def integer_bounds(graph: Graph, node: str) -> Optional[Tuple[int, int]]:
    """Returns (least, one above the largest) of the int32 that an op draws; None for other bounds than constants.

    Args:
      graph: of the lift.
      node: name of the op, a RandomUniformInt.

    Returns:
      The bounds.
    """
    found: List[int] = []
    for tensor in graph.inputs(node)[1:3]:
        content = graph.nodes[tensor.node]
        if content.op != "Const":
            return None
        value = v1.make_ndarray(content.attr["value"].tensor)
        if value.dtype != np.int32 or value.shape:
            return None
        found.append(int(value))
    return found[0], found[1]


def bounds_of_integers(plan: Plan, graph: Graph) -> Dict[str, Tuple[int, int]]:
    """Returns {tensor: bounds} of the random int32 of all towers."""
    entries = [entry for entry in plan.noise + plan.common_noise if entry.op == "RandomUniformInt"]
    nodes = [node for entry in entries for node in entry.nodes if node]
    found = {node + ":0": integer_bounds(graph, node) for node in nodes}
    return {tensor: bounds for tensor, bounds in found.items() if bounds}


def integers_of_bits(bits: np.ndarray, bounds: Tuple[int, int]) -> np.ndarray:
    """Returns the integers within bounds that a stateless op makes of random bits.

    >>> integers_of_bits(np.uint32([0, 5, 12]), (-2, 3)).tolist()
    [-2, -2, 0]
    """
    least, end = bounds
    return (bits % np.uint32(end - least)).astype(np.int32) + np.int32(least)


def made_up_bits(shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
    """Returns random bits, uint32."""
    return rng.randint(0, 2**32, shape, np.uint32)
