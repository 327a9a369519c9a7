"""Expression recovery: from the ops of a forward pass to definitions, each an expression that computes tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence, Set, Tuple

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import (
    Definition,
    Expression,
    Item,
    Listing,
    Value,
    Variable,
    call,
    values_used,
)
from legacy.source.basics.forward import LoopInside
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.conditionals import Conditionals
from legacy.source.definitions.input_values import InputValues
from legacy.source.definitions.loops import write_loop
from legacy.source.idioms.catalogue import IDIOMS
from legacy.source.ops import arithmetic, arrays, named, neural, random_numbers, slices, tensor_arrays
from legacy.source.ops.raw import write_raw
from legacy.source.ops.view import OpView
from legacy.source.overrides.marking import GIVEN_GRADIENT, OVERRIDDEN
from legacy.source.overrides.writing import GRADIENT, overridden_value

if TYPE_CHECKING:
    import tensorflow as tf

    from legacy.source.basics.forward import Forward
    from legacy.source.definitions.inner_gradients import InnerGradient
    from legacy.source.definitions.input_values import Names
    from legacy.source.definitions.loops import LoopFunction

_WRITERS = {
    **arithmetic.WRITERS,
    **arrays.WRITERS,
    **slices.WRITERS,
    **named.WRITERS,
    **neural.WRITERS,
    **random_numbers.WRITERS,
    **tensor_arrays.WRITERS,
}

#: {op type: number of results of the function that it is written as}, where the op has more.
_RESULTS = {name: 3 for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")}
_RESULTS.update({"SparseSoftmaxCrossEntropyWithLogits": 1, "SoftmaxCrossEntropyWithLogits": 1})


class Recovery:
    """The definitions of a forward pass.

    Args:
      forward: the forward pass.
      names: of its inputs.
      parameters: placeholders that are parameters of a function, and need no definition.
      inner: derivatives that the forward pass is made of.

    Attributes:
      loops: {text: function} of the loops' iterations.
      has_derivatives: whether the forward pass computes derivatives, such as a gradient penalty.
    """

    def __init__(
        self, forward: Forward, names: Names, parameters: Sequence[str] = (), inner: Sequence[InnerGradient] = ()
    ) -> None:
        self._forward, self._names, self._parameters = forward, names, set(parameters)
        self.loops: Dict[str, LoopFunction] = {}
        self._aliases: Dict[str, str] = {}
        self._by_tensor: Dict[str, Definition] = {}
        self._adopted: Dict[str, Recovery] = {}
        self._inputs = InputValues(forward, names, self._aliases)
        self._conditionals = Conditionals(forward, self)
        self.has_derivatives = bool(inner)
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
        return self._inputs.read_variable(name, shape)

    def shape(self, tensor: str) -> list[int] | None:
        """Returns a tensor's static shape at the batch size of the analysis."""
        if tensor in self._adopted:
            return self._adopted[tensor].shape(tensor)
        return None if tensor.startswith("!") else self._forward.shape(tensor)

    def has_rows(self, tensor: str) -> bool:
        """Returns whether a tensor's first dimension is the number of examples."""
        return self.rows_per_example(tensor) == 1

    def rows_per_example(self, tensor: str) -> int:
        """Returns how many rows of a tensor each example has, as many as its words; 0 if no whole number."""
        sizes = None if tensor.startswith("!") else self._forward.shape_per_example(tensor)
        return int(sizes[0][0]) if sizes and sizes[0][1] and sizes[0][0] >= 1 else 0

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
            self._by_tensor[op.output] = Definition((op.output,), self._inputs.of_placeholder(op))
            return
        if not operation.outputs or op.output in self._by_tensor:  # an idiom has it already
            return
        if GIVEN_GRADIENT in operation.node_def.attr:
            self._by_tensor[op.output] = Definition((op.output,), GRADIENT)
            return
        if OVERRIDDEN in operation.node_def.attr:
            self._define_overridden(op)
            return
        if operation.type == "IdentityN":
            self._aliases.update((out.name, op.tensor(number)) for number, out in enumerate(operation.outputs))
            return
        taken = op.constant(0) if operation.type in op_types.CHOICES else None
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
        expression = self._inputs.noise_of_twin(op) or (writer(op) if writer else None)
        if operation.type == "SelectV2":
            expression = self._conditionals.choice(op) or expression
        targets = tuple(str(output.name) for output in operation.outputs)
        if expression is None:
            expression = write_raw(op)
        else:
            targets = targets[: _RESULTS.get(operation.type)]
            self._define_further(op, len(targets))
        if operation.type == "TensorArrayV3":  # the flow stands for the array, not the handle
            targets = (str(operation.outputs[1].name),)
        self._by_tensor.update((target, Definition(targets, expression)) for target in targets)
        for part in self._names.own_parts.intersection(targets):
            self._by_tensor[part] = Definition((part,), slices.own_part(op, expression, self._names.towers))

    def _define_further(self, op: OpView, count: int) -> None:
        """Adds the definitions of the results that an op has behind the first `count`, which its function gives."""
        for number, output in enumerate(op.operation.outputs[count:], count):
            self._by_tensor[output.name] = Definition((output.name,), Item(write_raw(op), str(number)))

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

    def _define_overridden(self, op: OpView) -> None:
        """Adds the definition of an op with an overridden gradient."""
        count = int(op.attribute(OVERRIDDEN))
        made = overridden_value(op.operation.name, op.arguments(), count, self._by_tensor.get)
        self._by_tensor[op.output] = Definition((op.output,), made)

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
