"""Hazard of a table of rows that is looked up by the numbers of another table, as of users by those of items."""

from __future__ import annotations

import collections
from collections.abc import Hashable, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import key_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def tables_of_other_numbers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a table whose numbers of rows another table has that other numbers look up; one hazard for all.

    The numbers look up a further table, too, which has another number of rows.
    """
    graph = whole.graph
    tables: dict[Hashable, dict[str, str]] = collections.defaultdict(dict)
    given: dict[Hashable, TensorId] = {}
    for name in [name for name in whole.minimized_ops(*op_types.LOOKUPS) if not is_gradient_op(name)]:
        table, numbers = variable_read(graph, graph.inputs(name)[0].node), graph.inputs(name)[1]
        if table in whole.trainable and _is_given(whole, numbers):
            key = key_of_elements(graph, numbers)
            tables[key].setdefault(table, name)
            given.setdefault(key, numbers)
    for key, looked_up in tables.items():
        sizes = {table: _rows(whole, table) for table in looked_up}
        for table, rows in sizes.items():
            own = [other for other in looked_up if sizes[other] != rows]
            others = [names for names in tables.values() if {_rows(whole, one) for one in names} == {rows}]
            if rows and own and others and not any(table in names for names in others):
                like = next(iter(others[0]))
                yield Hazard(
                    "TABLE_OF_OTHER_NUMBERS",
                    looked_up[table],
                    f"{looked_up[table]} looks up {table}, which has {rows} rows, by {given[key].node}, numbers of the "
                    f"{sizes[own[0]]} rows of {own[0]}; other numbers look up {like}, which has {rows} rows, too: "
                    "it gets wrong rows, or rows that it has not",
                    "look each table up by its own numbers; for parity keep it",
                )
                return


def _is_given(whole: WholeGraph, numbers: TensorId) -> bool:
    return numbers.node in whole.data and not whole.graph.ancestors([numbers.node], controls=False) & whole.trainable


def _rows(whole: WholeGraph, table: str) -> int:
    """The number of rows of a variable; 0 where it is not known."""
    sizes = variable_sizes(whole.graph, table)
    return max(0, sizes[0]) if sizes else 0
