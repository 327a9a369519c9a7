"""Sizes and ranges of made-up data that a graph runs with, found by trying."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.data_trial import fitting, trial_choices, trials
from tests.legacy.saved.data_trial.fitted import fitted, inputs_of
from workloads.lifted.plan import Input

v1 = tf.compat.v1


def test_what_runs_as_it_is_stays_as_it_is():
    plan = fitted(lambda w: tf.reduce_sum(tf.matmul(v1.placeholder(tf.float32, [None, 3], "x"), w) ** 2))
    assert inputs_of(plan) == {"x": ([], 0, 0)} and plan.batch is None


def test_an_open_dimension_becomes_what_a_variable_needs():
    plan = fitted(lambda w: tf.reduce_sum(tf.matmul(v1.placeholder(tf.float32, [None, None], "x"), w) ** 2))
    assert inputs_of(plan) == {"x": ([None, 3], 0, 0)} and plan.batch is None


def test_dimensions_that_must_be_equal_become_equal():
    def loss(w):
        x, y = (v1.placeholder(tf.float32, [None, None], name) for name in "xy")
        return tf.reduce_sum((tf.matmul(x, w) - y) ** 2)

    assert inputs_of(fitted(loss)) == {"x": ([None, 3], 0, 0), "y": ([None, 2], 0, 0)}


@pytest.mark.parametrize("is_time_major, batch", [(True, 6), (False, None)])
def test_steps_before_examples_get_as_many_of_both(is_time_major, batch):
    """Factors stand before the steps of the words, whose mask has the steps first, or else the examples."""

    def loss(w):
        words = v1.placeholder(tf.int32, [1, None, None], "words")
        mask = v1.placeholder(tf.float32, [None, None], "mask")
        known = tf.cast(words[0] + 1, tf.float32)
        known = known * mask if is_time_major else known[:1, :1] * tf.reduce_mean(mask, 0)
        return tf.reduce_sum(known) * tf.reduce_sum(w**2)

    assert fitted(loss).batch == batch


def test_letters_of_words_are_no_images():
    def loss(w):
        words = v1.placeholder(tf.int32, [2, None, None], "words")
        letters = v1.placeholder(tf.int32, [2, None, None, 4], "letters")
        text = tf.concat([tf.expand_dims(words, 3), letters], 3)
        return tf.reduce_sum(tf.tensordot(tf.cast(text[..., :3] + 1, tf.float32), w, 1) ** 2)

    plan = fitted(loss)
    assert inputs_of(plan) == {"words": ([2, 6, 6], 0, 0), "letters": ([2, 6, 6, 4], 0, 0)}


def test_label_maps_are_as_large_as_what_the_network_makes_of_an_image():
    """A text detector's: scores, masks and boxes are a quarter of its images, and no dimension is given."""

    def loss(w):
        images = v1.placeholder(tf.float32, [None, None, None, 3], "images")
        scores, masks, boxes = (
            v1.placeholder(tf.float32, [None, None, None, depth], name)
            for name, depth in (("scores", 1), ("masks", 1), ("boxes", 5))
        )
        small = tf.nn.avg_pool2d(images, 32, 32, "SAME")
        small = v1.image.resize_bilinear(tf.tensordot(small, w, 1), 8 * tf.shape(small)[1:3])
        return tf.reduce_mean(tf.square(small - scores) * masks * boxes[..., 3:])

    found = inputs_of(fitted(loss))
    assert found.pop("images")[0] == [None, 64, 96, 3]
    assert {name: example[1:3] for name, (example, _, _) in found.items()} == dict.fromkeys(found, [16, 24])


def test_images_are_as_large_as_a_table_of_anchors_wants_them():
    def loss(w):
        x, boxes = v1.placeholder(tf.float32, [None, None, None, 3], "x"), v1.placeholder(tf.float32, [None, None, 2])
        positions = tf.reshape(tf.nn.avg_pool2d(x, 4, 4, "SAME"), [tf.shape(x)[0], -1, 3])
        anchors = np.arange(200.0, dtype="float32").reshape([100, 2])
        return tf.reduce_sum((tf.tensordot(positions, w, 1) - (boxes - anchors)) ** 2)

    found = inputs_of(fitted(loss))
    assert found["x"][0] == [None, 40, 40, 3] and found["Placeholder"][0] == [None, 100, 2]


def test_a_rank_is_found_for_an_input_without_one():
    def loss(w):
        x = tf.reshape(v1.placeholder(tf.float32, name="x"), [-1, 3])
        labels = tf.reshape(v1.placeholder(tf.int32, name="labels"), [-1])
        logits = tf.matmul(x, w)
        return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels))

    assert fitted(loss).batch is None


def test_lengths_that_must_not_be_zero_are_not():
    def loss(w):
        x, lengths = v1.placeholder(tf.float32, [None, 4, 3], "x"), v1.placeholder(tf.int32, [None], "lengths")
        last = tf.gather_nd(x, tf.stack([tf.range(tf.shape(x)[0]), lengths - 1], 1))
        return tf.reduce_sum(tf.matmul(last, w) ** 2)

    assert inputs_of(fitted(loss))["lengths"] == ([None], 1, 3)


def test_lengths_reach_the_longest_that_the_graph_takes():
    """Of integers that must be above zero lengths get all values up to it, so that padding is exercised."""

    def loss(w):
        x = v1.placeholder(tf.float32, [None, None, 3], "x")
        lengths, places = (v1.placeholder(tf.int32, [None], name) for name in ("lengths", "places"))
        last = tf.stack([tf.range(tf.shape(x)[0]), places - 1], 1)
        return tf.reduce_sum(tf.matmul(tf.gather_nd(tf.reverse_sequence(x, lengths, seq_axis=1), last), w) ** 2)

    found = inputs_of(fitted(loss))
    longest = found["x"][0][1]
    assert longest > 2 and found["lengths"][1:] == (1, longest + 1) and found["places"][1:] == (1, 3)


def test_lengths_that_must_reach_their_labels_go_beyond_them():
    """Where the shortest that runs is above one, longer ones are tried, too."""

    def loss(w):
        x = v1.placeholder(tf.float32, [None, None, 3], "x")
        lengths = v1.placeholder(tf.int32, [None], "lengths")
        last = tf.stack([tf.range(tf.shape(x)[0]), lengths - 3], 1)
        return tf.reduce_sum(tf.matmul(tf.gather_nd(tf.reverse_sequence(x, lengths, seq_axis=1), last), w) ** 2)

    found = inputs_of(fitted(loss))
    low, limit = found["lengths"][1:]
    assert low >= 3 and limit == found["x"][0][1] + 1 > low + 1


def test_lengths_are_those_of_a_padded_batch_where_nothing_else_runs(monkeypatch):
    """A decoder gives as many results as the greatest length; its labels are as many as the batch is wide."""

    def loss(w):
        x, labels = v1.placeholder(tf.float32, [None, None, 3], "x"), v1.placeholder(tf.float32, [None, None], "labels")
        lengths, counts = (v1.placeholder(tf.int32, [None], name) for name in ("lengths", "counts"))
        results = tf.reverse_sequence(x, lengths, seq_axis=1)[:, : tf.reduce_max(counts) - 1]
        return tf.reduce_sum(tf.reduce_sum(tf.tensordot(results, w, 1) ** 2, 2) * labels[:, 1:])

    monkeypatch.setattr(trials, "MOST_RUNS", 6)
    found = inputs_of(fitted(loss))
    assert found["x"][0] == [None, 6, 3] and found["labels"][0] == [None, 6]
    assert found["counts"][1:] == (6, 7) and found["lengths"][1:] == (1, 7)


@pytest.mark.parametrize("is_known", [True, False])
def test_lengths_of_which_one_must_be_the_full_one_are_not_all_equal(is_known):
    """The results are as many as the greatest length, and the labels as many as the batch is wide.

    `is_known`: whether an op takes the lengths as such, so that they have all values up to the full one.
    """

    def loss(w):
        x, labels = v1.placeholder(tf.float32, [2, None, 3], "x"), v1.placeholder(tf.float32, [2, None], "labels")
        lengths = v1.placeholder(tf.int32, [2], "lengths")
        results = (tf.reverse_sequence(x, lengths, seq_axis=1) if is_known else x)[:, : tf.reduce_max(lengths)]
        return tf.reduce_sum(tf.reduce_prod(tf.stack([tf.reduce_sum(tf.tensordot(results, w, 1) ** 2, 2), labels]), 0))

    (lengths,) = [entry for entry in fitted(loss).inputs if entry.name == "lengths"]
    assert lengths.has_full and (lengths.low, lengths.limit) == ((1, 7) if is_known else (0, 2))


@pytest.mark.parametrize("labels, least", [(1, 1), (3, 6), (5, 10)])
def test_sequences_are_long_enough_for_the_labels_of_ctc(labels, least):
    """Equal labels need a blank between them, so that five of them need nine steps."""

    def loss(w):
        x = v1.placeholder(tf.float32, [4, 11, 3], "x")
        dense = tf.zeros_like(v1.placeholder(tf.int32, [4, labels], "labels"))
        places = tf.where(tf.equal(dense, 0))
        logits = tf.transpose(tf.tensordot(x, w, 1), [1, 0, 2])
        values = tf.reshape(dense, [-1])
        lengths = v1.placeholder(tf.int32, [4], "lengths")
        return tf.reduce_mean(
            tf.raw_ops.CTCLoss(inputs=logits, labels_indices=places, labels_values=values, sequence_length=lengths).loss
        )

    assert inputs_of(fitted(loss))["lengths"] == ([], least, 12)


def test_labels_of_which_zeros_are_left_out_have_none():
    """The losses are divided by the number of labels, of which an example has some in real data."""

    def loss(w):
        x, dense = v1.placeholder(tf.float32, [8, 11, 3], "x"), v1.placeholder(tf.int32, [8, 2], "labels")
        places = tf.where(tf.greater(dense, 0))
        losses = tf.raw_ops.CTCLoss(
            inputs=tf.concat([tf.transpose(tf.tensordot(x, w, 1), [1, 0, 2]), tf.zeros([11, 8, 1])], 2),
            labels_indices=places,
            labels_values=tf.gather_nd(dense, places) - 1,
            sequence_length=v1.placeholder(tf.int32, [8], "lengths"),
        ).loss
        return tf.reduce_mean(losses / tf.reduce_sum(tf.cast(dense > 0, tf.float32), 1))

    found = inputs_of(fitted(loss))
    assert found["labels"][1:] == (1, 3) and found["lengths"][1:] == (6, 12)


def test_lengths_reach_what_labels_point_at():
    """A pointer network: labels are places in a sequence, and a place behind its end has no probability."""

    def loss(w):
        x, labels = v1.placeholder(tf.float32, [None, None, 3], "x"), v1.placeholder(tf.int32, [None, None], "labels")
        lengths, counts = (v1.placeholder(tf.int32, [None], name) for name in ("lengths", "counts"))
        scores = tf.reduce_sum(tf.tensordot(tf.reverse_sequence(x, lengths, seq_axis=1), w, 1), 2)
        kept = tf.sequence_mask(lengths, tf.shape(scores)[1])
        scores = tf.where(kept, scores, tf.fill(tf.shape(scores), -np.inf))
        logits = tf.tile(scores[:, None], [1, tf.reduce_max(counts), 1])
        return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    lengths = next(entry for entry in fitted(loss).inputs if entry.name == "lengths")
    assert (lengths.low, lengths.limit, lengths.has_full) == (4, 7, True)


@pytest.mark.parametrize("field, size", [(5, None), (30, 48), (100, 192), (100_000, None)])
def test_sequences_are_longer_than_the_field_that_a_loss_leaves_out(field, size):
    """The mean of what follows a receptive field is that of nothing, and no number, where nothing follows.

    `size`: that is found; None if the usual one will do, or if none that can be tried does.
    """
    plan = fitted(
        lambda w: tf.reduce_mean(tf.tensordot(v1.placeholder(tf.float32, [2, None, 3], "x"), w, 1)[:, field:] ** 2)
    )
    assert inputs_of(plan) == {"x": ([2, size, 3] if size else [], 0, 0)}


def test_an_assertion_holds_that_no_computed_tensor_waits_for():
    def loss(w):
        x, labels = (v1.placeholder(tf.float32, [None, size], name) for size, name in ((3, "x"), (None, "labels")))
        lengths = v1.placeholder(tf.int32, [None], "lengths")
        numbers = [tf.shape(labels)[1], tf.reduce_max(lengths)]
        tf.raw_ops.Assert(condition=tf.equal(*numbers), data=numbers, name="widest") if asserted else None
        with tf.control_dependencies(["widest"] if asserted else []):
            x = tf.identity(x)
        return tf.reduce_sum(tf.matmul(x, w) ** 2) + tf.reduce_sum(labels) * tf.cast(tf.reduce_max(lengths), tf.float32)

    asserted = True
    found = inputs_of(fitted(loss))
    assert found["labels"][0] == [None, 1]
    asserted = False
    assert inputs_of(fitted(loss))["labels"] == ([], 0, 0)


def test_a_batch_that_the_graph_fixes_is_found():
    def loss(w):
        return tf.reduce_sum(tf.matmul(tf.reshape(v1.placeholder(tf.float32, [None, None], "x"), [4, 3]), w) ** 2)

    plan = fitted(loss)
    (entry,) = plan.inputs
    sizes = [size or plan.batch for size in entry.example]
    assert sizes[0] * sizes[1] == 12


def test_a_batch_of_which_a_constant_number_of_rows_is_sliced_has_so_many():
    """The rows' sizes are taken by `tf.slice`, and then stand beside all rows."""

    def loss(w):
        x = v1.placeholder(tf.float32, [None, 3], "x")
        scale = tf.reshape(tf.slice(x, [0, 1], [5, 1]), [tf.shape(x)[0], 1])
        return tf.reduce_sum(tf.matmul(x * scale, w) ** 2)

    plan = fitted(loss)
    assert plan.batch == 5 and inputs_of(plan) == {"x": ([], 0, 0)}


def test_closed_inputs_are_not_tried():
    def closed(dtype, shape, limit=0):
        return trial_choices.is_open(Input("x", dtype, shape, "batch", limit, ["x:0"], "x:0"))

    assert not closed("float32", [4, 3]) and not closed("int32", [4], 5) and not closed("string", [None])
    assert closed("int32", [4]) and closed("float32", None) and closed("float32", [4, None]) and closed("bool", [4])


def test_maps_get_the_size_that_an_image_has_after_the_network():
    def loss(w):
        image = v1.placeholder(tf.float32, [None, None, None, 3], "image")
        target = v1.placeholder(tf.float32, [None, None, None, 2], "target")
        small = tf.nn.max_pool2d(image, 4, 4, "VALID")
        large = tf.concat([image, tf.repeat(tf.repeat(small, 4, 1), 4, 2)], 3)  # fits only if sides are multiples of 4
        half = tf.nn.avg_pool2d(large[..., 3:], 2, 2, "VALID")
        return tf.reduce_mean((tf.tensordot(half, w, 1) - target) ** 2)

    plan = fitted(loss)
    assert inputs_of(plan)["image"][0] == [None, 64, 96, 3]
    assert inputs_of(plan)["target"][0] == [None, 32, 48, 2]


def test_ranges_are_given_to_integers_without_a_bound_and_to_booleans():
    def ranged(dtype, limit=0, kind="batch", sparse=""):
        entry = trial_choices.with_range(Input("x", dtype, [4], kind, limit, ["x:0"], "x:0", sparse=sparse), 2, 5)
        return entry.low, entry.limit

    assert ranged("int32") == (2, 5) and ranged("bool") == (1, 0)
    assert ranged("int32", limit=7) == (0, 7) and ranged("float32") == (0, 0)
    assert ranged("int32", kind="setting") == ranged("bool", kind="setting") == (0, 0)
    assert ranged("int64", sparse="x/values") == (2, 5) and ranged("int64", sparse="x/indices") == (0, 0)


def test_integers_beside_a_mask_that_needs_ones_keep_several_values():
    """Keypoints may be 0 or 1; a mask whose product over a cell of pixels is 0 everywhere leaves nothing to learn."""

    def loss(w):
        points = v1.placeholder(tf.int32, [2, 4, 64], "points")
        mask = v1.placeholder(tf.int32, [2, 4, 64], "mask")
        valid = tf.reduce_prod(tf.cast(mask, tf.float32), 2)
        return tf.reduce_sum(valid * tf.reduce_mean(tf.cast(points, tf.float32), 2)) * tf.reduce_sum(w**2)

    assert inputs_of(fitted(loss)) == {"points": ([2, 4, 64], 0, 2), "mask": ([2, 4, 64], 1, 3)}


@pytest.mark.parametrize("rows", [None, 8])
def test_labels_have_several_lengths_where_the_sequences_are_long_enough_for_them(rows):
    """`ctc_loss` takes no example without labels, and none with more labels than steps of time.

    `rows`: of the labels; where they are fixed, a tower has so many examples.
    """

    def loss(w):
        x, labels = v1.placeholder(tf.float32, [None, None, 3], "x"), v1.placeholder(tf.int32, [rows, None], "labels")
        lengths, counts = v1.placeholder(tf.int32, [None], "lengths"), v1.placeholder(tf.int32, [rows], "counts")
        places = tf.where(tf.sequence_mask(counts, tf.shape(labels)[1]))
        sparse = tf.SparseTensor(places, tf.gather_nd(labels, places) % 2, tf.shape(labels, tf.int64))
        logits = tf.tensordot(tf.reverse_sequence(x, lengths, seq_axis=1), tf.pad(w, [[0, 0], [0, 1]]), 1)
        return tf.reduce_sum(v1.nn.ctc_loss(sparse, tf.transpose(logits, [1, 0, 2]), lengths))

    found = inputs_of(fitted(loss))
    assert found["counts"][1] == 1 and found["counts"][2] >= 3 and found["lengths"][1] >= 3


@pytest.mark.parametrize("computed", ["half", "rounded up"])
def test_labels_of_ctc_have_several_lengths_where_times_are_computed(computed):
    """Every second time is left out, as by a convolution with strides; lengths of labels are those of a mask."""

    def loss(w):
        x, labels = v1.placeholder(tf.float32, [None, None, 3], "x"), v1.placeholder(tf.int32, [None, None], "labels")
        lengths, counts = v1.placeholder(tf.int32, [None], "lengths"), v1.placeholder(tf.int32, [None], "counts")
        places = tf.where(tf.sequence_mask(counts, tf.shape(labels)[1]))
        sparse = tf.SparseTensor(places, tf.gather_nd(labels, places), tf.shape(labels, tf.int64))
        logits = tf.transpose(tf.tensordot(x, tf.pad(w, [[0, 0], [0, 3]]), 1)[:, ::2], [1, 0, 2])
        halves = tf.cast(tf.math.ceil(tf.cast(lengths, tf.float32) / 2), tf.int32)
        return tf.reduce_mean(v1.nn.ctc_loss(sparse, logits, lengths // 2 if computed == "half" else halves))

    found = inputs_of(fitted(loss))
    assert found["counts"][1] == 1 and found["counts"][2] > 2
    assert found["lengths"][1] < found["lengths"][2] - 1


@pytest.mark.parametrize("most_runs", [3, 10_000])
def test_data_that_no_search_finds_leave_the_inputs_as_they_are(most_runs, monkeypatch):
    """Whatever its length, the input does not fit into both shapes."""
    monkeypatch.setattr(trials, "MOST_RUNS", most_runs)
    monkeypatch.setattr(trials, "FIRST_RUNS", 1)
    monkeypatch.setattr(fitting, "MOST_COSTS", (1.0,))

    def loss(w):
        x = v1.placeholder(tf.float32, [None], "x")
        return tf.reduce_sum(w) * tf.reduce_sum(tf.reshape(x, [5])) * tf.reduce_sum(tf.reshape(x, [7]))

    plan = fitted(loss)
    assert inputs_of(plan) == {"x": ([], 0, 0)} and plan.batch is None


@pytest.mark.parametrize("bits, bounds", [(4, (0, 1)), (3, (0, 1)), (0, (0, 0))])
def test_numbers_with_which_a_graph_fails_in_few_draws_are_not_taken(bits, bounds):
    """The graph looks up row 3 of three where the first numbers are all 1, which is rare where they are many."""

    def loss(w):
        numbers = tf.cast(v1.placeholder(tf.int32, [None], "numbers"), tf.float32)
        row = tf.cast(3 * tf.reduce_prod(numbers[:bits]), tf.int32) if bits else 0
        return tf.reduce_sum(tf.gather(w, row) ** 2) + tf.reduce_sum(numbers) * 0.5

    (entry,) = fitted(loss).inputs
    assert (entry.low, entry.limit) == bounds
