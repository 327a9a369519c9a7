"""One op of the forward pass as the writers see it: its arguments as expressions, its constants and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from legacy.source.basics.expressions import OMIT, Infix, Listing, Literal, Name, Value, as_expression, call

if TYPE_CHECKING:
    from collections.abc import Sequence

    import tensorflow as tf

    from legacy.source.basics.expressions import Expression
    from legacy.source.basics.forward import Forward

#: The name that stands for the number of examples of one replica.
BATCH_SIZE = Name("batch_size")
#: Least mean length of a run of equal numbers for which a vector is written as repetitions.
LEAST_PER_RUN = 8


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
            return constant_expression(value)
        factor = self._forward.per_example(tensor)
        if factor is None:
            return Value(tensor)
        if factor == 1.0:
            return BATCH_SIZE
        return Infix("*", Literal(int(factor) if factor == int(factor) else factor), BATCH_SIZE)

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

    def producer(self, position: int) -> OpView:
        """Returns the op that computes input number `position`, behind copies."""
        tensor = self._forward.typed.graph.get_tensor_by_name(self.tensor(position))
        return OpView(tensor.op, self._forward, self._aliases)

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


def _times_batch(factor: int) -> Expression:
    return BATCH_SIZE if factor == 1 else Infix("*", Literal(factor), BATCH_SIZE)


def constant_expression(value: np.ndarray) -> Expression:
    """Returns the expression of a constant: a number, or a `tf.constant`.

    >>> constant_expression(np.array(0.5, np.float32))
    Literal(value=np.float32(0.5))
    """
    if value.shape == ():
        return Literal(value[()])
    if value.size and (value == value.flat[0]).all() and value.size > 1:
        return filled_expression(value.shape, value.flat[0])
    dtype = Name("tf." + value.dtype.name)
    if is_counted(value):
        return call("tf.range", value.size, dtype=OMIT if value.dtype.name == "int32" else dtype)
    return band_expression(value) or runs_expression(value) or call("tf.constant", numbers(value), dtype)


def is_counted(value: np.ndarray) -> bool:
    """Returns whether an array holds 0, 1, 2 and so on, up to 3 at least."""
    return value.ndim == 1 and value.size > 3 and value.dtype.kind == "i" and value.tolist() == list(range(value.size))


def filled_expression(shape: Sequence[int], number: Any) -> Expression:
    """Returns the expression of an array of one number, which is a numpy scalar.

    >>> filled_expression((8, 8), np.float32(0.5)).arguments[1].value
    Literal(value=np.float32(0.5))
    """
    dtype = Name("tf." + number.dtype.name)
    filled = {0: "tf.zeros", 1: "tf.ones"}.get(number)
    if filled:
        return call(filled, list(shape), dtype)
    is_usual = number.dtype.name in ("float32", "int32")  # what TensorFlow makes of Python's numbers
    return call("tf.fill", list(shape), number if is_usual else call("tf.constant", number, dtype))


def runs_expression(value: np.ndarray) -> Expression | None:
    """Returns the expression of a vector of a few numbers, each repeated many times; None for another table."""
    if value.ndim != 1 or value.size < LEAST_PER_RUN:
        return None
    starts = [0, *(np.flatnonzero(value[1:] != value[:-1]) + 1).tolist()]
    if len(starts) * LEAST_PER_RUN > value.size:
        return None
    repeats = np.diff([*starts, value.size]).tolist()
    kept = call("tf.constant", numbers(value[starts]), Name("tf." + value.dtype.name))
    return call("tf.repeat", kept, repeats)


def band_expression(value: np.ndarray) -> Expression | None:
    """Returns the expression of a matrix with one number in a band around its diagonal; None for another table."""
    if value.ndim != 2 or not value.any():
        return None
    rows, columns = np.nonzero(value)
    lower, upper = int((rows - columns).max()), int((columns - rows).max())
    inside = np.subtract.outer(np.arange(value.shape[0]), np.arange(value.shape[1]))
    band = (inside <= lower) & (-inside <= upper)
    number = value[rows[0], columns[0]]
    if lower < 0 or upper < 0 or not np.array_equal(value, np.where(band, number, value.dtype.type(0))):
        return None
    return call("tf.linalg.band_part", filled_expression(value.shape, number), lower, upper)


def numbers(value: np.ndarray) -> Any:
    """Returns an array as nested lists of numbers that keep their dtype."""
    return [numbers(item) for item in value] if value.ndim else value[()]
