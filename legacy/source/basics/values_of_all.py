"""Data of all towers' batch that a loss uses whole, as the lengths whose sum divides it: a replica gathers the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from legacy.source.basics.divided_losses import REPLICAS
from legacy.source.basics.expressions import Call, Expression, call, calls

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Function of a scope that joins the rows of all replicas.
OF_ALL = "scope.of_all"


def size_of_all(part: Expression) -> Expression:
    """Returns an array as long as what all replicas have, of which a replica has a part; only its size is right."""
    return call("tf.repeat", part, REPLICAS, axis=0)


def values_of_all(size: Expression) -> Expression:
    """Returns what all replicas have, from its `size_of_all`; what a batch has whole, as a lift's, stays.

    >>> from legacy.source.basics.expressions import Name
    >>> from legacy.source.basics.rendering import expression_text
    >>> expression_text(values_of_all(size_of_all(Name("lengths")))), values_of_all(Name("x"))
    ('scope.of_all(lengths)', Name(text='x'))
    """
    if isinstance(size, Call) and size == size_of_all(size.arguments[0].value):
        return call(OF_ALL, size.arguments[0].value)
    return size


def uses_values_of_all(expressions: Sequence[Expression]) -> bool:
    """Returns whether one of some expressions has what all replicas have."""
    return any(one.function == OF_ALL for expression in expressions for one in calls(expression))
