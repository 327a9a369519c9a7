"""Order in which the parts of a gradient are added: where another form of the same sum would change it."""

from __future__ import annotations

from typing import Collection, List, Sequence, Set

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.source.basics.typed import SHAPE_OPS
from workloads.lifted.graph.sums import FEWEST_IN_ANY_ORDER

#: Ops that hand their input on, and gradients back.
COPIES = ("CheckNumerics", "Identity", "PlaceholderWithDefault", "Print", "Snapshot")


def orders_gradients(operation: tf.Operation, position: int, untrained: Collection[str] = ()) -> bool:
    """Returns whether a gradient has several parts, of which some are from behind an input of an op, and some are not.

    `tf.gradients` takes the ops in the order of their distance from the loss, and adds parts as they come. Two parts
    have one sum, unless they are the rows of two lookups.

    Args:
      operation: the op.
      position: of the input.
      untrained: names of the placeholders of variables that no gradient trains. What is made of these and of constants
        alone, such as a rate that follows from a counter, has no gradient.

    Returns:
      Whether gradients may be added in another order if this input is taken by an op at another distance.
    """
    todo: List[tf.Operation] = [operation.inputs[position].op]
    behind: Set[tf.Operation] = set()
    while todo:
        one = todo.pop()
        if one not in behind:
            behind.add(one)
            todo += [tensor.op for tensor in one.inputs if one.type not in SHAPE_OPS]
    through = {*behind, operation}
    differentiated = _differentiated(behind, untrained)
    for tensor in (tensor for one in differentiated for tensor in one.outputs if tensor.dtype.is_floating):
        users = {user for user in tensor.consumers() if user.type not in SHAPE_OPS}
        if users & through and users - through and _in_an_order(tensor, users):
            return True
    return False


def groups_gradients(operation: tf.Operation, handed_on: Sequence[str] = (), position: int = 0) -> bool:
    """Returns whether a copy of a tensor groups the parts of its gradient: those of the copy's uses are added first.

    Args:
      operation: the copy, such as an identity, or a reshape to the shape that is there.
      handed_on: tensors that the next iteration of a loop gets.
      position: of the input that it is a copy of.

    Returns:
      Whether it has several uses, and the tensor has others besides.
    """
    tensor, copy = operation.inputs[position], operation.outputs[0]
    if not tensor.dtype.is_floating or tensor.op.type in ("Const", "StopGradient"):
        return False
    others = sum(_uses(user, tensor, handed_on) for user in set(tensor.consumers()) if user is not operation)
    behind = sum(_uses(user, copy, handed_on) for user in set(copy.consumers())) + handed_on.count(copy.name)
    return others + handed_on.count(tensor.name) > 0 and behind > 1


def _uses(user: tf.Operation, tensor: tf.Tensor, handed_on: Sequence[str]) -> int:
    """Returns in how many places an op uses a tensor; of a copy, where that is used."""
    if user.type in (*SHAPE_OPS, "StopGradient"):
        return 0
    if user.type in COPIES:
        (copy,) = user.outputs
        behind = sum(_uses(other, copy, handed_on) for other in set(copy.consumers()))
        return behind + handed_on.count(copy.name)
    places = sum(other.name == tensor.name for other in user.inputs)
    return places if any(output.dtype.is_floating for output in user.outputs) else 0


def _differentiated(behind: Set[tf.Operation], untrained: Collection[str]) -> Set[tf.Operation]:
    """Returns those of some ops, and of what they are made of, that depend on more than constants and `untrained`."""
    found: Set[tf.Operation] = set()
    todo = [one for one in behind if not one.inputs and one.type != "Const" and one.name not in untrained]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += [user for tensor in one.outputs for user in tensor.consumers() if user in behind]
    return found


def _in_an_order(tensor: tf.Tensor, users: Set[tf.Operation]) -> bool:
    """Returns whether the parts of a tensor's gradient, one for each use, have more than one sum."""
    parts = sum(other.name == tensor.name for user in users for other in user.inputs)
    # The rows of several lookups are joined, and added in their order at last.
    return parts > FEWEST_IN_ANY_ORDER or sum(user.type in op_types.LOOKUPS for user in users) > 1
