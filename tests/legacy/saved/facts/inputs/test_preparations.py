"""Sentences on inputs that ops outside of the towers compute from what is read."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.inputs.preparations import preparation_sentences
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def sentences(prepare):
    """Sentences of two towers that get the halves of what `prepare` makes of the examples and a scalar."""

    def build():
        examples = v1.placeholder(tf.uint8, [4, 3], "examples")
        prepared = prepare(examples, v1.placeholder(tf.float32, [], "factor"))
        w = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False)
        optimizer, gradients = v1.train.GradientDescentOptimizer(0.5), []
        for tower, part in enumerate(tf.split(prepared, 2)):
            with tf.device(f"/gpu:{tower}"):
                gradients += tf.gradients(tf.reduce_sum(tf.sigmoid(part * w)), w)
        optimizer.apply_gradients([(tf.add_n(gradients) / 2, w)], name="train")

    return list(
        preparation_sentences(AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "m")))
    )


def test_what_is_computed_before_the_towers_split_it_is_named():
    (text,) = sentences(lambda x, factor: tf.nn.l2_normalize(tf.cast(x, tf.float32), 1))
    assert text == (
        "examples is what ops outside of the towers compute from examples:0 (Maximum, Mul, Rsqrt, Square, Sum); a lift "
        "leaves them out: its data for examples are their results"
    )


@pytest.mark.parametrize(
    "prepare",
    [
        lambda x, factor: tf.cast(x, tf.float32),
        lambda x, factor: tf.reshape(tf.transpose(tf.cast(x, tf.float32)), [2 * tf.shape(x)[0] // 2, 3]),
        lambda x, factor: tf.concat([tf.cast(x[2:], tf.float32), tf.cast(x[:2], tf.float32)], 0),
    ],
    ids=["as it is read", "moved, by a size that is computed", "its own parts exchanged"],
)
def test_what_is_moved_alone_is_not(prepare):
    assert sentences(prepare) == []


@pytest.mark.parametrize(
    "first",
    [lambda x: tf.zeros_like(x[:, :1]), lambda x: tf.constant(1.0, shape=[4, 1])],
    ids=["zeros of the size of an element", "a constant"],
)
def test_a_sequence_that_is_shifted_by_one_is_not_what_was_read(first):
    """As the inputs of a decoder: something before the first element, and all elements but the last."""

    def shifted(x, factor):
        x = tf.cast(x, tf.float32)
        return tf.concat([first(x), x[:, :-1]], 1)

    (text,) = sentences(shifted)
    assert "outside of the towers compute from examples:0 (ConcatV2)" in text


def of_slices(bound):
    """Sentences of two towers, each of which slices its rows by itself, up to `bound` of the examples."""

    def build():
        x = v1.placeholder(tf.float32, [None, 3], "x")
        w, gradients = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False), []
        for tower in range(2):
            rows = bound(x)
            part = x[tower * rows : (tower + 1) * rows]
            with tf.device(f"/gpu:{tower}"):
                gradients += tf.gradients(tf.reduce_sum(tf.sigmoid(part * w)), w)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2, w)], name="train")

    return list(
        preparation_sentences(AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "m")))
    )


def test_the_bounds_of_a_slice_are_no_data_where_the_size_gives_them():
    """As `x[i * n : (i + 1) * n]` with n = tf.shape(x)[0] // 2; a bound that the values give is computed from them."""
    assert of_slices(lambda x: tf.shape(x)[0] // 2) == []
    (text,) = of_slices(lambda x: tf.cast(tf.reduce_max(x), tf.int32) // 2)
    assert "compute from x:0 (FloorDiv, Max" in text


def test_inputs_that_several_sources_are_joined_to_are_named_after_these():
    """As the product of images and masks, of which each tower takes its slice."""

    def build():
        images, masks = ([v1.placeholder(tf.float32, [2, 3], f"{kind}{i}") for i in range(2)] for kind in "im")
        masked = tf.stack(images) * tf.stack(masks)
        w, gradients = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"):
                gradients += tf.gradients(tf.reduce_sum(tf.sigmoid(masked[tower] * w)), w)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2, w)], name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "m"))
    (text,) = preparation_sentences(step)
    assert "compute from i0:0, i1:0, m0:0, m1:0 (Mul)" in text


@pytest.mark.parametrize("on_device", [True, False])
def test_what_each_tower_looks_up_by_itself_is_not_said_to_be_outside_of_it(on_device):
    """As word vectors of a fed matrix."""

    def build():
        table = v1.placeholder(tf.float32, [9, 3], "table")
        w, gradients = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False), []
        for tower, words in enumerate(tf.split(v1.placeholder(tf.int32, [4], "words"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                with tf.device(None if on_device else "/cpu:0"):
                    vectors = tf.gather(table, words)
                gradients += tf.gradients(tf.reduce_sum(tf.sigmoid(vectors * w)), w)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "m"))
    (text,) = preparation_sentences(step)
    assert "is what ops at the start of the towers compute from" in text


@pytest.mark.parametrize("shared_out", [False, True])
def test_a_number_that_all_examples_give_to_every_tower_is_named_unless_their_parts_make_it(shared_out):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False)
        x, valid = v1.placeholder(tf.float32, [4, 3], "x"), v1.placeholder(tf.float32, [4], "valid")
        counted = valid if shared_out else v1.placeholder(tf.float32, [4], "counted")
        total, gradients = tf.reduce_sum(counted, name="total"), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"):
                losses = tf.reduce_sum(tf.sigmoid(tf.split(x, 2)[tower] * w), 1) * tf.split(valid, 2)[tower]
                gradients += tf.gradients(tf.reduce_sum(losses) / total, w)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    analysed = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "m"))
    named = ["counted is what ops outside of the towers compute from counted:0 (Sum)"]
    assert [text.partition(";")[0] for text in preparation_sentences(analysed)] == ([] if shared_out else named)


def dealt(prepare):
    """The sentences on two towers whose shards of a batch `prepare(rows, number)` makes before them."""

    def build():
        rows = tf.unstack(v1.placeholder(tf.float32, [4, 3], "x"))
        shards = [prepare(rows[tower::2], tower) for tower in range(2)]
        w, gradients = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False), []
        for tower, shard in enumerate(shards):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(tf.reduce_sum(tf.sigmoid(shard * w)), w)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    return list(
        preparation_sentences(AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "m")))
    )


def test_numbered_scopes_in_which_no_tower_computes_are_outside_of_them():
    def squared(rows, number):
        with tf.name_scope(f"prepare_{number + 1}"):
            return tf.square(tf.stack(rows))

    (text,) = dealt(squared)
    assert "is what ops outside of the towers compute from" in text


def test_examples_that_are_dealt_out_and_stacked_again_are_only_moved():
    assert not dealt(lambda rows, number: tf.parallel_stack(rows))
