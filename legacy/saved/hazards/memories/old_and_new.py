"""Hazard of derivatives that take a state's new value, where the forward op took the old one."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op

#: Ops whose derivatives multiply by their other input.
_PRODUCTS = ("Mul", *op_types.MATRIX_PRODUCTS, "Conv2D")


def derivatives_of_new_values(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds gradient ops that wait for an assignment which their forward op precedes; one hazard for all.

    A read of a reference variable copies nothing, so that they multiply by what was assigned. Resource variables are
    copied where the forward op reads them.
    """
    graph = whole.graph
    writes = {node: name for node, name in whole.writes.items() if node in whole.members and node not in whole.applies}
    states = {name for name in writes.values() if graph.type(name) in ("VariableV2", "Variable")} - whole.trainable
    for variable in [name for name in graph.nodes if name in states]:
        assigns = [node for node, name in writes.items() if name == variable and graph.type(node) in op_types.SETS]
        readers = _readers(whole, variable)
        derivatives = [name for name in readers if name in whole.reach and is_gradient_op(name)]
        behind = graph.descendants(assigns) if derivatives else set()
        for name in graph.order(derivatives):
            forward = forward_name(name, graph.nodes)
            is_product = forward is not None and graph.type(forward) in _PRODUCTS
            if is_product and name in behind and forward in readers and forward not in behind:
                yield Hazard(
                    "DERIVATIVE_OF_NEW_VALUE",
                    name,
                    f"{forward} takes {variable} before {assigns[0]} assigns it, and its derivative {name} takes it "
                    "afterwards: a read of a reference variable is no copy, so that the gradient is multiplied by the "
                    "new value",
                    "assign the state behind the train op, or in a run of its own; the lift takes the new value, too",
                )
                return


def _readers(whole: WholeGraph, variable: str) -> set[str]:
    """The nodes that take a variable's value, as it is or by way of copies that copy nothing."""
    graph, todo, found = whole.graph, [variable], set()
    while todo:
        for use in graph.users(todo.pop()):
            if graph.type(use.node) == "Identity" and use.node not in found:
                todo.append(use.node)
            found.add(use.node)
    return found
