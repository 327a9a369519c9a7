"""Reasons why a source is not written."""

import tensorflow as tf

from legacy.source.basics.unwritten import Unwritten
from legacy.source.reasons import reason_text, refusal, with_both
from workloads.support.errors import InputError


def test_an_op_that_made_up_numbers_stop_is_reported_in_tensorflows_words():
    text = (
        "Graph execution error:\n\nDetected at node 'a' defined at\nNode: 'a'\nlabels are repeated\n\t [[{{node a}}]]"
    )
    reason = reason_text(tf.errors.InvalidArgumentError(None, None, text))
    assert "on these numbers: InvalidArgumentError: labels are repeated; --data" in reason
    assert "KeyError" in reason_text(KeyError("a"))


def test_a_gradient_that_this_tensorflow_lacks_is_named():
    error = LookupError("No gradient defined for operation 'lstm/cell' (op type: LSTMBlockCell). In general ...")
    assert reason_text(error).startswith("loss: this TensorFlow has no gradient of LSTMBlockCell")


def test_reasons_of_two_attempts_stand_there_once():
    both = with_both(Unwritten("optimizer: none\nmodel: a loop"), Unwritten("model: a loop"))
    assert str(both) == "optimizer: none\nmodel: a loop"
    assert str(refusal("old", both)) == "--source: old cannot be written: optimizer: none; model: a loop"


def test_made_up_sizes_that_do_not_fit_are_no_unknown_form():
    reason = reason_text(InputError("Dimension size must be evenly divisible by 112 but is 84"))
    assert reason.startswith("proof: made-up sizes of the inputs do not fit") and "--data takes the sizes" in reason
    assert "form that is not known" in reason_text(InputError("another thing"))
