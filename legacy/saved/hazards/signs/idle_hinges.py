"""Hazard of a hinge of what is never below 0, as of a distance plus a margin in place of the difference."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.value_signs import ValueSigns
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Less than this is added to keep a number away from 0, and is no margin.
_LEAST_MARGIN = 1e-2


def hinges_without_effect(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds max(0, d + margin) of a distance, norm or square d that weights compute; one hazard for all."""
    graph, signs = whole.graph, ValueSigns(whole)
    for name in [name for name in whole.minimized_ops("Maximum", "Relu") if not is_gradient_op(name)]:
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        numbers = [whole.value(node) for node in inputs]
        total = next((node for node, number in zip(inputs, numbers) if number is None), "")
        if (graph.type(name) == "Maximum" and 0 not in numbers) or graph.type(total) not in op_types.SUMS_OF_TWO:
            continue
        terms = [graph.origin(tensor).node for tensor in graph.inputs(total)]
        margin = max((whole.value(term) or 0.0 for term in terms), default=0.0)
        values = [term for term in terms if whole.value(term) is None]
        is_idle = len(values) == 1 and signs.of(values[0]) > 0 and margin >= _LEAST_MARGIN
        if is_idle and values[0] in made_by_weights(whole) and gradient_flow(whole).passes(name):
            yield Hazard(
                "HINGE_WITHOUT_EFFECT",
                name,
                f"{name} is a hinge of {values[0]}, which is never below 0, plus a margin of {margin:g}: it is "
                "never 0, and what is far enough is still pushed",
                "a hinge of the difference, such as max(0, margin - distance); for parity keep it",
            )
            return
