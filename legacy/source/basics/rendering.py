"""Text of expressions on one line, as the formatter "black" would write it."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from legacy.source.basics.expressions import (
    Argument,
    Call,
    Channels,
    Expression,
    Infix,
    Item,
    Lambda,
    Listing,
    Literal,
    Loop,
    Method,
    Name,
    Prefix,
    Scoped,
    Value,
    Variable,
    as_expression,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_PRECEDENCE = {
    "**": 7,
    "*": 5,
    "/": 5,
    "//": 5,
    "%": 5,
    "+": 4,
    "-": 4,
    "&": 3,
    "|": 2,
}
_UNARY, ATOM, _COMPARISON, _CHOICE = 6, 9, 1, 0


#: Fewest zeros at the end of a number that is written by its exponent.
_LEAST_ZEROS = 6


def literal_text(value: Any) -> str:
    """Returns the text of a Python literal; floats with as few digits as their own dtype needs.

    >>> literal_text(np.float32(0.1)), literal_text((3, 3)), literal_text("SAME"), literal_text(np.float32("inf"))
    ('0.1', '(3, 3)', '"SAME"', 'float("inf")')
    >>> [literal_text(number) for number in (-1e9, 1.25e9, 123456.0, 100000.0, 65536.0, 0.0)]
    ['-1e9', '1.25e9', '123456.0', '100000.0', '65536.0', '0.0']
    """
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal_text(key)}: {literal_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(literal_text(item) for item in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, np.floating):
        return _float_text(value)
    if isinstance(value, float):
        return _float_text(np.float64(value))
    if isinstance(value, np.integer):
        return str(int(value))
    return repr(value)


def _float_text(value: Any) -> str:
    if not np.isfinite(value):
        return f'float("{value}")'
    text = repr(float(str(value)))
    mantissa, _, exponent = text.partition("e")
    if exponent:
        return mantissa + "e" + str(int(exponent))
    digits = text[: -len(".0")].rstrip("0") if text.endswith(".0") else text
    zeros = len(text) - len(".0") - len(digits)
    if zeros < _LEAST_ZEROS:
        return text
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    return f"{sign}{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{zeros + len(digits) - 1}"


#: Fewest characters of a number that is tried as a root, and the largest number under such a root.
_LONG, _MOST_OF_ROOT = 9, 4096


@functools.lru_cache(maxsize=None)
def _root_text(value: np.float32) -> str:
    """Returns the root of a whole number, or its inverse, as a power; "" for another number.

    >>> _root_text(np.float32(0.35355338)), _root_text(np.float32(22.627417)), _root_text(np.float32(0.3535535))
    ('8**-0.5', '512**0.5', '')
    """
    square = float(value) ** 2
    for exponent, estimate in ((0.5, square), (-0.5, 1 / square if square else 0.0)):
        base = round(estimate) if 1 < estimate <= _MOST_OF_ROOT else 0
        if base and np.float32(base**exponent) == value:
            return f"{base}**{exponent}"
    return ""


def _number_text(value: Any) -> str:
    """Returns the text of a literal in an expression, in which a root may stand as a power."""
    text = literal_text(value)
    is_long = isinstance(value, np.float32) and value > 0 and len(text) >= _LONG
    return _root_text(value) or text if is_long else text


def expression_text(node: Expression) -> str:
    """Returns an expression on one line."""
    return text_within(node, 0)


def precedence(node: Infix) -> int:
    """Returns how tightly an operator binds; loosest of all the choice `one if condition else other`."""
    return _CHOICE if node.symbol.startswith("if ") else _PRECEDENCE.get(node.symbol, _COMPARISON)


def text_within(node: Expression, outer: int) -> str:
    """Returns an expression's text, in parentheses if it binds less tightly than an operator of precedence `outer`."""
    if isinstance(node, Infix):
        added = python_sum(node)
        if added:
            return expression_text(added)
        own = precedence(node)
        right = _UNARY if node.symbol == "**" else own + 1
        left = own + 1 if node.symbol == "**" else own
        text = f"{text_within(node.left, left)} {node.symbol} {text_within(node.right, right)}"
        if node.symbol == "**" and re.fullmatch(r"-?[\w.]+ \*\* -?[\w.]+", text):
            text = text.replace(" ", "")
        if node.symbol == "+" and isinstance(node.right, Literal) and text.rpartition(" + ")[2].startswith("-"):
            text = " - ".join(text.rsplit(" + -", 1))  # the same bits
        if node.symbol == "-" and isinstance(node.right, Literal) and text.rpartition(" - ")[2].startswith("-"):
            text = " + ".join(text.rsplit(" - -", 1))  # the same bits
        return f"({text})" if own < outer else text
    if isinstance(node, Prefix):
        text = node.symbol + text_within(node.operand, _UNARY)
        return f"({text})" if outer > _UNARY else text
    if isinstance(node, Item):
        return f"{text_within(node.base, ATOM)}[{key_text(node)}]"
    if isinstance(node, Call):
        return f"{node.function}({', '.join(argument_text(argument) for argument in node.arguments)})"
    if isinstance(node, Method):
        return f"{text_within(node.base, ATOM)}.{node.name}({', '.join(expression_text(a) for a in node.arguments)})"
    if isinstance(node, Channels):
        return f"int({text_within(node.base, ATOM)}.shape[-1])"
    if isinstance(node, Lambda):
        return f"{f'lambda {node.parameters}'.rstrip()}: {text_within(node.body, 0)}"
    if isinstance(node, Listing):
        return "[" + ", ".join(expression_text(item) for item in node.items) + "]"
    if isinstance(node, Loop):
        return f"{loop_header(node)} {text_within(node.body, 0)}"
    if isinstance(node, Literal):
        text = _number_text(node.value)
        return f"({text})" if (text.startswith("-") or "**" in text) and outer > _UNARY else text
    if isinstance(node, Variable):
        return expression_text(variable_call(node))
    if isinstance(node, Scoped):
        return 'f"{' + expression_text(node.scope) + "}" + node.rest + '"'
    if isinstance(node, Name):
        return node.text
    assert isinstance(node, Value)
    return f"<{node.tensor}>"


def python_sum(node: Infix) -> Call | None:
    """Returns `sum([a, b])` for `0 + a + b`, which Python's `sum` computes; None for another operation."""
    if node.symbol != "+" or not isinstance(node.left, Infix):
        return None
    symbols, terms = zip(*operands_of(node))
    start = terms[0].value if isinstance(terms[0], Literal) else None
    if set(symbols[1:]) != {"+"} or not isinstance(start, np.number) or str(start) not in ("0", "0.0"):
        return None
    return Call("sum", (Argument("", Listing(terms[1:])),))


def key_text(node: Item) -> str:
    """Returns the text between the brackets of an item."""
    return node.key.format(*map(expression_text, node.bounds)) if node.bounds else node.key


def loop_header(loop: Loop) -> str:
    """Returns the first line of a loop.

    >>> loop_header(Loop("layer", 0, 12, Name("x"), Name("y")))
    'for layer in range(12):'
    """
    return f"for {loop.variable} in range({loop.first}, {loop.end}):".replace("(0, ", "(")


def argument_text(argument: Argument) -> str:
    """Returns the text of an argument of a call, with its keyword."""
    text = expression_text(argument.value)
    return f"{argument.keyword}={text}" if argument.keyword else text


def variable_call(node: Variable) -> Call:
    """Returns the call that gives a variable's value: `scope.get(name, shape)`."""
    name = Literal(node.name) if isinstance(node.name, str) else node.name
    sizes = [size if isinstance(size, int) else expression_text(size) for size in node.shape]
    shape = "(" + ", ".join(str(size) for size in sizes) + ("," if len(sizes) == 1 else "") + ")"
    arguments = [Argument("", name), Argument("", Name(shape))]
    if node.initializer:
        arguments.append(Argument("", Name(node.initializer)))
    if node.trainable is not True:
        arguments.append(Argument("trainable", as_expression(node.trainable)))
    return Call("scope.get", tuple(arguments))


def operands_of(node: Infix) -> Sequence[tuple[str, Expression]]:
    """Returns (operator before it, operand) of each operand of a chain of equal precedence; the first has none."""
    own = precedence(node)
    left = node.left
    if isinstance(left, Infix) and precedence(left) == own and node.symbol != "**":
        return [*operands_of(left), (node.symbol, node.right)]
    return [("", left), (node.symbol, node.right)]
