"""Expression recovery: from the ops of a forward pass to definitions, each an expression that computes tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence, Set, Tuple

from legacy.source.basics.branches import GUARDED
from legacy.source.basics.cut import variable_of
from legacy.source.basics.expressions import (
    OMIT,
    Definition,
    Expression,
    Item,
    Lambda,
    Listing,
    Name,
    Value,
    Variable,
    call,
    replace,
    values_used,
)
from legacy.source.basics.forward import LoopInside
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.loops import write_loop
from legacy.source.ops import arithmetic, arrays, neural, random_numbers, slices, tensor_arrays
from legacy.source.ops.idioms import IDIOMS
from legacy.source.ops.view import OpView
from workloads.lifted.pieces.noise import TWINS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import tensorflow as tf

    from legacy.source.basics.forward import Forward
    from legacy.source.definitions.inner_gradients import InnerGradient
    from legacy.source.definitions.loops import LoopFunction

_WRITERS = {
    **arithmetic.WRITERS,
    **arrays.WRITERS,
    **slices.WRITERS,
    **neural.WRITERS,
    **random_numbers.WRITERS,
    **tensor_arrays.WRITERS,
}

#: {op type: number of results of the function that it is written as}, where the op has more.
_RESULTS = {name: 3 for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")}
_RESULTS.update({"SparseSoftmaxCrossEntropyWithLogits": 1, "SoftmaxCrossEntropyWithLogits": 1})
#: {random op: function of a scope that draws such numbers}.
NOISE = {"RandomUniform": "uniform", "RandomStandardNormal": "normal", "TruncatedNormal": "truncated_normal"}
#: Users of class numbers that take int32 and int64 alike.
TAKE_ANY_INTEGER = ("SparseSoftmaxCrossEntropyWithLogits", "Gather", "GatherV2", "OneHot", "GatherNd", "Cast")


class Names(NamedTuple):
    """Expressions that stand for the inputs of the forward pass in the text.

    Attributes:
      inputs: {tensor: expression} of data.
      noise: {tensor: (name of the stream, op type)} of random numbers.
      trainable: names of the weights.
      initializers: {variable: text of its initializer}.
      replaced: {variable: expression that stands for it}, such as the step for a counter.
      changed: {variable: expression that stands for it after others of the same step have changed it}.
    """

    inputs: Mapping[str, Expression]
    noise: Mapping[str, Tuple[str, str]]
    trainable: Set[str]
    initializers: Mapping[str, str]
    replaced: Mapping[str, Expression] = {}
    changed: Mapping[str, Expression] = {}


class Recovery:
    """The definitions of a forward pass.

    Args:
      forward: the forward pass.
      names: of its inputs.
      parameters: placeholders that are parameters of a function, and need no definition.
      inner: derivatives that the forward pass is made of.

    Attributes:
      loops: {text: function} of the loops' iterations.
    """

    def __init__(
        self, forward: Forward, names: Names, parameters: Sequence[str] = (), inner: Sequence[InnerGradient] = ()
    ) -> None:
        self._forward, self._names, self._parameters = forward, names, set(parameters)
        self.loops: Dict[str, LoopFunction] = {}
        self._aliases: Dict[str, str] = {}
        self._by_tensor: Dict[str, Definition] = {}
        self._adopted: Dict[str, Recovery] = {}
        self._conditionals: Dict[str, Set[str]] = {}  # {choice: the ops that it computes in a branch only}
        scopes = tuple(gradient.scope for gradient in inner)
        for operation in forward.typed.operations():
            if not operation.name.startswith(scopes):
                self._define(operation)
        for gradient in inner:
            self._define_gradient(gradient)

    def resolve(self, tensor: str) -> str:
        """Returns the tensor that `tensor` is a copy of."""
        while tensor in self._aliases:
            tensor = self._aliases[tensor]
        return tensor

    @property
    def batch(self) -> int:
        """Number of examples that the shapes are for."""
        return self._forward.batch

    def definition(self, tensor: str) -> Definition | None:
        """Returns the definition that computes a tensor, or None."""
        return self._by_tensor.get(tensor)

    def definitions(self) -> list[Definition]:
        """Returns all definitions, each after those that it uses."""
        return self.ordered([Listing(tuple(Value(tensor) for tensor in self._by_tensor))])

    def redefine(self, tensor: str, definition: Definition) -> None:
        """Replaces the definition that computes a tensor."""
        self._by_tensor[tensor] = definition

    def adopt(self, definition: Definition, other: Recovery) -> None:
        """Adds a definition of another tower's recovery, in terms of this one's values."""
        self._by_tensor.update((target, definition) for target in definition.targets)
        self._adopted.update((target, other) for target in definition.targets)

    def variable(self, name: str, shape: Tuple[int, ...]) -> Expression:
        """Returns a variable's value: the one that the part reads, or else one of its own."""
        for placeholder, feed in self._forward.cut.feeds.items():
            read = variable_of(feed)
            if read is not None and read.variable == name:
                return Value(placeholder + ":0")
        return Variable(name, shape, self._names.initializers.get(name, ""), name in self._names.trainable)

    def shape(self, tensor: str) -> list[int] | None:
        """Returns a tensor's static shape at the batch size of the analysis."""
        if tensor in self._adopted:
            return self._adopted[tensor].shape(tensor)
        return None if tensor.startswith("!") else self._forward.shape(tensor)

    def operations(self) -> list[tf.Operation]:
        """Returns the ops."""
        return self._forward.typed.operations()

    def operation(self, tensor: str) -> tf.Operation:
        """Returns the op that computes a tensor."""
        return self._forward.typed.graph.get_tensor_by_name(tensor).op

    def expression_of(self, tensor: str) -> Expression:
        """Returns a tensor as an expression: a constant, or the name of the definition's target."""
        operation = self.operation(tensor)
        return OpView(operation, self._forward, self._aliases).expression(self.resolve(tensor))

    def ordered(self, outputs: Sequence[Expression]) -> list[Definition]:
        """Returns the definitions that some expressions need, each after those that it uses, depth first."""
        done: Set[str] = set()
        found: List[Definition] = []
        todo = [(tensor, False) for output in reversed(outputs) for tensor in reversed(values_used(output))]
        while todo:
            tensor, ready = todo.pop()
            definition = self._by_tensor.get(tensor)
            if definition is None or definition.targets[0] in done:
                continue
            if ready:
                done.update(definition.targets)
                found.append(definition)
                continue
            todo.append((tensor, True))
            used = values_used(definition.expression)
            todo += [(other, False) for other in reversed(used) if other not in done]
        return found

    def _define(self, operation: tf.Operation) -> None:
        op = OpView(operation, self._forward, self._aliases)
        if operation.name in self._parameters:
            return
        if operation.name in self._forward.loops:
            self._define_loop(op)
            return
        if operation.type == "Placeholder" or operation.name in self._forward.cut.feeds:
            self._by_tensor[op.output] = Definition((op.output,), self._input(op))
            return
        if not operation.outputs or op.output in self._by_tensor:  # an idiom has it already
            return
        if operation.type == "IdentityN":
            self._aliases.update((out.name, op.tensor(number)) for number, out in enumerate(operation.outputs))
            return
        taken = op.constant(0) if operation.type in ("Select", "SelectV2") else None
        if taken is not None and taken.shape == ():  # a choice that always gives the same
            self._aliases[op.output] = op.tensor(1 if taken else 2)
            return
        for idiom in IDIOMS.get(operation.type, ()):
            match = idiom(op)
            if match is None:
                continue
            if match.alias:
                self._aliases[op.output] = match.alias
                return
            assert match.expression is not None
            made = Definition(match.targets, match.expression)
            self._by_tensor.update((target, made) for target in match.targets)
            return
        writer = _WRITERS.get(operation.type)
        expression = self._noise_of_turn(op) or (writer(op) if writer else None)
        if GUARDED in operation.node_def.attr:
            expression = self._conditional(op) or expression
        if expression is None:
            expression = neural.write_raw(op)
        targets = tuple(str(output.name) for output in operation.outputs)[: _RESULTS.get(operation.type)]
        if operation.type == "TensorArrayV3":  # the flow stands for the array, not the handle
            targets = (str(operation.outputs[1].name),)
        self._by_tensor.update((target, Definition(targets, expression)) for target in targets)

    def _conditional(self, op: OpView) -> Expression | None:
        """Returns a choice that computes the ops which may fail only where their branch is taken; None without such.

        Raises:
          Unwritten: such an op is part of a function, or computed with others at once.
        """
        names = [name.decode() for name in op.operation.node_def.attr[GUARDED].list.s]
        names = [name for name in names if self._forward.constant(f"{name}:0") is None]
        if not names:
            return None
        both = self.ordered([op.argument(1), op.argument(2)])
        needed = {target.partition(":")[0] for one in both for target in one.targets}
        inner = {name for name, own in self._conditionals.items() if name in needed and own <= set(names)}
        guarded = {name for name in names if f"{name}:0" in self._by_tensor} | inner
        left = set(names) - needed - {name for one in inner for name in self._conditionals[one]}

        def inside(definition: Definition) -> bool:
            needed = self.ordered([Value(definition.targets[0])])
            return any(target.partition(":")[0] in guarded for one in needed for target in one.targets)

        left |= {one.targets[0].partition(":")[0] for one in both if len(one.targets) > 1 and inside(one)}
        if left:
            kind = self._forward.typed.graph.get_operation_by_name(min(left)).type
            raise Unwritten(f"model: a branch of {op.operation.name!r} keeps {min(left)!r} ({kind}) from some numbers")

        def opened(part: Expression) -> Expression | None:
            definition = self._by_tensor.get(part.tensor) if isinstance(part, Value) else None
            if definition is None or len(definition.targets) > 1 or not inside(definition):
                return None
            return replace(definition.expression, opened)

        self._conditionals[op.operation.name] = set(names)
        taken, other = (Lambda("", replace(op.argument(position), opened)) for position in (1, 2))
        return call("tf.cond", op.argument(0), taken, other)

    def _define_gradient(self, gradient: InnerGradient) -> None:
        """Adds the definition of a derivative, with the sums that `tf.gradients` makes by default.

        Sums in order are made by more ops; the loss's own gradients would be added up in another order.

        Raises:
          Unwritten: the text computes what is differentiated without naming what it is differentiated by.
        """
        values, by = ([self.expression_of(name) for name in names] for names in (gradient.values, gradient.by))
        needed = {target for one in self.ordered(values) for target in one.targets}
        for name in gradient.by:
            if self.resolve(name) not in needed:
                raise Unwritten(f"model: a loss is differentiated by {name!r}, which is a part of another function")
        one = len(by) == 1
        ends = values[0] if len(values) == 1 else Listing(tuple(values))
        made: Expression = call("tf.gradients", ends, by[0] if one else Listing(tuple(by)))
        definition = Definition(gradient.results, Item(made, "0") if one else made)
        self._by_tensor.update((target, definition) for target in gradient.results)

    def _define_loop(self, op: OpView) -> None:
        loop = self._forward.loops[op.operation.name]
        inside = Recovery(LoopInside(loop, self._forward), self._names, loop.states + loop.given)
        variables = [self._variable_of(op.tensor(position)) for position in range(len(op.operation.inputs))]
        made = write_loop(loop, inside, op.arguments(), variables, self.loops)
        targets = tuple(str(output.name) for output in op.operation.outputs)[: len(loop.starts)]
        self._by_tensor.update((target, Definition(targets, made.expression)) for target in targets)

    def _variable_of(self, tensor: str) -> str:
        """Returns the name of the variable that a tensor is the value of, or ""."""
        definition = self._by_tensor.get(tensor)
        variable = definition.expression if definition is not None else None
        return str(variable.name) if isinstance(variable, Variable) else ""

    def _input(self, op: OpView) -> Expression:
        """Returns the expression of a placeholder: a variable, data or random numbers."""
        feed = self._forward.cut.feeds[op.operation.name]
        read = variable_of(feed)
        if read is not None:
            name = read.variable
            if read.version and name in self._names.changed:
                return self._names.changed[name]
            if name in self._names.replaced:
                return self._names.replaced[name]
            shape = tuple(op.output_shape() or ())
            return Variable(name, shape, self._names.initializers.get(name, ""), name in self._names.trainable)
        key = str(feed.key)
        if feed.kind == "drawn":
            return self._noise(op, key)
        if feed.kind == "noise":  # the key of a random op in a loop, which `scope` makes of the stream's name
            self._stream(key + ":0")
            return Name("key")
        if key not in self._names.inputs:
            raise Unwritten(f"model: {key!r} is computed outside of the towers ({feed.kind})")
        given = self._names.inputs[key]
        if op.operation.outputs[0].dtype.name == "bool":  # an integer in a port's batch
            return call("tf.cast", given, Name("tf.bool"))
        users = {user.type for user in op.operation.outputs[0].consumers()}
        if op.operation.outputs[0].dtype.name == "int64" and not users <= set(TAKE_ANY_INTEGER):
            return call("tf.cast", given, Name("tf.int64"))
        is_number = isinstance(given, Name) and given.text.isupper()  # a constant of the text; others are tensors
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

    def _noise_of_turn(self, op: OpView) -> Expression | None:
        """Returns the random numbers that one op draws in each iteration of a loop, or None for another op."""
        if op.output not in self._names.noise or op.operation.type not in TWINS.values():
            return None
        turns = op.operation.inputs[1].op.inputs[1].op  # the seed is the stream's key, and a multiple of the turn
        return self._noise(op, op.output, OpView(turns, self._forward, self._aliases).argument(1))

    def _stream(self, key: str) -> Tuple[str, str]:
        """Returns the name of a random op's stream, and the function of a scope that draws such numbers.

        Raises:
          Unwritten: there is none.
        """
        if key not in self._names.noise:
            raise Unwritten(f"random numbers: {key!r} are drawn once for all towers")
        stream, kind = self._names.noise[key]
        if kind not in NOISE:
            raise Unwritten(f"random numbers: {key!r} ({kind}): only " + ", ".join(NOISE) + " are written")
        return stream, NOISE[kind]

    def _noise(self, op: OpView, key: str, turn: Any = OMIT) -> Expression:
        """Returns the random numbers of one op, in a loop those of its turn.

        Raises:
          Unwritten: no function of a scope draws such numbers.
        """
        stream, function = self._stream(key)
        shape = op.output_sizes()
        if shape is None and op.operation.inputs:  # the graph computes it
            shape = op.argument(0)
        if shape is None:
            raise Unwritten(f"random numbers: {key!r} ({function}) have a shape that is not known")
        return call("scope." + function, stream, shape, turn=turn)
