"""Order in which the parts of a gradient are added: where another form of the same sum would change it."""

from __future__ import annotations

from typing import List, Set

import tensorflow as tf

from legacy.source.basics.typed import SHAPE_OPS
from workloads.lifted.graph.sums import FEWEST_IN_ANY_ORDER


def orders_gradients(operation: tf.Operation, position: int) -> bool:
    """Returns whether a tensor has three or more uses, of which some are behind an input of an op, and some are not.

    `tf.gradients` takes the ops in the order of their distance from the loss, and adds parts as they come.

    Args:
      operation: the op.
      position: of the input.

    Returns:
      Whether gradients may be added in another order if this input is taken by an op at another distance.
    """
    todo: List[tf.Operation] = [operation.inputs[position].op]
    behind: Set[tf.Operation] = set()
    while todo:
        one = todo.pop()
        if one not in behind:
            behind.add(one)
            todo += [tensor.op for tensor in one.inputs]
    through = {*behind, operation}
    for tensor in (tensor for one in behind for tensor in one.outputs if tensor.dtype.is_floating):
        users = {user for user in tensor.consumers() if user.type not in SHAPE_OPS}
        uses = sum(other.name == tensor.name for user in users for other in user.inputs)
        if uses > FEWEST_IN_ANY_ORDER and users & through and users - through:
            return True
    return False
