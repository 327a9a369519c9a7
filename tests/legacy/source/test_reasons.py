"""Reasons why a source is not written."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import gen_nn_ops

from legacy.source.basics.unwritten import Unwritten
from legacy.source.reasons import reason_text, refusal, unequal_rows, with_both
from tests.legacy.saved.hazards.models.test_old_derivatives import penalty_behind_normalization
from tests.legacy.source.test_variants import source
from workloads.lifted.plan import Input, Plan
from workloads.support.errors import InputError

v1 = tf.compat.v1


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


@tf.RegisterGradient("EluGradUpTo14")
def _of_elu_grad(op, grad):
    """Takes the derivative of EluGrad at its own result, as TensorFlow up to 1.4 did."""
    return gen_nn_ops.elu_grad(grad, op.outputs[0]), tf.zeros_like(op.inputs[1])


def test_gradients_with_the_wrong_second_derivative_of_elu_are_named(tmp_path):
    def build():
        w = v1.get_variable("w", [3, 2], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)
        x = v1.placeholder(tf.float32, [4, 3], "x")
        with v1.get_default_graph().gradient_override_map({"EluGrad": "EluGradUpTo14"}):
            (slope,) = tf.gradients(tf.reduce_sum(tf.square(tf.nn.elu(x @ w))), [x])
        return v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(slope)), name="train")

    with pytest.raises(InputError, match="TensorFlow up to 1.4 derived tf.nn.elu twice by a wrong formula"):
        source(build, tmp_path)


def test_gradients_that_count_a_path_of_normalization_twice_are_named(tmp_path):
    def build():
        loss = penalty_behind_normalization(True, tf.tanh)
        return v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    with pytest.raises(InputError, match="derived tf.nn.fused_batch_norm twice with a path counted twice"):
        source(build, tmp_path)


@pytest.mark.parametrize("rows, is_equal", [((4, 4), True), ((4, 6), False)])
def test_batches_of_unequal_numbers_of_rows_are_told(rows, is_equal):
    entries = [Input(name, "int32", [None], "batch", 9, [name + ":0"], name) for name in ("nodes", "edges")]
    entries.append(Input("targets", "float32", [1, None], "whole", 0, ["targets:0"], "targets"))
    plan = Plan("tiny", 1, "name", None, entries, [], [], [], [], {}, {}, {}, [])
    batch = {name: np.zeros(size) for name, size in zip(("nodes", "edges", "targets"), (*rows, 1))}
    reason = "" if is_equal else "inputs: a batch has 4 rows of 'nodes' and 6 of 'edges', and the sizes in a source are"
    assert unequal_rows(plan, [batch]).startswith(reason) and bool(unequal_rows(plan, [batch])) != is_equal
    assert unequal_rows(plan, []) == ""
