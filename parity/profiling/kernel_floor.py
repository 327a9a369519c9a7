"""Floor of a step: the time that its convolutions and matrix products need by themselves, back to back."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from legacy.towers.program import session_config
from parity.profiling.op_copies import FloorUnknown, copy_of, stand_in
from parity.profiling.op_kinds import UPDATES, is_product, kind_of_op

v1 = tf.compat.v1


class KernelFloor:
    """A session that runs only the products of a graph, on the devices and threads that the graph has.

    Each device runs its products one after the other, on random values of the same shapes; devices run side by side.

    Args:
      graph: the towers' graph.
      train_ops: names of the ops that the steps run.
      devices: their devices, e.g. ["CPU:0", "CPU:1"].

    Raises:
      FloorUnknown: a shape is not known before the graph runs, a product stands inside a loop, or steps differ.

    Attributes:
      count: number of products.
      session: the session, whose graph they stand in.
    """

    def __init__(self, graph: tf.Graph, train_ops: Sequence[str], devices: Sequence[str]) -> None:
        if len(set(train_ops)) > 1:
            raise FloorUnknown(f"the steps run different ops: {', '.join(train_ops)}")
        products = [op for op in _ops_of_step(graph.get_operation_by_name(train_ops[0])) if is_product(op.type)]
        for product in products:
            if product._get_control_flow_context() is not None:  # there is no public way to ask
                raise FloorUnknown(f"{product.name}: it stands in a loop or a branch")
        self.count = len(products)
        with tf.Graph().as_default() as floor:
            self._step = tf.group(*_chains(products))
            initialize = v1.global_variables_initializer()
        self.session = v1.Session(graph=floor, config=session_config(devices, exact=True))
        self.session.run(initialize)

    def run(self, steps: int) -> None:
        """Runs the products of `steps` steps."""
        for _ in range(steps):
            self.session.run(self._step)

    def close(self) -> None:
        """Frees the session."""
        self.session.close()


def _ops_of_step(train_op: tf.Operation) -> list[tf.Operation]:
    """The ops of a step whose values it uses, in the order in which the graph was made.

    `tf.compat.v1.train.Optimizer` gates gradients: a layer's gradient of its weights waits for that of its input, which
    nothing needs in the first layer. The floor leaves that one out.
    """
    of_step = reached([train_op], lambda op: [*(tensor.op for tensor in op.inputs), *op.control_inputs])
    updates = [op for op in of_step if kind_of_op(op.type) == UPDATES]
    used = reached(updates, lambda op: [tensor.op for tensor in op.inputs])
    return [op for op in train_op.graph.get_operations() if op in used]


def reached(
    ends: Iterable[tf.Operation], before: Callable[[tf.Operation], Iterable[tf.Operation]]
) -> set[tf.Operation]:
    """All ops that are reached from some, themselves included, by the function of the ops before one."""
    reached, open_ends = set(ends), list(ends)
    while open_ends:
        new = set(before(open_ends.pop())) - reached
        reached |= new
        open_ends.extend(new)
    return reached


def _chains(products: Sequence[tf.Operation]) -> Iterator[tf.Operation]:
    """Adds copies of the products to the graph, one chain a device; yields the last op of each chain."""
    values: dict[Any, tf.Tensor] = {}
    by_device = collections.defaultdict(list)
    for product in products:
        by_device[product.device].append(product)
    for device, of_device in by_device.items():
        last: list[tf.Operation] = []
        with tf.device(device):
            for product in of_device:
                inputs = [stand_in(tensor, values, device) for tensor in product.inputs]
                with tf.control_dependencies(last):
                    last = [copy_of(product, inputs)]
        yield last[0]
