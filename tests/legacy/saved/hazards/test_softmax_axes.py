"""A softmax over the examples, and softmaxes that are over classes or over time."""

import pytest

from legacy.saved.hazards.softmax_axes import softmax_over_examples
from tests.legacy.saved.hazards.two_towers import hazards

#: A layer whose output is transposed before the softmax; what is trained depends on it.
LAYER = """
    x = Placeholder()
    v = VariableV2()
    w = VariableV2()
    read = Identity(w)
    layer = MatMul(x, read)
    logits = Add(layer, v)
    turned = Transpose(logits)
    shares = Softmax(turned)
    gradients/shares_grad/Mul = Mul(shares, x)
    train = ApplyGradientDescent(w, gradients/shares_grad/Mul)
    """


def test_probabilities_that_add_up_over_the_examples_are_named():
    (found,) = hazards(softmax_over_examples, LAYER)
    assert found[:2] == ("SOFTMAX_OVER_EXAMPLES", "shares") and "over the rows of layer, the examples" in found[2]
    flat = LAYER.replace("Softmax(turned)", "Softmax(flat)\n    flat = Reshape(turned)")  # as 1.x does for any rank
    assert len(hazards(softmax_over_examples, flat)) == 1


@pytest.mark.parametrize(
    "old, new",
    [
        ("Softmax(turned)", "Softmax(logits)"),
        ("Transpose(logits)", "Transpose(other)\n    other = Reshape(logits)"),  # weights of a sequence's times
        ("MatMul(x, read)", "MatMul(x, x)"),  # similarities of data
        ("gradients/shares_grad/Mul = Mul(shares, x)", "gradients/shares_grad/Mul = Mul(logits, x)"),  # evaluation
    ],
)
def test_other_softmaxes_are_not_accused(old, new):
    assert hazards(softmax_over_examples, LAYER.replace(old, new)) == []
