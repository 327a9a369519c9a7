"""Alignment of towers that compute the same from constants of their own, such as the seeds of their random numbers.

Where all towers' losses are built alike, one function is enough for all: a number or the name of a variable that
differs from tower to tower becomes `(of tower 0, of tower 1)[scope.replica % 2]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Item,
    Literal,
    Value,
    Variable,
    children,
    with_children,
)
from legacy.source.definitions.bounds_of_towers import with_common_key
from legacy.source.definitions.numbering import Numbering

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Definition
    from legacy.source.definitions.recovery import Recovery


def align_towers(towers: Sequence[Recovery], ends: Sequence[Sequence[Expression]]) -> Optional[List[Dict[str, str]]]:
    """Changes the first tower's definitions so that they stand for all towers.

    Args:
      towers: the recovery of each tower.
      ends: for each tower, the expressions that are wanted of it; corresponding ones at the same place.

    Returns:
      For each tower, {its tensor: tensor of the first tower that stands for it} where the two are not computed alike;
      None where towers differ by more than constants, and nothing was changed.
    """
    alignment = _Alignment(towers)
    if not all(alignment.aligned(row) is not None for row in zip(*ends)):
        return None
    equal = towers[0].ordered(alignment.equal)
    if any(target in alignment.changed for definition in equal for target in definition.targets):
        return None
    for tensor, definition in alignment.changed.items():
        towers[0].redefine(tensor, definition)
    return [alignment.partners(tower) for tower in range(len(towers))]


def by_replica(values: Sequence[Any]) -> Item:
    """Returns the expression of one of the towers' values, by the number of the replica."""
    return Item(Literal(tuple(values)), f"scope.replica % {len(values)}")


class _Alignment:
    """Aligns corresponding expressions of all towers.

    Attributes:
      changed: {tensor of the first tower: its definition for all towers}.
      equal: expressions of the first tower that are the same in all towers as they are.
    """

    def __init__(self, towers: Sequence[Recovery]) -> None:
        self._towers, self._numbering = towers, Numbering(towers)
        self._partners: Dict[str, Tuple[Expression, ...]] = {}
        self.changed: Dict[str, Definition] = {}
        self.equal: List[Expression] = []

    def partners(self, tower: int) -> Dict[str, str]:
        """Returns {tensor of a tower: tensor of the first tower that stands for it}."""
        rows = [(first, row[tower]) for first, row in self._partners.items()]
        return {own.tensor: first for first, own in rows if isinstance(own, Value)}

    def aligned(self, row: Sequence[Expression]) -> Optional[Expression]:
        """Returns one expression for all towers; None if they differ by more than constants."""
        first = row[0]
        if len({self._numbering.key(tower, one) for tower, one in enumerate(row)}) == 1:
            self.equal.append(first)
            return first
        if all(isinstance(one, Value) for one in row):
            return self._aligned_values(row)
        if all(isinstance(one, Literal) for one in row):
            return by_replica([one.value for one in row if isinstance(one, Literal)])
        if isinstance(first, Variable):
            return self._aligned_variables(row)
        slices = [one for one in row if isinstance(one, Item)]
        row = with_common_key(slices) if len(slices) == len(row) else row
        first, rows = row[0], [children(one) for one in row]
        heads = {self._numbering.head(tower, one) for tower, one in enumerate(row)}
        if len(heads) > 1 or len({len(parts) for parts in rows}) > 1 or not rows[0]:
            return None
        made = [self.aligned(parts) for parts in zip(*rows)]
        return None if None in made else with_children(first, tuple(part for part in made if part is not None))

    def _aligned_values(self, row: Sequence[Expression]) -> Optional[Expression]:
        first = row[0]
        assert isinstance(first, Value)
        if first.tensor in self._partners:  # one tensor cannot stand for two different ones of another tower
            return first if self._partners[first.tensor] == tuple(row) else None
        self._partners[first.tensor] = tuple(row)
        found = [tower.definition(one.tensor) for tower, one in zip(self._towers, row) if isinstance(one, Value)]
        definitions = [definition for definition in found if definition is not None]
        places = {d.targets.index(one.tensor) for d, one in zip(definitions, row) if isinstance(one, Value)}
        if len(definitions) < len(row) or len(places) > 1:
            return None
        made = self.aligned([definition.expression for definition in definitions])
        if made is None:
            return None
        for target in definitions[0].targets:
            self.changed[target] = definitions[0]._replace(expression=made)
        return first

    def _aligned_variables(self, row: Sequence[Expression]) -> Optional[Expression]:
        first = row[0]
        variables = [variable for variable in row if isinstance(variable, Variable)]
        alike = {(variable.shape, variable.initializer) for variable in variables}
        if len(alike) > 1 or len(variables) < len(row) or not all(isinstance(v.name, str) for v in variables):
            return None
        assert isinstance(first, Variable)
        trained = [variable.trainable for variable in variables]
        trainable = first.trainable if len(set(trained)) == 1 else by_replica(trained)
        return Variable(by_replica([v.name for v in variables]), first.shape, first.initializer, trainable)
