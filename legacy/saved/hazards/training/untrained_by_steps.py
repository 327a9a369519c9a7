"""Hazard of weights that a loss depends on by rounding alone, which has no gradient: no straight-through estimate."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

#: Ops that round numbers: their derivative is 0, or there is none.
_STEPS = ("Ceil", "Floor", "Rint", "Round", "Sign")
#: Other ops that no gradient passes, by intention.
_STOPS = ("ArgMax", "ArgMin", "StopGradient", *op_types.SHAPE_OPS)


def variables_behind_rounding(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds trainable variables whose every way to the losses is through an op that rounds; one hazard for all.

    A program may replace the gradient of such an op by another one, and does not then need the estimate.
    """
    graph, targets = whole.graph, whole.targets
    steps = [
        name for name in whole.minimized_ops(*_STEPS) if not is_gradient_op(name) and not _is_overridden(whole, name)
    ]
    if not steps or not targets:
        return
    stops = set(graph.of_types(*_STOPS))
    reached = graph.ancestors(targets, stop=stops, controls=False)
    trained = graph.ancestors(targets, stop=stops | set(steps), controls=False)
    named = dict.fromkeys(whole.collections.get("trainable_variables", []))
    lost = [name for name in named if name in reached and name not in trained]
    for step in steps if lost else ():
        if lost[0] in graph.ancestors([step], controls=False):
            yield Hazard(
                "ROUNDED_WITHOUT_GRADIENT",
                step,
                f"the loss depends on {counted(len(lost), 'trainable variable')} ({listed(lost, FEW)}) only by "
                f"way of ops that round, such as {step} ({graph.type(step)}), which no gradient passes: nothing trains "
                "them",
                "write x + tf.stop_gradient(round(x) - x), a straight-through estimate; for parity keep it",
            )
            return


def _is_overridden(whole: WholeGraph, name: str) -> bool:
    """Whether a program gave an op another gradient, as by `gradient_override_map`."""
    return "_gradient_op_type" in whole.graph.nodes[name].attr
