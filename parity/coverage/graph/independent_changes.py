"""Changes of constants that one step can try together: none of them reaches a variable that another one does."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from workloads.lifted.graph import Graph

#: Ops that hold a variable.
_HOLDS = ("Variable", "VariableV2", "VarHandleOp")


class OwnVariables:
    """The variables that constants alone reach: those of a moving mean's decay are that mean.

    Where the constants of two changes reach no common node, no tensor depends on both: a step with both changes makes,
    of each one's variables, what a step with that change alone makes.

    Args:
      graph: the graph.
      run: nodes that the steps run.
      changing: those that change variables.
      shown: nodes of other tensors that are compared.
    """

    def __init__(self, graph: Graph, run: Collection[str], changing: Collection[str], shown: Iterable[str]) -> None:
        self._graph, self._run, self._changing = graph, set(run), set(changing)
        self._elsewhere = graph.ancestors(set(shown), controls=False)

    def reached(self, constants: Iterable[str]) -> tuple[frozenset[str], frozenset[str]] | None:
        """Finds what constants reach: by data, and by all reads of the variables that they change, early or late.

        Args:
          constants: nodes.

        Returns:
          All nodes, and the variables among them that are changed; None if other compared tensors depend on them.
        """
        graph, todo = self._graph, list(constants)
        seen, variables = set(todo), set[str]()
        while todo:
            name = todo.pop()
            if name in self._elsewhere:
                return None
            reached = {use.node for use in graph.users(name)} & self._run
            if name in self._changing:
                variable = graph.inputs(name)[0].node
                if graph.type(variable) not in _HOLDS:
                    return None
                variables.add(variable)
                reached.add(variable)
            todo += reached - seen
            seen |= reached
        return frozenset(seen), frozenset(variables)


def disjoint_groups(sets: Iterable[Collection[str]]) -> list[list[int]]:
    """Divides sets into groups in which no two have a common element; each set joins the first group that it can.

    >>> disjoint_groups([{"a"}, {"b"}, {"a", "c"}, {"d"}])
    [[0, 1, 3], [2]]
    """
    groups: list[tuple[set[str], list[int]]] = []
    for number, own in enumerate(sets):
        taken, numbers = next((one for one in groups if one[0].isdisjoint(own)), (set[str](), []))
        if not numbers:
            groups.append((taken, numbers))
        taken.update(own)
        numbers.append(number)
    return [numbers for _, numbers in groups]
