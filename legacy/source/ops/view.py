"""One op of the forward pass as the writers see it: its arguments as expressions, its constants and attributes."""

from __future__ import annotations

import fractions
from typing import TYPE_CHECKING, Any

from legacy.source.basics.divided_losses import ALL_EXAMPLES
from legacy.source.basics.expressions import BATCH_SIZE, Infix, Listing, Literal, Value, as_expression
from legacy.source.basics.forward import LARGEST_DIVISOR
from legacy.source.basics.old_derivatives import OLD_DERIVATIVE, WAITED_FOR
from legacy.source.ops.batch_rows import rows_of_batch
from legacy.source.ops.constants import constant_expression, filled_expression
from legacy.source.ops.gradient_order import groups_gradients, orders_gradients
from workloads.lifted.pieces.noise import TWINS

if TYPE_CHECKING:
    import numpy as np
    import tensorflow as tf

    from legacy.source.basics.expressions import Expression
    from legacy.source.basics.forward import Forward, Multiple


class OpView:
    """An op.

    Args:
      operation: the op.
      forward: the graph that it is in.
      aliases: {tensor: the tensor that it is a copy of}; grows as ops are written.

    Attributes:
      operation: the op.
      type: its type.
    """

    def __init__(self, operation: tf.Operation, forward: Forward, aliases: dict[str, str]) -> None:
        self.operation, self.type = operation, operation.type
        self._forward, self._aliases = forward, aliases

    @property
    def output(self) -> str:
        """Name of its first output."""
        return str(self.operation.outputs[0].name)

    def tensor(self, position: int) -> str:
        """Returns the name of the tensor that is input number `position`, behind copies."""
        name = self.operation.inputs[position].name
        while name in self._aliases:
            name = self._aliases[name]
        return str(name)

    def argument(self, position: int) -> Expression:
        """Returns input number `position` as an expression."""
        return self.expression(self.tensor(position))

    def arguments(self, start: int = 0, stop: int | None = None) -> list[Expression]:
        """Returns the inputs from `start` to before `stop` as expressions."""
        return [self.argument(position) for position in range(len(self.operation.inputs))[start:stop]]

    def expression(self, tensor: str) -> Expression:
        """Returns a tensor as an expression: a literal if its value is known, else a `Value`."""
        value = self._forward.constant(tensor)
        if value is None:
            return Value(tensor)
        if not self._forward.varies(tensor):
            return self.constant_of(tensor, value)
        of_all = self._forward.per_example_of_all(tensor)
        if of_all is not None and (value.dtype.kind == "f" or of_all == int(of_all)):
            return ALL_EXAMPLES if of_all == 1.0 else Infix("*", Literal(_plain_number(of_all)), ALL_EXAMPLES)
        factor = self._forward.per_example(tensor)
        if factor is None:
            return Value(tensor)
        if value.dtype.kind in "iu" and factor != int(factor):
            return _part_of_batch(factor) or Value(tensor)
        if factor == 1.0:
            return BATCH_SIZE
        return Infix("*", Literal(_plain_number(factor)), BATCH_SIZE)

    def constant_of(self, tensor: str, value: np.ndarray) -> Expression:
        """Returns a constant as an expression; one of equal numbers for each example, as a state's zeros, by the batch.

        Args:
          tensor: its name.
          value: its value.

        Returns:
          The expression.
        """
        if tensor in rows_of_batch(self._forward) and value.size > 1 and (value == value.flat[0]).all():
            return filled_expression((BATCH_SIZE, *value.shape[1:]), value.flat[0])
        return constant_expression(value)

    def constant(self, position: int) -> np.ndarray | None:
        """Returns the value of input number `position` if it is the same for all batches; else None."""
        tensor = self.tensor(position)
        return None if self._forward.varies(tensor) else self._forward.constant(tensor)

    def value(self, position: int) -> np.ndarray | None:
        """Returns the value of input number `position` at the batch size at hand, or None if it is not known."""
        return self._forward.constant(self.tensor(position))

    def sizes(self, position: int) -> Expression | None:
        """Returns input number `position`, a vector of sizes, as a list with multiples of `batch_size`, or None."""
        factors = self._forward.sizes_per_example(self.tensor(position))
        if factors is None or not self.rows_vary:
            return None
        return as_expression([_times_batch(factor) if follows else factor for factor, follows in factors])

    def follows_batch(self, position: int) -> list[bool]:
        """Returns whether each entry of input `position`, a vector of sizes, follows the batch; [] if unknown."""
        return [follows for _, follows in self._forward.sizes_per_example(self.tensor(position)) or []]

    def rows_follow_batch(self, tensor: str) -> bool:
        """Returns whether a tensor's first dimension is a multiple or a part of the batch, as far as two sizes tell."""
        sizes = self._forward.shape_per_example(tensor)
        return bool(sizes and sizes[0][1])

    def shape(self, position: int) -> list[int] | None:
        """Returns the static shape of input number `position`, or None."""
        return self._forward.shape(self.tensor(position))

    def output_shape(self, number: int = 0) -> list[int] | None:
        """Returns the static shape of output number `number`, or None."""
        return self._forward.shape(self.operation.outputs[number].name)

    def output_sizes(self) -> Expression | None:
        """Returns the shape of the first output as a list, with multiples of `batch_size`; None if it is not known."""
        sizes = self._forward.shape_per_example(self.output)
        if sizes is None or not any(follows for _, follows in sizes):
            return None if sizes is None else Literal([size for size, _ in sizes])
        return Listing(tuple(_times_batch(size) if follows else Literal(size) for size, follows in sizes))

    def dtype(self, position: int = 0) -> str:
        """Returns the name of the dtype of input number `position`."""
        return str(self.operation.inputs[position].dtype.base_dtype.name)

    def attribute(self, name: str) -> Any:
        """Returns an attribute; texts as `str`."""
        value = self.operation.get_attr(name)
        return value.decode() if isinstance(value, bytes) else value

    @property
    def is_noise(self) -> bool:
        """Whether the op stands for random numbers: drawn outside of the forward pass, or in each turn of a loop."""
        feed = self._forward.cut.feeds.get(self.operation.name)
        return feed is not None and feed.kind == "drawn" or self.type in TWINS.values()

    @property
    def is_variable(self) -> bool:
        """Whether the op stands for the value of a variable, or for what a loop is given."""
        feed = self._forward.cut.feeds.get(self.operation.name)
        return self.type == "Placeholder" and (feed is None or feed.kind == "read")

    @property
    def has_old_derivative(self) -> bool:
        """Whether the old gradients differentiate the op by another formula than today's."""
        return OLD_DERIVATIVE in self.operation.node_def.attr

    @property
    def is_waited_for(self) -> bool:
        """Whether the old gradient of what the op, a reshape, takes has waited for sizes that are computed of it."""
        return WAITED_FOR in self.operation.node_def.attr

    def producer(self, position: int) -> OpView:
        """Returns the op that computes input number `position`, behind copies."""
        tensor = self._forward.typed.graph.get_tensor_by_name(self.tensor(position))
        return OpView(tensor.op, self._forward, self._aliases)

    def orders_gradients(self, position: int) -> bool:
        """Returns whether gradients may be added in another order without this op between input and result."""
        return orders_gradients(self.operation, position, self._forward.untrained)

    def groups_gradients(self, position: int = 0) -> bool:
        """Returns whether the op, a copy, groups the parts of the gradient of its input."""
        return groups_gradients(self.operation, self._forward.handed_on, position)

    def uses(self) -> int:
        """Returns how often the op's first output is used, copies not counted as uses."""
        return sum(
            len(user.outputs[0].consumers()) if user.type == "Identity" else 1
            for user in self.operation.outputs[0].consumers()
        )

    @property
    def batch(self) -> int:
        """Number of examples that the shapes are for."""
        return int(self._forward.batch)

    @property
    def rows_vary(self) -> bool:
        """Whether the graph takes any number of examples."""
        return not self._forward.fixed


def _plain_number(factor: float) -> float:
    """Returns a factor, a whole one as an integer."""
    return int(factor) if factor == int(factor) else factor


def _part_of_batch(factor: float) -> Expression | None:
    """Returns a whole number of examples that is a part of a batch, such as its half; None for no simple part."""
    part = fractions.Fraction(factor).limit_denominator(LARGEST_DIVISOR)
    return _times_batch(part) if float(part) == factor else None


def _times_batch(factor: Multiple) -> Expression:
    """Returns a multiple of the batch, or a part of it."""
    multiple: Expression = BATCH_SIZE
    if factor.numerator != 1:
        multiple = Infix("*", Literal(factor.numerator), BATCH_SIZE)
    return multiple if factor.denominator == 1 else Infix("//", multiple, Literal(factor.denominator))
