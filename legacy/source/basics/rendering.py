"""Text of expressions and statements, laid out as the formatter "black" would lay it out."""

from __future__ import annotations

import functools
import re
import textwrap
from typing import TYPE_CHECKING, Any, List

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

#: What a loop makes, a list or the items of one: the bracket, the item, the loop, the bracket.
_COMPREHENSION = re.compile(r"(\[|\*\()(.*) (for \w+(?:, \w+)* in [^\[\]]*(?:\[[^\[\]]*\]\)?)?)([\])])$")
#: The longest line.
WIDTH = 120
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
_UNARY, _ATOM, _COMPARISON, _CHOICE = 6, 9, 1, 0


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


#: Fewest characters of a number whose digits say nothing, and the largest one whose root is looked for.
_LONG, _MOST_OF_ROOT = 9, 4096


@functools.lru_cache(maxsize=None)
def _root_text(value: np.float32) -> str:
    """Returns a number that is the root of a whole one, or 1 divided by it, as a power; "" of another number.

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
    return _text(node, 0)


def _precedence(node: Infix) -> int:
    """Returns how tightly an operator binds; loosest of all the choice `one if condition else other`."""
    return _CHOICE if node.symbol.startswith("if ") else _PRECEDENCE.get(node.symbol, _COMPARISON)


def _text(node: Expression, outer: int) -> str:
    """Returns an expression's text, in parentheses if it binds less tightly than `outer`."""
    if isinstance(node, Infix):
        added = _python_sum(node)
        if added:
            return expression_text(added)
        own = _precedence(node)
        right = _UNARY if node.symbol == "**" else own + 1
        left = own + 1 if node.symbol == "**" else own
        text = f"{_text(node.left, left)} {node.symbol} {_text(node.right, right)}"
        if node.symbol == "**" and re.fullmatch(r"-?[\w.]+ \*\* -?[\w.]+", text):
            text = text.replace(" ", "")
        if node.symbol == "+" and isinstance(node.right, Literal) and text.rpartition(" + ")[2].startswith("-"):
            text = " - ".join(text.rsplit(" + -", 1))  # the same bits
        if node.symbol == "-" and isinstance(node.right, Literal) and text.rpartition(" - ")[2].startswith("-"):
            text = " + ".join(text.rsplit(" - -", 1))  # the same bits
        return f"({text})" if own < outer else text
    if isinstance(node, Prefix):
        text = node.symbol + _text(node.operand, _UNARY)
        return f"({text})" if outer > _UNARY else text
    if isinstance(node, Item):
        return f"{_text(node.base, _ATOM)}[{_key_text(node)}]"
    if isinstance(node, Call):
        return f"{node.function}({', '.join(_argument(argument) for argument in node.arguments)})"
    if isinstance(node, Method):
        return f"{_text(node.base, _ATOM)}.{node.name}({', '.join(expression_text(a) for a in node.arguments)})"
    if isinstance(node, Channels):
        return f"int({_text(node.base, _ATOM)}.shape[-1])"
    if isinstance(node, Lambda):
        return f"{f'lambda {node.parameters}'.rstrip()}: {_text(node.body, 0)}"
    if isinstance(node, Listing):
        return "[" + ", ".join(expression_text(item) for item in node.items) + "]"
    if isinstance(node, Loop):
        return f"{loop_header(node)} {_text(node.body, 0)}"
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


def _python_sum(node: Infix) -> Call | None:
    """Returns `sum([a, b])` for `0 + a + b`, which Python's `sum` computes; None for another operation."""
    if node.symbol != "+" or not isinstance(node.left, Infix):
        return None
    symbols, terms = zip(*_operands(node))
    start = terms[0].value if isinstance(terms[0], Literal) else None
    if set(symbols[1:]) != {"+"} or not isinstance(start, np.number) or str(start) not in ("0", "0.0"):
        return None
    return Call("sum", (Argument("", Listing(terms[1:])),))


def _key_text(node: Item) -> str:
    return node.key.format(*map(expression_text, node.bounds)) if node.bounds else node.key


def loop_header(loop: Loop) -> str:
    """Returns the first line of a loop.

    >>> loop_header(Loop("layer", 0, 12, Name("x"), Name("y")))
    'for layer in range(12):'
    """
    return f"for {loop.variable} in range({loop.first}, {loop.end}):".replace("(0, ", "(")


def _argument(argument: Argument) -> str:
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


def item_lines(items: Sequence[str], indent: int) -> List[str]:
    """Returns the lines of the texts of a list that is too long for one.

    >>> item_lines(["a", "b"], 4)
    ['    "a",', '    "b",']
    """
    return [f"{' ' * indent}{literal_text(item)}," for item in items]


def layout(prefix: str, node: Expression, suffix: str = "", indent: int = 0) -> list[str]:
    """Returns the lines of `prefix expression suffix`, broken at calls and operators where one line is too short.

    Args:
      prefix: text before the expression, such as "x = ".
      node: the expression.
      suffix: text after it.
      indent: columns that the lines are indented by.

    Returns:
      The lines.
    """
    pad = " " * indent
    line = pad + prefix + expression_text(node) + suffix
    if len(line) <= WIDTH:
        return [line]
    if isinstance(node, Variable):
        node = variable_call(node)
    if isinstance(node, Infix):
        node = _python_sum(node) or node
    if isinstance(node, Call) and node.arguments:
        return _broken_call(prefix + node.function + "(", list(node.arguments), ")" + suffix, indent)
    if isinstance(node, Listing):
        return _broken_call(prefix + "[", [Argument("", item) for item in node.items], "]" + suffix, indent)
    if isinstance(node, Literal) and isinstance(node.value, (list, dict)):
        return _broken_table(prefix, node.value, suffix, indent)
    if isinstance(node, Infix):
        return _broken_infix(prefix, node, suffix, indent)
    if isinstance(node, Prefix) and _breaks(node):
        return layout(prefix + node.symbol, node.operand, suffix, indent)
    if isinstance(node, Lambda):
        return layout(f"{prefix}lambda {node.parameters}".rstrip() + ": ", node.body, suffix, indent)
    if isinstance(node, Item) and _breaks(node.base):
        return layout(prefix, node.base, f"[{_key_text(node)}]{suffix}", indent)
    if isinstance(node, Method) and node.arguments:
        opening = f"{prefix}{_text(node.base, _ATOM)}.{node.name}("
        return _broken_call(opening, [Argument("", argument) for argument in node.arguments], ")" + suffix, indent)
    comprehension = _COMPREHENSION.match(node.text) if isinstance(node, Name) else None
    if comprehension:
        opening, item, loop, closing = comprehension.groups()
        return [pad + prefix + opening, *(f"{pad}    {part}" for part in (item, loop)), pad + closing + suffix]
    return [line]


def _breaks(node: Expression) -> bool:
    """Returns whether an expression has brackets of its own, in which it can go on in further lines."""
    return isinstance(node, (Call, Variable, Listing)) or isinstance(node, Prefix) and isinstance(node.operand, Call)


def _broken_table(prefix: str, values: Any, suffix: str, indent: int) -> list[str]:
    """Breaks a table of numbers into its rows, and a row, a dict, or a list too long for a line into filled lines."""
    pad, inner = " " * indent, " " * (indent + 4)
    opening, closing = "{}" if isinstance(values, dict) else "[]"
    if isinstance(values, list) and values and isinstance(values[0], list):
        rows = [line for row in values for line in layout("", Literal(row), ",", indent + 4)]
    else:
        text = literal_text(values)[1:-1].replace(": ", ":\0") + ","
        words = textwrap.TextWrapper(
            WIDTH, initial_indent=inner, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False
        )
        rows = words.wrap(text)
    return [pad + prefix + opening, *(row.replace("\0", " ") for row in rows), pad + closing + suffix]


def _broken_call(opening: str, arguments: List[Argument], closing: str, indent: int) -> list[str]:
    pad, inner = " " * indent, " " * (indent + 4)
    joined = inner + ", ".join(_argument(argument) for argument in arguments)
    if len(joined) <= WIDTH:
        return [pad + opening, joined, pad + closing]
    lines = [pad + opening]
    for argument in arguments:
        lines += layout(argument.keyword + "=" if argument.keyword else "", argument.value, ",", indent + 4)
    return lines + [pad + closing]


def _broken_infix(prefix: str, node: Infix, suffix: str, indent: int) -> list[str]:
    """Breaks `left + right` inside parentheses, before each operator of equal precedence."""
    operands, own = _operands(node), _precedence(node)
    lines = [" " * indent + prefix + "("]
    for position, (symbol, operand) in enumerate(operands):
        start = symbol + " " if symbol else ""
        text = " " * (indent + 4) + start + _text(operand, own + 1 if position else own)
        if len(text) > WIDTH and isinstance(operand, Infix):
            lines += _broken_infix(start, operand, "", indent + 4)
        elif len(text) > WIDTH and _breaks(operand):
            lines += layout(start, operand, "", indent + 4)
        else:
            lines.append(text)
    return lines + [" " * indent + ")" + suffix]


def _operands(node: Infix) -> Sequence[tuple[str, Expression]]:
    own = _precedence(node)
    left = node.left
    if isinstance(left, Infix) and _precedence(left) == own and node.symbol != "**":
        return [*_operands(left), (node.symbol, node.right)]
    return [("", left), (node.symbol, node.right)]
