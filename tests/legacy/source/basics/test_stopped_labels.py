"""Labels that depend on weights: where the old gradients leave them out, what is written stops there too."""

import pytest
import tensorflow as tf

from legacy.source.basics.stopped_labels import with_stopped_labels
from tests.legacy.saved.graphs import graph_of

#: The entropy of a softmax, as a program wrote it that took its own probabilities for labels.
ENTROPY = """
    x = Placeholder()
    w = VariableV2()
    logits = Mul(x, w)
    labels = Softmax(logits)
    entropy = SoftmaxCrossEntropyWithLogits(logits, labels)
    loss = Mean(entropy)
    gradients/Fill = Const()
    gradients/loss_grad/Tile = Tile(gradients/Fill)
    gradients/entropy_grad/mul = Mul(gradients/loss_grad/Tile, entropy:1)
    """


def stopped(text):
    return with_stopped_labels(graph_of(text, entropy={"T": tf.float32}))


def test_labels_that_the_old_gradients_leave_out_are_stopped():
    graph = stopped(ENTROPY)
    (label,) = graph.inputs("entropy")[1:]
    assert (graph.type(label.node), graph.inputs(label.node)) == ("StopGradient", [("labels", 0)])
    assert graph.nodes[label.node].attr["T"].type == tf.float32.as_datatype_enum
    assert graph.inputs("entropy")[0] == ("logits", 0) and len(graph.nodes) == 10


@pytest.mark.parametrize(
    "old, new",
    [
        ("labels = Softmax(logits)", "labels = Softmax(x)"),  # data
        (
            "gradients/Fill = Const()",
            "gradients/Fill = Const()\n gradients/entropy_grad/LogSoftmax = LogSoftmax(logits)",
        ),
        ("gradients/entropy_grad/mul = Mul(gradients/loss_grad/Tile, entropy:1)", "other = Neg(entropy)"),
        ("labels = Softmax(logits)", "soft = Softmax(logits)\n labels = StopGradient(soft)"),
    ],
)
def test_other_labels_are_left_as_they_are(old, new):
    """They do not depend on weights, or have a derivative, or no gradient is computed, or they are stopped already."""
    assert old in ENTROPY and len(stopped(ENTROPY.replace(old, new)).nodes) - ENTROPY.count("=") == new.count("=") - 1
