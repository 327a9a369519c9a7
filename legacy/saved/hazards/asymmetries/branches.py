"""Hazard of smooth L1 whose condition compares the difference, and not its magnitude."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op


def conditions_without_magnitude(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds d < 1 beside |d| and d^2 of one loss, of a difference d; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Less", "LessEqual") if not is_gradient_op(name)]:
        difference, bound = (graph.origin(tensor).node for tensor in graph.inputs(name)[:2])
        if graph.type(difference) != "Sub" or not (whole.value(bound) or 0) > 0:
            continue
        users = {use.node for use in graph.users(difference)} & whole.minimized
        sizes = {user for user in users if graph.type(user) == "Abs" and not is_gradient_op(user)}
        users |= {use.node for size in sizes for use in graph.users(size)} & whole.minimized
        squares = [user for user in users if not is_gradient_op(user) and squared(whole, user) is not None]
        if sizes and squares and difference in made_by_weights(whole):
            yield Hazard(
                "CONDITION_WITHOUT_MAGNITUDE",
                name,
                f"{name} tests whether {difference} is small, and not whether its absolute value is: every large "
                "negative difference counts as small, and is squared",
                "compare tf.abs of it, as smooth L1 does; for parity keep it",
            )
            return
