"""Hazard of products of looked-up rows that a loss pushes one way, as where negative samples have the wrong sign."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import READS, variable_read
from legacy.saved.hazards.signs.pushes import Pushes
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, listed

_WORDS = {1: "rises", -1: "falls"}


def products_pushed_one_way(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that rise, or fall, with all sums of products of rows of trained tables; one hazard for all.

    A loss by which some products should be large and others small pushes them both ways.
    """
    for target in minimized_targets(whole):
        before, own = whole.graph.ancestors([target], controls=False), trained_by(whole).get(target, set())
        sums = {name: _tables(whole, name) for name in whole.minimized_ops("Sum") if name in before}
        sums = {name: tables for name, tables in sums.items() if tables and tables <= own}
        if any(
            _is_used_otherwise(whole, table, sums, before) for table in {one for both in sums.values() for one in both}
        ):
            continue  # as by products with all rows of a table, which are the negative samples
        pushes = Pushes(whole, [target]) if sums else None
        signs = {pushes.sign(TensorId(name, 0)) for name in sums} if pushes else set()
        if len(signs) == 1 and signs & {1, -1}:
            names = list(sums)
            yield Hazard(
                "PUSHED_ONE_WAY",
                names[-1],
                f"{target} only {_WORDS[signs.pop() or 0]} where products of looked-up rows rise "
                f"({listed(names, FEW)}), whatever the data are: all rows are driven the same way",
                "look for negative samples with the wrong sign, or missing ones; for parity keep it",
            )
            return


def _is_used_otherwise(whole: WholeGraph, table: str, sums: Collection[str], before: Collection[str]) -> bool:
    """Whether a loss depends on a table by more than some sums of products of its rows, and their squares.

    Args:
      whole: the graph.
      table: the variable.
      sums: the sums.
      before: what the loss is computed from.
    """
    graph, todo, seen = whole.graph, [table], {table}
    while todo:
        for user in {use.node for use in graph.users(todo.pop())} & set(before) - seen:
            kind = graph.type(user)
            seen.add(user)
            if kind in (*READS, *op_types.LOOKUPS) or hands_elements_on(graph, user):
                todo.append(user)
            elif kind == "Mul" and squared(whole, user) is None:
                if not {use.node for use in graph.users(user)} & set(before) <= set(sums):
                    return True
            elif not is_gradient_op(user) and kind not in ("L2Loss", "Square", "Mul", *op_types.SHAPE_OPS):
                return True
    return False


def _tables(whole: WholeGraph, name: str) -> set[str]:
    """The trained tables of whose rows a node adds up products; none of any other node."""
    graph = whole.graph
    inner = graph.origin(graph.inputs(name)[0]).node
    if is_gradient_op(name) or graph.type(inner) != "Mul":
        return set()
    rows = [source_of_elements(graph, tensor) for tensor in graph.inputs(inner)]
    if rows[0] == rows[1] or any(graph.type(one.node) not in op_types.LOOKUPS for one in rows):
        return set()
    tables = {variable_read(graph, graph.inputs(one.node)[0].node) for one in rows}
    return tables if tables <= whole.trainable else set()
