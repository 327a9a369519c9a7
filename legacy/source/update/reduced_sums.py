"""Sums of a result of all towers in a factor on their losses, which an all-reduce makes at any number of replicas."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import (
    Call,
    Definition,
    Expression,
    Infix,
    Listing,
    Name,
    Value,
    children,
    leaves,
    replace,
)

#: Functions that add the terms of a list.
_SUMS = ("tf.add_n", "sum", "add_in_order")


def with_reduced_sums(
    definitions: Sequence[Definition], parts: Sequence[str], towers: int
) -> Tuple[List[Definition], List[str]]:
    """Returns definitions in which a sum of all towers' results has the name of one, and the names of those results.

    Args:
      definitions: of what is computed of `names_of_towers` of each part.
      parts: names of results of a tower.
      towers: number of towers.

    Returns:
      Both; a result that the definitions use otherwise, too, stays one of each tower.
    """
    rows: Dict[Tuple[Expression, ...], str] = {names_of_towers(part, towers): part for part in parts}
    reduced: Set[str] = set()

    def sum_of_all(node: Expression) -> Optional[Expression]:
        part = rows.get(_terms(node))
        if part is None:
            return None
        reduced.add(part)
        return Name(part)

    given = {d.targets[0]: d.expression for d in definitions if d.targets and isinstance(d.expression, Name)}

    def named(node: Expression) -> Optional[Expression]:
        return given.get(node.tensor) if isinstance(node, Value) else sum_of_all(node)

    others = [one for one in definitions if not set(one.targets) & set(given)]
    changed = [one._replace(expression=replace(one.expression, named)) for one in others]
    used = {leaf.text for one in changed for leaf in leaves(one.expression) if isinstance(leaf, Name)}
    kept = [part for part in parts if used.intersection(name.text for name in names_of_towers(part, towers))]
    if reduced.intersection(kept):
        return list(definitions), []
    return changed, [part for part in parts if part in reduced]


def names_of_towers(part: str, towers: int) -> Tuple[Name, ...]:
    """Returns the names of a result of each tower, once all are gathered."""
    return tuple(Name(f"{part}s[{tower}]") for tower in range(towers))


def _terms(node: Expression) -> Tuple[Expression, ...]:
    """Returns the terms of a sum, in their order; nothing for another expression."""
    if isinstance(node, Call) and node.function in _SUMS and len(node.arguments) == 1:
        (terms,) = [argument.value for argument in node.arguments]
        return tuple(children(terms)) if isinstance(terms, Listing) else ()
    if isinstance(node, Infix) and node.symbol == "+":
        before = _terms(node.left) if isinstance(node.left, Infix) else (node.left,)
        return (*before, node.right)
    return ()
