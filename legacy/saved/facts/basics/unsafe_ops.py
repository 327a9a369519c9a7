"""Unsafe ops of a step: those that it runs, and Python in the model, whose results a lift can take as data alone."""

from __future__ import annotations

from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Plan


def python_in_model(plan: Plan) -> dict[str, str]:
    """Returns {node: op type} of the unsafe ops whose results the lift takes as data.

    The program ran them on what its model computed. Their code is not in the graph, so that nothing here can run them.
    """
    sources = {parse_tensor_name(tensor).node for tensor in plan.sources.values()}
    return {node: kind for node, kind in plan.unsafe.items() if node in sources}


def python_note(plan: Plan) -> str:
    """Returns a sentence on Python in the model, for a lift that is to have its results as data; "" without any."""
    found = python_in_model(plan)
    if not found:
        return ""
    return (
        f"data for {', '.join(sorted(found)[:8])}: the program made them by Python of its own from what its model "
        "computed, and a lift takes them as an input: their values have to come with the data"
    )
