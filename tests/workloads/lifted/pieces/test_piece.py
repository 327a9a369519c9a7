"""The builder of pieces: one placeholder for each input, whoever asks for it."""

import tensorflow as tf

from workloads.lifted.pieces.piece import Piece, PieceBuilder, VariableVersion


def builder():
    return PieceBuilder(tf.compat.v1.GraphDef().versions, set(), {}, set())


def test_an_input_that_is_asked_for_twice_has_one_placeholder():
    made = builder()
    version = VariableVersion("w", 1)
    assert made.feed("read", version, "float32", (2,)) == made.feed("read", version, "float32", (2,)) == "feed_0_w_1"
    assert made.feed("cut", "a/b:0", "int32", None) == "feed_1_a_b_0"
    assert [node.name for node in made.result.node] == ["feed_0_w_1", "feed_1_a_b_0"]
    assert made.result.node[1].attr["shape"].shape.unknown_rank


def test_a_piece_reads_the_versions_among_its_inputs():
    made = builder()
    made.feed("cut", "a:0", "float32", ())
    made.feed("read", VariableVersion("w", 0), "float32", ())
    assert Piece(made.result, list(made.feeds.values()), []).reads == [VariableVersion("w", 0)]
