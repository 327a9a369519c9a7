"""Targets that no gradient depends on, each beside one that is used."""

import pytest

from legacy.saved.report.input_hazards import unused_targets
from legacy.saved.report.whole_graph import WholeGraph
from tests.legacy.saved.graphs import graph_of, saved

QUEUE = """
    queue = FIFOQueueV2()
    batch = QueueDequeueV2(queue)
    w = VariableV2()
    y = Mul(batch, w)
    error = Sub(y, batch:1)
    gradients/y_grad/Mul = Mul(batch, error)
    train = ApplyGradientDescent(w, gradients/y_grad/Mul)
    accuracy = Equal(y, batch:1)
    """


@pytest.mark.parametrize(
    "text, expected",
    [
        (QUEUE, []),
        (QUEUE + "test_labels = Placeholder()\n", []),
        (QUEUE + "x = Placeholder()\n", []),
        (QUEUE + "labels = Placeholder()\n", ["labels enters the graph, and no gradient depends on it"]),
        (
            QUEUE.replace("Sub(y, batch:1)", "Square(y)"),
            ["batch:1 comes with each batch of QueueDequeueV2, and no gradient depends on it"],
        ),
        (QUEUE.replace("Sub(y, batch:1)", "Square(y)").replace("Equal(y, batch:1)", "Neg(y)"), []),  # no one wants it
    ],
)
def test_unused_targets(text, expected):
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["w"]))
    assert [hazard.description for hazard in unused_targets(whole)] == expected
