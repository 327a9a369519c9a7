"""Input values: expressions of what enters a forward pass, which are variables, data and random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, FrozenSet, NamedTuple, Set, Tuple

from legacy.source.basics.cut import DRAWS_CLASSES, variable_of
from legacy.source.basics.expressions import OMIT, Expression, Name, Value, Variable, call
from legacy.source.basics.typed import SHAPE_OPS
from legacy.source.basics.unwritten import Unwritten
from legacy.source.basics.values_of_all import values_of_all
from legacy.source.ops import arithmetic
from legacy.source.ops.view import OpView
from workloads.frame import CATEGORICAL
from workloads.lifted.pieces.noise import TWINS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import tensorflow as tf

    from legacy.source.basics.forward import Forward
    from workloads.lifted.pieces.piece import VariableVersion

#: {random op: function of a scope that draws such numbers}.
NOISE = {"RandomUniform": "uniform", "RandomStandardNormal": "normal", "TruncatedNormal": "truncated_normal"}
NOISE.update({"RandomUniformInt": "integers", DRAWS_CLASSES: CATEGORICAL})
#: Users of class numbers that take int32 and int64 alike.
TAKE_ANY_INTEGER = ("SparseSoftmaxCrossEntropyWithLogits", "Gather", "GatherV2", "OneHot", "GatherNd", "Cast")

#: Dtypes of inputs that a port takes as float32.
OTHER_FLOATS = ("float16", "bfloat16", "float64")


class Names(NamedTuple):
    """Expressions that stand for the inputs of the forward pass in the text.

    Attributes:
      inputs: {tensor: expression} of data; of what all towers have whole, of an array of the same size.
      noise: {tensor: (name of the stream, op type)} of random numbers.
      trainable: names of the weights.
      initializers: {variable: text of its initializer}.
      replaced: {variable: expression that stands for it}, such as the step for a counter.
      changed: {variable: expression that stands for it after others of the same step have changed it}.
      bounds: {tensor: (least, one above the largest)} of random integers.
      own_parts: tensors that are this tower's part of what is computed once for all, one for each tower.
      towers: number of the towers.
      between: {version of a variable: expression that stands for it} of what no variable holds any more.
      drawn_for_all: random tensors that are drawn once for all towers.
    """

    inputs: Mapping[str, Expression]
    noise: Mapping[str, Tuple[str, str]]
    trainable: Set[str]
    initializers: Mapping[str, str]
    replaced: Mapping[str, Expression] = {}
    changed: Mapping[str, Expression] = {}
    bounds: Mapping[str, Tuple[int, int]] = {}
    own_parts: FrozenSet[str] = frozenset()
    towers: int = 1
    between: Mapping[VariableVersion, Expression] = {}
    drawn_for_all: FrozenSet[str] = frozenset()


class InputValues:
    """The expressions of the inputs of a forward pass.

    Args:
      forward: the forward pass.
      names: of its inputs.
      aliases: {copy of a tensor: the tensor}.
    """

    def __init__(self, forward: Forward, names: Names, aliases: Dict[str, str]) -> None:
        self._forward, self._names, self._aliases = forward, names, aliases

    def variable(self, name: str, shape: Tuple[int, ...]) -> Variable:
        """Returns a variable's value, as its scope is asked for it."""
        return Variable(name, shape, self._names.initializers.get(name, ""), name in self._names.trainable)

    def read_variable(self, name: str, shape: Tuple[int, ...]) -> Expression:
        """Returns a variable's value before the step: the one that the part reads, or else one of its own."""
        for placeholder, feed in self._forward.cut.feeds.items():
            read = variable_of(feed)
            if read is not None and read.variable == name and not (read.version and name in self._names.changed):
                return Value(placeholder + ":0")
        return self.variable(name, shape)

    def of_placeholder(self, op: OpView) -> Expression:
        """Returns the expression of a placeholder: a variable, data or random numbers.

        Raises:
          Unwritten: it has none.
        """
        feed = self._forward.cut.feeds[op.operation.name]
        read = variable_of(feed)
        if read is not None:
            name = read.variable
            if read in self._names.between:
                return self._names.between[read]
            if read.version and name in self._names.changed:
                return self._names.changed[name]
            if name in self._names.replaced:
                return self._names.replaced[name]
            value, dtype = self.variable(name, tuple(op.output_shape() or ())), op.operation.outputs[0].dtype
            # A port's variables are floats, also those of whole numbers, such as the labels of a preloaded data set.
            return value if dtype.is_floating else call("tf.cast", value, Name("tf." + dtype.name))
        key = str(feed.key)
        if feed.kind == "drawn":
            return self._noise(op, key)
        if feed.kind == "noise":  # the key of a random op in a loop, which `scope` makes of the stream's name
            self._stream(key + ":0")
            return Name("key")
        if key not in self._names.inputs:
            raise Unwritten(f"model: {key!r} is computed outside of the towers ({feed.kind})")
        given = self._names.inputs[key]
        users = {user.type for user in op.operation.outputs[0].consumers()}
        if op.operation.name in self._forward.wholes and not users <= set(SHAPE_OPS):
            given = values_of_all(given)
        if op.operation.outputs[0].dtype.name == "bool":  # an integer in a port's batch
            return call("tf.cast", given, Name("tf.bool"))
        if op.operation.outputs[0].dtype.name == "int64" and not users <= set(TAKE_ANY_INTEGER):
            return call("tf.cast", given, Name("tf.int64"))
        is_number = isinstance(given, Name) and given.text.isupper()  # a constant of the text; others are tensors
        if op.operation.outputs[0].dtype.name in OTHER_FLOATS and not is_number:  # a port's batch is float32
            return call("tf.cast", given, Name("tf." + op.operation.outputs[0].dtype.name))
        if is_number and self._meets_numbers_alone(op.operation.outputs[0]):
            return call("tf.constant", given)
        return given

    def _meets_numbers_alone(self, scalar: tf.Tensor) -> bool:
        """Returns whether an op computes with a fed scalar and known ones alone, which Python does with more digits."""
        for user in scalar.consumers():
            if user.type == "Identity" and self._meets_numbers_alone(user.outputs[0]):
                return True
            others = [tensor.name for tensor in user.inputs if tensor is not scalar]
            numbers = [self._forward.constant(name) for name in others]
            if user.type in arithmetic.INFIX and all(number is not None and number.shape == () for number in numbers):
                return scalar.dtype.name == "float32"
        return False

    def noise_of_twin(self, op: OpView) -> Expression | None:
        """Returns what a keyed op draws: random numbers in each iteration of a loop, or classes; None for another."""
        if op.output not in self._names.noise or op.operation.type not in TWINS.values():
            return None
        seed, turn = op.operation.inputs[2 if op.operation.type == TWINS[DRAWS_CLASSES] else 1].op, OMIT
        if seed.type != "Placeholder":  # in a loop it is the stream's key, and a multiple of the turn
            turn = OpView(seed.inputs[1].op, self._forward, self._aliases).argument(1)
        return self._noise(op, op.output, turn)

    def _stream(self, key: str) -> Tuple[str, str]:
        """Returns the name of a random op's stream, and the function of a scope that draws such numbers.

        Raises:
          Unwritten: there is none.
        """
        if key not in self._names.noise:
            raise Unwritten(f"random numbers: {key!r} are drawn once for all towers")
        stream, kind = self._names.noise[key]
        return stream, NOISE[kind]

    def _noise(self, op: OpView, key: str, turn: Any = OMIT) -> Expression:
        """Returns the random numbers of one op, in a loop those of its turn.

        Raises:
          Unwritten: no function of a scope draws such numbers.
        """
        stream, function = self._stream(key)
        scope = "scope.common." if key in self._names.drawn_for_all else "scope."
        if function == CATEGORICAL:
            drawn = call(scope + function, stream, op.argument(0), op.argument(1), turn=turn)
            dtype = op.operation.outputs[0].dtype.name
            return drawn if dtype == "int64" else call("tf.cast", drawn, Name("tf." + dtype))
        shape = op.output_sizes()
        if shape is None and op.operation.inputs:  # the graph computes it
            shape = op.argument(0)
        if shape is None:
            raise Unwritten(f"random numbers: {key!r} ({function}) have a shape that is not known")
        if function == "integers" and key not in self._names.bounds:
            raise Unwritten(f"random numbers: {key!r} ({function}) are no int32 within bounds that the graph tells")
        return call(scope + function, stream, shape, *self._names.bounds.get(key, ()), turn=turn)
