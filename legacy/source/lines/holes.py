"""Holes of a statement: what may differ between two statements that do the same, such as names, sizes and values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, List, NamedTuple, Tuple

import numpy as np

from legacy.source.basics.expressions import (
    BATCH_SIZE,
    Argument,
    Call,
    Expression,
    Infix,
    Item,
    Lambda,
    Listing,
    Literal,
    Method,
    Name,
    Prefix,
    Scoped,
    Value,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable


#: {function: names of the arguments that are given by place, where these are often numbers}.
_POSITIONAL = {
    "tf.broadcast_to": ("", "shape"),
    "tf.clip_by_value": ("", "low", "high"),
    "tf.compat.v1.image.resize_area": ("", "size"),
    "tf.compat.v1.image.resize_bicubic": ("", "size"),
    "tf.compat.v1.image.resize_bilinear": ("", "size"),
    "tf.compat.v1.image.resize_nearest_neighbor": ("", "size"),
    "tf.fill": ("shape", "value"),
    "tf.gather": ("", "indices"),
    "tf.maximum": ("", "low"),
    "tf.minimum": ("", "high"),
    "tf.one_hot": ("", "depth"),
    "tf.ones": ("shape", ""),
    "tf.pad": ("", "paddings"),
    "tf.range": ("limit",),
    "tf.reshape": ("", "shape"),
    "tf.tile": ("", "multiples"),
    "tf.transpose": ("", "perm"),
    "tf.zeros": ("shape", ""),
}


#: Label of a name that a function of the program is given, which variables' names may begin with.
FOLDER = "folder"


class Hole(NamedTuple):
    """A place in a statement.

    Attributes:
      kind: "value" (a tensor), "name" (of a variable or a random stream), "size", "literal" or "initializer".
      label: keyword of the argument that it is, or a name that says as much, or "".
      content: what stands there.
    """

    kind: str
    label: str
    content: Any


def skeleton(expression: Expression) -> Tuple[str, List[Hole]]:
    """Returns a text of an expression without what its holes hold, and the holes in order."""
    holes: List[Hole] = []

    def record(hole: Hole) -> Any:
        holes.append(hole)
        return hole.content

    return _walk(expression, record)[1], holes


def with_holes(expression: Expression, contents: List[Any]) -> Expression:
    """Returns an expression with other contents of its holes, in the order of `skeleton`."""
    left = iter(contents)
    return _walk(expression, lambda hole: next(left))[0]


def _walk(node: Expression, visit: Callable[[Hole], Any], label: str = "", outer: str = "") -> Tuple[Any, str]:
    """Returns the expression with what `visit` returns for its holes, and its text without them."""
    if isinstance(node, Value) or isinstance(node, Item) and node.base == Name("batch"):
        return visit(Hole("value", label, node)), "v"
    if isinstance(node, Variable):
        return _walk_variable(node, visit)
    if isinstance(node, (Literal, Scoped)) or _is_given_name(node, label, outer):
        return _walk_literal(node, visit, label, outer)
    if isinstance(node, Call):
        made = [
            (a.keyword, *_walk(a.value, visit, label, node.function)) for a, label in zip(node.arguments, _labels(node))
        ]
        arguments = tuple(Argument(keyword, value) for keyword, value, _ in made)
        return Call(node.function, arguments), f"{node.function}({','.join(k + '=' + t for k, _, t in made)})"
    if isinstance(node, Method):
        parts = [_walk(part, visit) for part in (node.base, *node.arguments)]
        method = Method(parts[0][0], node.name, tuple(part[0] for part in parts[1:]))
        return method, f"{parts[0][1]}.{node.name}({','.join(part[1] for part in parts[1:])})"
    if isinstance(node, Infix):
        left, right = _walk(node.left, visit), _walk(node.right, visit)
        return Infix(node.symbol, left[0], right[0]), f"({left[1]}{node.symbol}{right[1]})"
    if isinstance(node, Prefix):
        operand = _walk(node.operand, visit)
        return Prefix(node.symbol, operand[0]), node.symbol + operand[1]
    if isinstance(node, Item):
        base, *bounds = (_walk(part, visit) for part in (node.base, *node.bounds))
        key = node.key.format(*(text for _, text in bounds)) if bounds else node.key
        return Item(base[0], node.key, tuple(bound for bound, _ in bounds)), f"{base[1]}[{key}]"
    if isinstance(node, Lambda):
        body = _walk(node.body, visit)
        return Lambda(node.parameters, body[0]), f"lambda {node.parameters}: {body[1]}"
    if isinstance(node, Listing):
        items = [_walk(item, visit, "size") for item in node.items]
        return Listing(tuple(item[0] for item in items)), "[" + ",".join(item[1] for item in items) + "]"
    return node, str(node)


def _is_given_name(node: Any, label: str, outer: str) -> bool:
    """Returns whether a function of the program gets a variable's name that the function around it was given."""
    if not isinstance(node, Name) or not outer or "." in outer or (label and not label.startswith("name")):
        return False
    return node.text.startswith('f"') or (node.text.isidentifier() and node not in (Name("scope"), BATCH_SIZE))


def _labels(node: Call) -> List[str]:
    """Returns what each argument of a call is called, or ""."""
    names = _POSITIONAL.get(node.function, ())
    if sum(not argument.keyword for argument in node.arguments) > len(names):
        names = ()
    return [a.keyword or (names[place] if place < len(names) else "") for place, a in enumerate(node.arguments)]


def _walk_literal(node: Any, visit: Callable[[Hole], Any], label: str, outer: str) -> Tuple[Any, str]:
    value = node.value if isinstance(node, Literal) else node
    names_variable = isinstance(value, str) and not outer.startswith("tf.") and (not label or label.startswith("name"))
    if isinstance(node, (Scoped, Name)) or names_variable:
        return visit(Hole("name", FOLDER if outer and "." not in outer else "", node)), "n"
    if value is None or isinstance(value, (bool, np.bool_)):
        return node, str(value)
    kind = type(value).__name__ + (str(len(value)) if isinstance(value, (list, tuple)) else "")
    return visit(Hole("literal", label, node)), kind


def _walk_variable(node: Variable, visit: Callable[[Hole], Any]) -> Tuple[Any, str]:
    name = visit(Hole("name", "", node.name if not isinstance(node.name, str) else Literal(node.name)))
    inner = len(node.shape) - 2  # a kernel's window comes before its channels
    shape = tuple(visit(Hole("size", "size" if i < inner else "units", n)) for i, n in enumerate(node.shape))
    initializer = visit(Hole("initializer", "", node.initializer))
    trainable, kind = node.trainable, str(node.trainable)
    if isinstance(trainable, Literal):  # of a network with other variables, which are not trained
        given = visit(Hole("literal", "trainable", trainable))
        trainable, kind = given.value if isinstance(given, Literal) else given, "bool"
    if isinstance(name, Literal):
        name = name.value
    made = dataclasses.replace(node, name=name, shape=shape, initializer=initializer, trainable=trainable)
    return made, f"V{len(node.shape)}{kind}{bool(node.initializer)}"
