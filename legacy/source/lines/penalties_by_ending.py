"""Penalties on all weights of one name, such as "kernel": they ask the scope for the names, so that none is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence

from legacy.source.basics.expressions import Expression, Listing, Literal, Name, Variable, calls, leaves, replace
from legacy.source.basics.rendering import expression_text, literal_text
from legacy.source.lines.holes import skeleton, with_holes
from legacy.source.lines.statements import GET

if TYPE_CHECKING:
    from legacy.source.lines.statements import Statement

#: So many penalties are on the weights whose names have one ending; fewer are on weights that a list names.
MANY = 9


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
        if terms is None or len(terms.weights) < MANY:
            return None
        ending = "/" + terms.weights[0].rpartition("/")[2]
        total = {name for name in [*asked, *elsewhere] if name.endswith(ending)}
        if terms.weights != [name for name in known if name.endswith(ending)] or total != set(terms.weights):
            return None
        return Name(f"[{expression_text(terms.term)} for name in scope.names({literal_text(ending)})]")

    result = []
    for statement in statements:
        result.append(statement._replace(expression=replace(statement.expression, named_by_ending)))
        known.update((leaf.name, None) for leaf in leaves(statement.expression) if isinstance(leaf, Variable))
    return result


class _Terms(NamedTuple):
    """Terms of a list that differ in the weight that each is of.

    Attributes:
      weights: names of the weights.
      term: one of the terms, in which `name` stands for the weight.
    """

    weights: List[str]
    term: Expression


def _terms_of_weights(listing: Expression) -> Optional[_Terms]:
    """Returns the terms of a list that ask for a weight each and are alike otherwise; None for any other list."""
    if not isinstance(listing, Listing) or not listing.items:
        return None
    outlines, holes = zip(*map(skeleton, listing.items))
    contents = [[hole.content for hole in own] for own in holes]
    asks = [[part.arguments[0].value for part in calls(item) if part.function == GET] for item in listing.items]
    if len(set(outlines)) > 1 or any(len(own) != 1 or not isinstance(own[0], Literal) for own in asks):
        return None
    weights = [own[0] for own in asks]
    place = contents[0].index(weights[0])
    differing = {n for own in contents for n, content in enumerate(own) if repr(content) != repr(contents[0][n])}
    if differing - {place} or any(own[place] != weight for own, weight in zip(contents, weights)):
        return None
    contents[0][place] = Name("name")
    return _Terms([str(weight.value) for weight in weights], with_holes(listing.items[0], contents[0]))
