"""Penalties on all weights of one name, such as "kernel": they ask the scope for the names, so that none is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Listing,
    Literal,
    Name,
    Variable,
    calls,
    children,
    leaves,
    replace,
    values_used,
)
from legacy.source.basics.rendering import expression_text, literal_text
from legacy.source.lines.early_reads import asked_for, early_reads, with_early_lines
from legacy.source.lines.holes import skeleton, with_holes
from legacy.source.lines.statements import GET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from legacy.source.lines.statements import Statement

#: So many penalties are on the weights whose names have one ending; fewer are on weights that a list names.
MANY = 9
#: So many weights may be asked for before their layers, so that they are asked for in the order of their penalties.
MOST_MOVED = 2


def penalties_by_ending(statements: Sequence[Statement], others: Sequence[Statement] = ()) -> List[Statement]:
    """Returns statements in which penalties on all weights of one name, such as "weights", name no weight.

    So the penalties on a hundred layers are one line: those on the weights that were asked for before, in that order.

    Args:
      statements: of the model.
      others: of its loops; weights that they ask for cannot be named so.

    Returns:
      The statements.
    """
    elsewhere = [leaf.name for s in others for leaf in leaves(s.expression) if isinstance(leaf, Variable)]
    asked = [leaf.name for s in statements for leaf in leaves(s.expression) if isinstance(leaf, Variable)]
    if not all(isinstance(name, str) for name in [*asked, *elsewhere]):
        return list(statements)
    known: Dict[str, None] = {}

    def named_by_ending(part: Expression) -> Expression | None:
        terms = _terms_of_weights(part)
        if terms is None or terms.weights != [name for name in known if name.endswith(terms.ending)]:
            return None
        if terms.weights_of(asked + elsewhere) != set(terms.weights):
            return None
        text = f"{expression_text(terms.term)} for name in scope.names({literal_text(terms.ending)})"
        return Listing((*terms.before, Name(f"*({text})"))) if terms.before else Name(f"[{text}]")

    result = []
    for statement in _in_order_of_penalties(statements, asked + elsewhere):
        result.append(statement._replace(expression=replace(statement.expression, named_by_ending)))
        known.update((leaf.name, None) for leaf in leaves(statement.expression) if isinstance(leaf, Variable))
    return result


def _in_order_of_penalties(statements: Sequence[Statement], asked: Sequence[str]) -> Sequence[Statement]:
    """Returns statements that ask for weights in the order of their penalties, if few must be asked for earlier."""
    for number, statement in enumerate(statements):
        for terms in _all_terms(statement.expression):
            variables = asked_for(statements[:number])
            if not terms.weights_of(asked) == set(terms.weights) <= set(variables):
                continue
            early = early_reads(statements[:number], terms.weights)
            if 0 < sum(map(len, early.values())) <= MOST_MOVED:
                return [*with_early_lines(statements[:number], early, variables), *statements[number:]]
    return statements


def _all_terms(expression: Expression) -> Iterator[_Terms]:
    """Yields the terms of weights of every list in an expression."""
    terms = _terms_of_weights(expression)
    if terms is not None:
        yield terms
    for part in children(expression):
        yield from _all_terms(part)


class _Terms(NamedTuple):
    """Terms of a list that differ in the weight that each is of.

    Attributes:
      before: the items before them.
      weights: names of the weights.
      term: one of the terms, in which `name` stands for the weight.
    """

    before: Tuple[Expression, ...]
    weights: List[str]
    term: Expression

    @property
    def ending(self) -> str:
        """The last part of the weights' names."""
        return "/" + self.weights[0].rpartition("/")[2]

    def weights_of(self, names: Sequence[str]) -> Set[str]:
        """Returns those names that end so."""
        return {name for name in names if name.endswith(self.ending)}


def _terms_of_weights(listing: Expression) -> Optional[_Terms]:
    """Returns the last terms of a list that ask for a weight each and are alike otherwise; None if they are few.

    Terms that a value of the model multiplies, such as a schedule of the weight decay, stay as they are.
    """
    if not isinstance(listing, Listing):
        return None
    asks = [[part.arguments[0].value for part in calls(item) if part.function == GET] for item in listing.items]
    first = next((n for n, own in enumerate(asks) if own), len(asks))
    outlines = [skeleton(item)[0] for item in listing.items[first:]]
    contents = [[hole.content for hole in skeleton(item)[1]] for item in listing.items[first:]]
    if any(len(own) != 1 or not isinstance(own[0], Literal) for own in asks[first:]):
        return None
    weights = [own[0] for own in asks[first:]]
    if len(set(outlines)) != 1 or len(weights) < MANY:
        return None
    place = contents[0].index(weights[0])
    differing = {n for own in contents for n, content in enumerate(own) if repr(content) != repr(contents[0][n])}
    if differing - {place} or any(own[place] != weight for own, weight in zip(contents, weights)):
        return None
    if any(values_used(item) for item in listing.items[first:]):  # a text has no place for a value of the model
        return None
    contents[0][place] = Name("name")
    term = with_holes(listing.items[first], contents[0])
    return _Terms(tuple(listing.items[:first]), [str(weight.value) for weight in weights], term)
