"""Statements broken into lines of at most `WIDTH` columns, as the formatter "black" would break them."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any, List

from legacy.source.basics.expressions import (
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
    Variable,
)
from legacy.source.basics.rendering import (
    ATOM,
    argument_text,
    expression_text,
    key_text,
    literal_text,
    operands_of,
    precedence,
    python_sum,
    text_within,
    variable_call,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The longest line.
WIDTH = 120
#: A list comprehension, or a generator whose items an argument list takes: bracket, item, loop, bracket.
_COMPREHENSION = re.compile(r"(\[|\*\()(.*) (for \w+(?:, \w+)* in [^\[\]]*(?:\[[^\[\]]*\]\)?)?)([\])])$")


def item_lines(items: Sequence[str], indent: int) -> List[str]:
    """Returns a line for each text of a list that is too long for one line.

    >>> item_lines(["a", "b"], 4)
    ['    "a",', '    "b",']
    """
    return [f"{' ' * indent}{literal_text(item)}," for item in items]


def layout(prefix: str, node: Expression, suffix: str = "", indent: int = 0) -> list[str]:
    """Returns the lines of `prefix expression suffix`, broken at calls and operators if it does not fit on one line.

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
        node = python_sum(node) or node
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
        return layout(prefix, node.base, f"[{key_text(node)}]{suffix}", indent)
    if isinstance(node, Item) and isinstance(node.base, Literal) and isinstance(node.base.value, tuple):
        values = [line for one in node.base.value for line in layout("", Literal(one), ",", indent + 4)]
        return [pad + prefix + "(", *values, f"{pad})[{key_text(node)}]{suffix}"]
    if isinstance(node, Method) and node.arguments:
        opening = f"{prefix}{text_within(node.base, ATOM)}.{node.name}("
        return _broken_call(opening, [Argument("", argument) for argument in node.arguments], ")" + suffix, indent)
    comprehension = _COMPREHENSION.match(node.text) if isinstance(node, Name) else None
    if comprehension:
        opening, item, loop, closing = comprehension.groups()
        return [pad + prefix + opening, *(f"{pad}    {part}" for part in (item, loop)), pad + closing + suffix]
    return [line]


def _breaks(node: Expression) -> bool:
    """Returns whether an expression has brackets of its own, inside of which lines can be broken."""
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
    joined = inner + ", ".join(argument_text(argument) for argument in arguments)
    if len(joined) <= WIDTH:
        return [pad + opening, joined, pad + closing]
    alone = arguments[0].value if len(arguments) == 1 and not arguments[0].keyword else None
    if isinstance(alone, Infix) and not python_sum(alone):
        return [pad + opening, *_broken_infix("", alone, "", indent)[1:-1], pad + closing]
    lines = [pad + opening]
    for argument in arguments:
        lines += layout(argument.keyword + "=" if argument.keyword else "", argument.value, ",", indent + 4)
    return lines + [pad + closing]


def _broken_infix(prefix: str, node: Infix, suffix: str, indent: int) -> list[str]:
    """Breaks `left + right` inside parentheses, before each operator of equal precedence."""
    operands, own = operands_of(node), precedence(node)
    lines = [" " * indent + prefix + "("]
    for position, (symbol, operand) in enumerate(operands):
        start = symbol + " " if symbol else ""
        text = " " * (indent + 4) + start + text_within(operand, own + 1 if position else own)
        if len(text) > WIDTH and isinstance(operand, Infix):
            lines += _broken_infix(start, operand, "", indent + 4)
        elif len(text) > WIDTH and _breaks(operand):
            lines += layout(start, operand, "", indent + 4)
        else:
            lines.append(text)
    return lines + [" " * indent + ")" + suffix]
