"""Gradients that compute the forward pass again from checkpoints: the source has the plain gradient."""

import pytest
import tensorflow as tf

from legacy.saved.derivatives.recomputed import checkpoint_sentences, checkpoints
from legacy.source.overrides.recomputed import with_plain_gradients
from tests.legacy.saved.graphs import graph_of
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers

v1 = tf.compat.v1


def from_checkpoints(is_continued=True):
    """Two layers; the gradient is that of a copy of the second one, then of a copy of the first, as copies make it."""
    xs = split_batch()
    with v1.variable_scope("net"):
        made = [
            v1.get_variable(name, [3, 3], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)
            for name in ("w", "v")
        ]

    def first(x):
        return tf.tanh(tf.matmul(x, made[0]))

    def second(x):
        return tf.reduce_mean(tf.tanh(tf.matmul(x, made[1])) ** 2)

    def gradients(tower):
        kept = first(xs[tower])
        loss = second(kept)
        cut = tf.stop_gradient(kept)
        with tf.control_dependencies([loss]):
            copy = second(cut)
        of_cut, of_v = tf.gradients(copy, [cut, made[1]])
        with tf.control_dependencies([of_cut]):
            again = first(xs[tower])
        if is_continued:
            return tf.gradients(again, made[0], grad_ys=of_cut)[0], of_v
        return tf.gradients(again, made[0])[0], of_v

    means = [tf.add_n(parts) / TOWERS for parts in zip(*towers(gradients))]
    return v1.train.GradientDescentOptimizer(0.25).apply_gradients(zip(means, made))


def test_a_source_has_the_plain_gradient_of_what_is_computed_again(tmp_path):
    setup = lifted(from_checkpoints, tmp_path)
    source = source_of(setup, "workload")
    assert "stop_gradient" not in source.text and source.text.count("tf.tanh(") == 2
    assert "loss, gradients and statistics of each tower have the old graph's bits on made-up numbers" in source.notes
    assert_workload_verified(setup, tmp_path, source)


def test_so_has_one_of_style_standalone(tmp_path):
    assert_trains_alike(lifted(from_checkpoints, tmp_path), tmp_path)


def test_a_gradient_that_ends_at_the_checkpoint_is_no_plain_one(tmp_path):
    setup = lifted(lambda: from_checkpoints(is_continued=False), tmp_path)
    assert checkpoints(setup.job.workload.graph) == []
    assert "stop_gradient" in source_of(setup, "workload").text


#: A checkpoint at h; what is in front of it is computed again, and what is behind it is a copy.
CHECKPOINT = """
    x = Placeholder()
    h = Tanh(x)
    loss = Square(h)
    cut = StopGradient(h)
    copy = {behind}(cut, ^loss)
    again = {front}({of}, ^copy)
    gradients/copy_grad/mul = Mul(copy)
    gradients/again_grad/TanhGrad = TanhGrad(again, {given})
    """


@pytest.mark.parametrize(
    "behind, front, of, given, found",
    [
        ("Square", "Tanh", "x", "gradients/copy_grad/mul", ["cut"]),
        ("Exp", "Tanh", "x", "gradients/copy_grad/mul", []),  # a constant of another loss
        ("Square", "Sigmoid", "x", "gradients/copy_grad/mul", []),  # nothing is computed again
        ("Square", "Tanh", "copy", "gradients/copy_grad/mul", []),
        ("Square", "Tanh", "x", "x", []),  # the gradient ends at the cut
    ],
)
def test_a_checkpoint_is_between_copies(behind, front, of, given, found):
    graph = graph_of(CHECKPOINT.format(behind=behind, front=front, of=of, given=given))
    assert checkpoints(graph) == found
    assert any("again from 1 checkpoint (h)" in sentence for sentence in checkpoint_sentences(graph)) == bool(found)
    plain = with_plain_gradients(graph)
    assert (plain.type("cut") == "Identity") == (plain is not graph) == bool(found)


def test_random_numbers_are_drawn_again_and_are_no_copies():
    graph = graph_of(
        CHECKPOINT.format(behind="Square", front="Tanh", of="x", given="copy").replace("Tanh(", "RandomGamma("),
        h={"seed": 0},
        again={"seed": 0},
    )
    assert checkpoints(graph) == []
