"""Lists over the towers: what is done to each tower's loss or gradient alike is written once, for all."""

from __future__ import annotations

import re

from legacy.source.basics.expressions import Call, Expression, Listing, Name, call, replace, values_used
from legacy.source.basics.rendering import expression_text
from workloads.lifted.graph.sums import FEWEST_IN_ANY_ORDER

_ELEMENT = re.compile(r"(losses|part\d*s|gradients\[[^]]+\])\[(\d+)\]")


def with_lists(expression: Expression, towers: int) -> Expression:
    """Returns an expression with a list of the towers in place of each listing of all towers' parts.

    >>> part = lambda n: Name(f"losses[{n}]")
    >>> with_lists(Listing((part(0), part(1))), 2)
    Name(text='losses')
    >>> with_lists(Listing((part(1), part(0))), 2)
    Listing(items=(Name(text='losses[1]'), Name(text='losses[0]')))
    >>> expression_text(with_lists(Listing((Name("decay"), part(0), part(1))), 2))
    '[decay, *losses]'

    Args:
      expression: the expression.
      towers: number of towers.

    Returns:
      The expression.
    """

    def joined(part: Expression) -> Expression | None:
        if not isinstance(part, Listing) or any(map(values_used, part.items)):
            return None
        if len(part.items) == towers:
            return _list_of_all([expression_text(item) for item in part.items])
        return _with_lists_inside(part, towers)

    return replace(expression, joined)


def _with_lists_inside(listing: Listing, towers: int) -> Listing | None:
    """Returns a listing in which all towers' parts in a row are one list, if it has such parts."""
    items = list(listing.items)
    for start in range(len(items) - towers + 1) if towers > 1 else ():
        row = _list_of_all([expression_text(item) for item in items[start : start + towers]])
        if row is not None:
            rest = Listing(tuple(items[start + towers :]))
            after = (_with_lists_inside(rest, towers) or rest).items
            return Listing((*items[:start], Name("*" + row.text), *after))
    return None


def _list_of_all(texts: list[str]) -> Name | None:
    """Returns the list whose items have these texts, if they are alike for the towers in their order."""
    found = [_ELEMENT.findall(text) for text in texts]
    bases = {base for elements in found for base, _ in elements}
    in_order = all(elements and {int(n) for _, n in elements} == {tower} for tower, elements in enumerate(found))
    if not in_order or len(bases) != 1:
        return None
    base = bases.pop()
    item = "loss" if base == "losses" else "part" if base.startswith("part") else "gradient"
    bodies = {text.replace(f"{base}[{tower}]", item) for tower, text in enumerate(texts)}
    if len(bodies) != 1:
        return None
    body = bodies.pop()
    return Name(base if body == item else f"[{body} for {item} in {base}]")


def with_sums_in_order(expression: Expression) -> Expression:
    """Returns an expression in which sums of three or more terms add these in order.

    The op begins with the term whose memory it may use. In a loss it stays, for the order of the gradients' parts.

    >>> terms = Listing((Name("a"), Name("b"), Name("c")))
    >>> expression_text(with_sums_in_order(call("tf.add_n", terms)))
    'sum([a, b, c])'
    """

    def ordered(part: Expression) -> Expression | None:
        if not isinstance(part, Call) or part.function not in ("tf.add_n", "add_in_order"):
            return None
        (terms,) = [argument.value for argument in part.arguments]
        if not isinstance(terms, Listing) or len(terms.items) <= FEWEST_IN_ANY_ORDER:
            return None
        return call("sum", Listing(tuple(map(with_sums_in_order, terms.items))))

    return replace(expression, ordered)
