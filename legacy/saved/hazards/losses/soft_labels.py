"""Hazard of labels that weights compute, and that a cross entropy trains towards the prediction."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

_COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "Cast")


def differentiated_labels(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies whose labels another network computes, and is trained by; one hazard for all.

    Labels of the same weights as the logits, as of an entropy that is minimized, are no teacher's.
    """
    for entropy in cross_entropies(whole):
        labels = entropy.labels.node
        while whole.graph.type(labels) in _COPIES:
            labels = whole.graph.inputs(labels)[0].node
        students = _weights(whole, entropy.logits.node)
        teachers = _weights(whole, labels) - students
        is_teacher = teachers and students and labels in whole.data and _is_for_labels_alone(whole.graph, labels)
        if is_teacher and gradient_flow(whole).passes(labels):
            yield Hazard(
                "LABELS_DIFFERENTIATED",
                entropy.op,
                f"the labels of {entropy.op} are {labels}, the output of other trained weights, such as "
                f"{sorted(teachers)[0]}, and the gradient flows into them: the labels move towards the prediction",
                "apply tf.stop_gradient to the labels; for parity leave it out",
            )
            return


def _is_for_labels_alone(graph: Graph, name: str) -> bool:
    """Whether a forward node has one use, past those that only hand it on."""
    while True:
        users = {use.node for use in graph.users(name) if not is_gradient_op(use.node)}
        users = {user for user in users if graph.type(user) not in ("Shape", "StopGradient")}
        if len(users) != 1 or graph.type(next(iter(users))) not in _COPIES:
            return len(users) == 1
        name = next(iter(users))


def _weights(whole: WholeGraph, name: str) -> set[str]:
    return whole.graph.ancestors([name], controls=False) & whole.trainable
