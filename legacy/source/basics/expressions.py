"""Expressions of the program that is written: small trees, whose leaves are literals, variables and named values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple, Tuple, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclasses.dataclass(frozen=True)
class Literal:
    """A Python literal, such as a number, a text, a list or a tuple of numbers, or None.

    >>> hash(Literal([1, [2]])) == hash(Literal([1, [2]]))
    True
    """

    value: Any

    def __hash__(self) -> int:
        return hash(_hashable(self.value))


def _hashable(value: Any) -> Any:
    """Returns a value with a tuple in place of each list."""
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


@dataclasses.dataclass(frozen=True)
class Name:
    """A name that stands in the text as it is, such as `tf.float32` or a function's parameter."""

    text: str


@dataclasses.dataclass(frozen=True)
class Value:
    """A tensor that another statement computes, by its name in the old graph."""

    tensor: str


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable's value.

    Attributes:
      name: of the variable; an expression where it is made from a parameter.
      shape: its sizes; each a number or an expression.
      initializer: text of an initializer, or "".
      trainable: False for a statistic; an expression where it is a weight of some towers.
    """

    name: Any
    shape: Tuple[Any, ...]
    initializer: str = ""
    trainable: Any = True


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of a call; `keyword` is "" for a positional one."""

    keyword: str
    value: Any


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of a function."""

    function: str
    arguments: Tuple[Argument, ...]


@dataclasses.dataclass(frozen=True)
class Method:
    """A call of a method: `base.name(arguments)`."""

    base: Any
    name: str
    arguments: Tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Infix:
    """Two operands with an operator between them."""

    symbol: str
    left: Any
    right: Any


@dataclasses.dataclass(frozen=True)
class Prefix:
    """An operator before its operand."""

    symbol: str
    operand: Any


@dataclasses.dataclass(frozen=True)
class Item:
    """One item of a sequence, or a slice of a tensor: `base[key]`.

    Attributes:
      base: the sequence or tensor.
      key: its text, in which {} stands for each of the bounds.
      bounds: expressions in the key.
    """

    base: Any
    key: str
    bounds: Tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class Channels:
    """The size of a tensor's last dimension: `int(x.shape[-1])`."""

    base: Any


@dataclasses.dataclass(frozen=True)
class Listing:
    """A list of expressions."""

    items: Tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Scoped:
    """The text `f"{scope}/rest"`: a variable's name inside the scope that a parameter names."""

    scope: Any
    rest: str


@dataclasses.dataclass(frozen=True)
class Lambda:
    """A function in one expression: `lambda parameters: body`, the parameters as they stand in the text."""

    parameters: str
    body: Any


@dataclasses.dataclass(frozen=True)
class Loop:
    """`for variable in range(first, end): result = body`, in which each turn takes the result of the one before.

    Attributes:
      variable: name of the number of the turn.
      first, end: numbers of the first turn, and after the last one.
      start: what the first turn takes in place of a result.
      body: what a turn computes; `CARRIED` stands for the result of the turn before.
    """

    variable: str
    first: int
    end: int
    start: Any
    body: Any


#: Stands in the body of a loop for the result of the turn before.
CARRIED = Name("<carried>")
#: The name that stands for the number of examples of one replica.
BATCH_SIZE = Name("batch_size")

Expression = Union[
    Literal, Name, Value, Variable, Call, Method, Infix, Prefix, Item, Channels, Listing, Scoped, Lambda, Loop
]


def call(function: str, *positional: Any, **named: Any) -> Call:
    """Makes a call; arguments that are no expressions become literals, named ones that are `OMIT` are left out.

    Args:
      function: its name.
      *positional: arguments without a keyword.
      **named: arguments with one.

    Returns:
      The call.
    """
    arguments = [Argument("", as_expression(value)) for value in positional]
    arguments += [Argument(key, as_expression(value)) for key, value in named.items() if value is not OMIT]
    return Call(function, tuple(arguments))


#: Stands for an argument that is left out.
OMIT = object()

_KINDS = (Literal, Name, Value, Variable, Call, Method, Infix, Prefix, Item, Channels, Listing, Scoped, Lambda, Loop)


def as_expression(value: Any) -> Expression:
    """Returns `value` if it is an expression, a `Listing` of a list that holds some, or a `Literal` of it.

    >>> as_expression(3), as_expression([Name("x"), 1])
    (Literal(value=3), Listing(items=(Name(text='x'), Literal(value=1))))
    """
    if isinstance(value, _KINDS):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(item, _KINDS) for item in value):
        return Listing(tuple(as_expression(item) for item in value))
    return Literal(value)


#: {kind of expression: function to those that it consists of}; the others are leaves.
_CHILDREN: dict[type, Callable[[Any], tuple[Expression, ...]]] = {
    Call: lambda node: tuple(argument.value for argument in node.arguments),
    Method: lambda node: (node.base, *node.arguments),
    Infix: lambda node: (node.left, node.right),
    Prefix: lambda node: (node.operand,),
    Item: lambda node: (node.base, *node.bounds),
    Channels: lambda node: (node.base,),
    Lambda: lambda node: (node.body,),
    Loop: lambda node: (node.start, node.body),
    Variable: lambda node: tuple(size for size in node.shape if not isinstance(size, int)),
    Listing: lambda node: node.items,
}


def children(node: Expression) -> tuple[Expression, ...]:
    """Returns the expressions that an expression consists of, in the order of its text."""
    find = _CHILDREN.get(type(node))
    return find(node) if find else ()


def with_children(node: Expression, made: tuple[Expression, ...]) -> Expression:
    """Returns an expression with other children, in the order of `children`."""
    if isinstance(node, Call):
        return Call(node.function, tuple(Argument(a.keyword, new) for a, new in zip(node.arguments, made)))
    if isinstance(node, Method):
        return Method(made[0], node.name, made[1:])
    if isinstance(node, Infix):
        return Infix(node.symbol, *made)
    if isinstance(node, Prefix):
        return Prefix(node.symbol, *made)
    if isinstance(node, Item):
        return Item(made[0], node.key, made[1:])
    if isinstance(node, Channels):
        return Channels(made[0])
    if isinstance(node, Lambda):
        return Lambda(node.parameters, made[0])
    if isinstance(node, Loop):
        return dataclasses.replace(node, start=made[0], body=made[1])
    if isinstance(node, Variable):
        left = iter(made)
        return dataclasses.replace(node, shape=tuple(n if isinstance(n, int) else next(left) for n in node.shape))
    if isinstance(node, Listing):
        return Listing(made)
    return node


def replace(node: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """Replaces parts of an expression, from the leaves to the root.

    Args:
      node: the expression.
      change: function from a part, whose own parts are replaced already, to what takes its place, or None to keep it.

    Returns:
      The new expression.
    """
    parts = children(node)
    if parts:
        node = with_children(node, tuple(replace(part, change) for part in parts))
    changed = change(node)
    return node if changed is None else changed


def leaves(node: Expression) -> Iterator[Expression]:
    """Yields the expressions without children of an expression, in the order of its text."""
    parts = children(node)
    if not parts:
        yield node
    for part in parts:
        yield from leaves(part)


def values_used(node: Expression) -> list[str]:
    """Returns the tensors that an expression uses, each as often as it stands there."""
    found, todo = [], [node]
    while todo:  # no generator: sources of deep networks ask this a million times
        one = todo.pop()
        if isinstance(one, Value):
            found.append(one.tensor)
        else:
            todo += reversed(children(one))
    return found


def calls(node: Expression) -> Iterator[Call]:
    """Yields every call in an expression."""
    if isinstance(node, Call):
        yield node
    for part in children(node):
        yield from calls(part)


class Definition(NamedTuple):
    """A statement in the making.

    Attributes:
      targets: the tensors that it computes, in order; a name in the text that begins with "!" is no tensor.
      expression: computes them.
    """

    targets: Tuple[str, ...]
    expression: Expression
