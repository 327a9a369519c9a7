"""Complements: constants that an old graph computes as 1 - decay in float32 become named constants of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Tuple

import numpy as np

from legacy.source.basics.expressions import Expression, Literal, Name, calls, leaves, replace
from legacy.source.basics.rendering import literal_text
from legacy.source.lines.naming import free_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.lines.statements import Statement

#: Shortest text of a constant that is examined; a shorter one is what the author wrote.
LONG = 9
#: Most digits of a decay after the point.
MOST_DIGITS = 5
NAME = "UPDATE_RATE"
#: {function: name of its second argument}.
_OF_DROPOUT = {"dropout_by_rate": "DROPOUT_RATE", "dropout_by_keep_prob": "KEEP_PROB"}


def decay_of(value: np.float32, most_digits: int = MOST_DIGITS) -> Optional[float]:
    """Returns the decay d with few digits for which `1 - d`, computed in float32, is `value`; None if there is none.

    A decay is between 0 and 1.

    >>> decay_of(np.float32(1.0) - np.float32(0.99)), decay_of(np.float32(0.3))
    (0.99, 0.7)
    >>> decay_of(np.float32(0.12345678)), decay_of(np.float32(-1e9))
    (None, None)
    """
    if not 0 < value < 1:
        return None
    for digits in range(1, most_digits + 1):
        decay = round(1.0 - float(value), digits)
        if np.float32(1.0) - np.float32(decay) == value:
            return decay
    return None


def name_complements(statements: Sequence[Statement]) -> Tuple[List[Statement], Dict[str, Tuple[np.float32, float]]]:
    """Names the constants of some statements that are 1 - decay and whose digits say nothing, as 0.00999999.

    Args:
      statements: of a function.

    Returns:
      The statements with names in place of these constants, and {name: (value, decay)}.
    """
    names: Dict[np.float32, str] = {}
    constants: Dict[str, Tuple[np.float32, float]] = {}
    given = {
        part.arguments[1].value: _OF_DROPOUT[part.function]
        for statement in statements
        for part in calls(statement.expression)
        if part.function in _OF_DROPOUT
    }
    for leaf in (leaf for statement in statements for leaf in leaves(statement.expression)):
        if not isinstance(leaf, Literal) or not isinstance(leaf.value, np.float32) or leaf.value in names:
            continue
        decay = decay_of(leaf.value) if len(literal_text(leaf.value)) >= LONG else None
        if decay is not None:
            name = free_name(given.get(leaf, NAME), list(constants))
            names[leaf.value] = name
            constants[name] = (leaf.value, decay)

    return with_names(statements, names), constants


def with_names(statements: Sequence[Statement], names: Mapping[np.float32, str]) -> List[Statement]:
    """Returns statements with names in place of some constants.

    Args:
      statements: of a function.
      names: {constant: its name}.

    Returns:
      The statements.
    """

    def named(part: Expression) -> Expression | None:
        found = names.get(part.value) if isinstance(part, Literal) and isinstance(part.value, np.float32) else None
        return None if found is None else Name(found)

    return [statement._replace(expression=replace(statement.expression, named)) for statement in statements]
