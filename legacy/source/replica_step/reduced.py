"""Lines that combine the replicas' gradients with the rounding of the old graph."""

from __future__ import annotations

from typing import List


def reduced_lines(name: str, combine: str, reciprocal: bool, values: str = "") -> List[str]:
    """Returns the lines that reduce gradients over the replicas.

    Args:
      name: what is assigned in the text.
      combine: "mean" or "sum".
      reciprocal: whether a mean is a sum times one over the number of replicas, which rounds twice.
      values: the gradients in the text; `name` by default.

    Returns:
      The lines.

    >>> reduced_lines("g", "sum", False)
    ['g = context.all_reduce(tf.distribute.ReduceOp.SUM, g)']
    >>> reduced_lines("g", "mean", True)[1]
    'g = [gradient * (1.0 / context.num_replicas_in_sync) for gradient in g]'
    """
    times = combine == "mean" and reciprocal
    how = "SUM" if times else combine.upper()
    lines = [f"{name} = context.all_reduce(tf.distribute.ReduceOp.{how}, {values or name})"]
    if times:
        lines.append(f"{name} = [gradient * (1.0 / context.num_replicas_in_sync) for gradient in {name}]")
    return lines
