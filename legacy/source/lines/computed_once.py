"""Definitions of the same value, computed of data alone, become one: the old graph computes it for each layer anew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Sequence, Set, Tuple

from legacy.source.basics.expressions import Call, Definition, Infix, Item, Name, Value, leaves, replace, values_used
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.statements import uses_scope

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression

#: Text of what is short or depends on sizes alone: it stands in each layer, which would need a parameter otherwise.
_SIZES = re.compile(r"\btf\.shape\(|\.shape\b|\bbatch_size\b")


def computed_once(definitions: Sequence[Definition]) -> List[Definition]:
    """Returns definitions in which what is computed of data or fed scalars in the same way is computed once.

    No gradient goes through it, so that the sums of gradients stay as they are.

    Args:
      definitions: each after those that it uses; without derivatives by data.

    Returns:
      The definitions.
    """
    first: Dict[str, Tuple[str, ...]] = {}  # {text: targets of the definition that has it first}
    same: Dict[str, Expression] = {}
    of_data: Set[str] = set()
    result: List[Definition] = []
    for targets, expression in definitions:
        expression = replace(expression, lambda part: same.get(part.tensor) if isinstance(part, Value) else None)
        if targets and _is_of_data(expression, of_data):
            of_data.update(targets)
            text = expression_text(expression)
            if isinstance(expression, (Call, Infix)) and not _SIZES.search(text):
                known = first.setdefault(text, targets)
                if known != targets:
                    same.update((target, Value(old)) for target, old in zip(targets, known))
                    continue
        result.append(Definition(targets, expression))
    return result


def _is_of_data(expression: Expression, of_data: Set[str]) -> bool:
    """Returns whether an expression is computed of data or fed scalars, and of constants besides them, alone."""
    used = values_used(expression)
    if uses_scope(expression) or not of_data.issuperset(used):
        return False
    return bool(used) or any(_is_given(leaf) for leaf in leaves(expression)) or _is_given(expression)


def _is_given(part: Expression) -> bool:
    """Returns whether a part is an input, or a constant of the text that was fed."""
    if isinstance(part, Item):
        return _is_given(part.base)
    return isinstance(part, Name) and (part.text == "batch" or part.text.isupper())
