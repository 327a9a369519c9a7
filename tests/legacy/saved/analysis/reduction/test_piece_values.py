"""Values of a piece: less those for zeros, and refused where they depend on more than gradients and variables."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.reduction.piece_values import evaluate_piece, fed_numbers
from workloads.lifted.pieces.piece import Feed, Piece

v1 = tf.compat.v1


def piece(compute, kinds):
    """The piece that computes a tensor from placeholders "a", "b", ... of two numbers, of these kinds."""
    with tf.Graph().as_default() as graph:
        names = "abc"[: len(kinds)]
        compute(*[v1.placeholder(tf.float32, [2], name) for name in names])
        return Piece(graph.as_graph_def(), [Feed(kind, name + ":0", name) for kind, name in zip(kinds, names)], ["c:0"])


GIVEN = {"a:0": np.array([1.0, 2.0], "float32"), "b:0": np.array([4.0, 8.0], "float32")}


def test_a_tensor_of_given_values():
    result, affine = evaluate_piece(piece(lambda a, b: tf.add(a, b, name="c"), ["cut", "cut"]), GIVEN)
    assert result.tolist() == [5.0, 10.0] and result.dtype == "float64" and not affine


def test_a_term_of_a_variable_is_taken_away():
    result, affine = evaluate_piece(piece(lambda a, b: tf.add(a, b, name="c"), ["cut", "read"]), GIVEN)
    assert np.allclose(result, [1.0, 2.0], rtol=1e-6) and affine


def test_other_inputs_are_refused():
    with pytest.raises(ValueError, match="depends on more than gradients and variables"):
        evaluate_piece(piece(lambda a, b: tf.add(a, b, name="c"), ["cut", "key"]), GIVEN)


def test_a_number_that_is_fed_is_given_or_refused():
    made = piece(lambda a: tf.add(a, v1.placeholder(tf.float32, [], "rate") * tf.ones(2), name="c"), ["cut"])
    assert fed_numbers(made) == ["rate"]
    result, affine = evaluate_piece(made, GIVEN, 0.25)
    assert result.tolist() == [1.0, 2.0] and affine
    with pytest.raises(tf.errors.InvalidArgumentError):
        evaluate_piece(made, GIVEN)
