"""Lines on inputs and batches that programs of unusual construction made false, and likes of which they are true."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.whole_facts import whole_facts
from tests.legacy.saved.facts.tower_pages import (
    hazards,
    of_frames,
    parts,
    program,
    sections_of,
    squares,
    variable,
    watched,
)
from tests.legacy.saved.graphs import graph_of, saved

v1 = tf.compat.v1


def batch_text(page):
    return next(row["is"] for row in page["towers"] if row["what"] == "batch of one")


def test_inputs_of_several_rows_for_an_example_tell_no_number_of_examples():
    page = of_frames(12, 4, tf.reduce_mean)
    assert batch_text(page) == "rows: 6 of frames, 2 of labels"
    assert batch_text(of_frames(8, 8, tf.reduce_mean)) == "4"


def test_targets_that_each_tower_splits_by_itself_are_used():
    """The images are split once, for all towers; the labels in each tower, which takes its own part."""

    def labelled(part_of):
        def build():
            halves = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)
            y = v1.placeholder(tf.float32, [8, 1], "y")

            def loss(tower):
                label = tf.split(y, 2)[part_of(tower)]
                return tf.reduce_mean(tf.abs(tf.matmul(halves[tower], variable("w", 3, 1)) - label))

            return program(loss)()

        return hazards(sections_of(build))

    assert "TARGET_UNUSED" not in labelled(lambda tower: tower)
    assert "TARGET_UNUSED" in labelled(lambda tower: 0)


@pytest.mark.parametrize("shape, kind", [(None, "each tower's part"), ([8], "batch")])
def test_parts_of_unknown_shape_are_not_said_to_be_examples(shape, kind):
    """As of a probability for each tower, which a program splits like its batch."""

    def build():
        halves = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)
        kept = tf.split(v1.placeholder(tf.float32, shape, "kept"), 2)
        return program(lambda tower: squares(halves[tower]) * tf.reduce_mean(kept[tower]))()

    assert {row["name"]: row["kind"] for row in sections_of(build)["inputs"]} == {"x": "batch", "kept": kind}


def test_a_number_of_each_tower_is_its_part_and_not_of_all_examples():
    def build():
        halves = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)
        kept = tf.unstack(v1.placeholder(tf.float32, [2], "kept"))
        return program(lambda tower: squares(halves[tower]) * kept[tower])()

    assert {row["name"]: row["kind"] for row in sections_of(build)["inputs"]}["kept"] == "each tower's part"


def test_columns_that_towers_take_of_sequences_with_the_time_first_are_their_examples():
    def build():
        words = v1.placeholder(tf.int32, [5, 8], "words")
        table = variable("table", 20, 3)
        return program(lambda tower: squares(tf.gather(table, words[:, 4 * tower : 4 * tower + 4])[0]))()

    assert batch_text(sections_of(build)) == "4, along dimension 1 of words"


@pytest.mark.parametrize("count, source", [(1, "Split of x0:0"), (2, "Split of x0:0, x1:0")])
def test_a_part_of_what_is_joined_names_all_that_was_read(count, source):
    def build():
        read = [v1.placeholder(tf.float32, [8 // count, 3], f"x{number}") for number in range(count)]
        halves = tf.split(tf.concat([*read, read[0][:0]], 0), 2)
        return program(lambda tower: squares(halves[tower]))()

    assert [row["enters by"] for row in sections_of(build)["inputs"]] == [source]


@pytest.mark.parametrize("uses_parts", [True, False])
def test_fed_sizes_of_the_parts_are_neither_a_source_of_data_nor_a_target(uses_parts):
    def build():
        x, sizes = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.int32, [2], "label_sizes")
        halves = tf.split(x, sizes)
        return program(lambda tower: squares(tf.reshape(halves[tower] if uses_parts else x, [-1, 3])))()

    page = sections_of(build)
    assert [row["enters by"] for row in page["inputs"]] == ["SplitV of x:0" if uses_parts else "Placeholder x:0"]
    assert ("SAME_BATCH" in hazards(page)) != uses_parts
    assert "TARGET_UNUSED" not in hazards(page)


@pytest.mark.parametrize("part_of, is_dealt", [(lambda tower: tower, True), (lambda tower: 0, False)])
def test_labels_that_each_tower_prepares_whole_and_then_splits_are_dealt(part_of, is_dealt):
    def build():
        halves, y = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2), v1.placeholder(tf.int32, [8], "y")

        def loss(tower):
            part = tf.split(tf.one_hot(y, 2), 2)[part_of(tower)]
            return tf.reduce_mean(tf.abs(tf.matmul(halves[tower], variable("w", 3, 2)) - part))

        return program(loss)()

    page = sections_of(build)
    assert set(hazards(page)).isdisjoint(("SAME_BATCH", "TARGET_UNUSED")) == is_dealt
    kinds = {row["name"]: (row["kind"], row["shape"]) for row in page["inputs"]}
    assert (kinds["y"] == ("batch", "[4, 2]")) == is_dealt


@pytest.mark.parametrize("place, is_dealt", [(lambda tower: tower, True), (lambda tower: 0, False)])
def test_parts_of_a_fed_size_are_the_towers_own(place, is_dealt):
    def build():
        size = v1.placeholder(tf.int32, name="size")  # its rank is not known
        x, y = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.float32, [None, 1], "y")

        def loss(tower):
            first = place(tower) * size
            rows = tf.reshape(tf.slice(x, tf.stack([first, 0]), tf.stack([size, 3])), [-1, 3])
            errors = tf.matmul(rows, variable("w", 3, 1)) - y[first : (place(tower) + 1) * size]
            return tf.reduce_sum(tf.square(errors)) / tf.cast(size, tf.float32)

        return program(loss)()

    page = sections_of(build)
    kinds = {row["name"]: row["kind"] for row in page["inputs"]}
    assert kinds == {"x": "batch" if is_dealt else "same batch", "y": kinds["x"], "size": "setting"}
    assert ("SAME_BATCH" not in hazards(page)) == is_dealt


@pytest.mark.parametrize("uses_values", [False, True])
def test_a_batch_of_which_towers_use_a_slice_each_and_the_size_is_not_the_same_data_of_all(uses_values):
    def build():
        x = v1.placeholder(tf.float32, [None, 3], "x")
        half, count = tf.shape(x)[0] // 2, tf.cast(tf.shape(x)[0], tf.float32)
        halves = (x[:half], x[half:])

        def loss(tower):
            total = tf.reduce_sum(tf.square(tf.matmul(halves[tower], variable("w", 3, 1)))) / count
            return total * tf.reduce_mean(x) if uses_values else total

        return program(loss)()

    page = sections_of(build)
    assert ("every tower uses the shape alone of: x:0" in watched(page)) != uses_values
    # A mean of the whole batch is no data that every tower gets alike: replicas compute it of all their parts.
    assert "every tower gets the same data: x:0" not in watched(page)
    assert "SAME_BATCH" not in hazards(page)


@pytest.mark.parametrize("meets_weights", [False, True])
def test_a_number_of_a_whole_batch_beside_the_towers_parts_is_no_example_of_all(meets_weights):
    def build():
        x, mask = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.float32, [None], "mask")
        rows, masks = (x[: tf.shape(x)[0] // 2], x[tf.shape(x)[0] // 2 :]), tf.split(mask, 2)

        def loss(tower):
            errors = tf.square(tf.matmul(rows[tower], variable("w", 3, 1)))[:, 0]
            total = tf.reduce_sum(errors * masks[tower]) / tf.reduce_sum(mask)
            return total + (tf.reduce_mean(tf.abs(tf.matmul(x, variable("w", 3, 1)))) if meets_weights else 0.0)

        return program(loss)()

    page = sections_of(build)
    assert ("SAME_BATCH" in hazards(page)) == meets_weights
    assert "a mean of means" not in str(watched(page))


@pytest.mark.parametrize("of_whole", [False, True])
def test_a_loss_divided_by_a_number_of_the_whole_batch_is_no_mean_of_a_towers_own(of_whole):
    def build():
        x, mask = v1.placeholder(tf.float32, [8, 3], "x"), v1.placeholder(tf.float32, [8], "mask")
        rows, masks = tf.split(x, 2), tf.split(mask, 2)

        def loss(tower):
            errors = tf.square(tf.matmul(rows[tower], variable("w", 3, 1)))[:, 0]
            return tf.reduce_sum(errors * masks[tower]) / tf.reduce_sum(mask if of_whole else masks[tower])

        return program(loss)()

    assert ("a mean of means" not in str(watched(sections_of(build)))) == of_whole


@pytest.mark.parametrize("by_place", [False, True])
def test_numbers_that_towers_take_one_by_one_are_no_data_that_all_get(by_place):
    def build():
        halves = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)
        shares = v1.placeholder(tf.float32, [3], "shares")

        def loss(tower):
            return squares(halves[tower] * (shares[0] * shares[1] if by_place else shares))

        return program(loss)()

    texts = [text for text in watched(sections_of(build)) if text.endswith(": shares")]
    assert texts == [f"every tower gets the same {'numbers, each by its place' if by_place else 'data'}: shares"]


def prepared(prepare, in_tower=lambda x: x):
    def build():
        batch = prepare(v1.placeholder(tf.float32, [8, 3], "x"))
        return program(lambda tower: squares(in_tower(tf.split(batch, 2)[tower])))()

    return [text for text in watched(sections_of(build)) if "a lift leaves them out" in text]


def test_what_is_computed_before_the_towers_is_not_at_their_start():
    (text,) = prepared(lambda x: x / 255.0 + v1.random_uniform([8, 3]))
    assert "ops outside of the towers compute from x:0 (AddV2, RandomUniform, RealDiv)" in text
    assert prepared(lambda x: x, lambda x: x / 255.0) == []  # is a part of the towers


@pytest.mark.parametrize("number, sentences", [(2, 2), (3, 1)])
def test_many_inputs_that_are_computed_of_the_same_data_have_one_sentence(number, sentences):
    def build():
        x = v1.placeholder(tf.float32, [8, 3], "x")
        made = [tf.split(tf.multiply(x, factor + 2.0, f"made_{factor}"), 2) for factor in range(number)]
        return program(lambda tower: sum(squares(parts[tower]) for parts in made))()

    texts = [text for text in watched(sections_of(build)) if "a lift leaves them out" in text]
    assert len(texts) == sentences
    assert ("are what ops outside of the towers compute from x:0 (Mul)" in texts[0]) == (sentences == 1)


def test_the_file_name_of_a_saver_is_no_input():
    graph = graph_of("""
        x = Placeholder()
        loss = Sum(x)
        save/filename = PlaceholderWithDefault()
        save/Const = PlaceholderWithDefault(save/filename)
        save/SaveV2 = SaveV2(save/Const)
        other = PlaceholderWithDefault()
        read = ReadFile(other)
    """)
    assert [row["name"] for row in whole_facts(saved(graph), WholeGraph(saved(graph)))["inputs"]] == ["x", "other"]


def test_a_part_of_the_batch_along_the_time_is_no_towers_own_input():
    """Features with the time first are dealt along their second dimension, and labels along the first."""

    def build():
        features, y = v1.placeholder(tf.float32, [6, 8, 3], "features"), parts("y", 8)

        def loss(tower):
            x = tf.split(features, 2, axis=1)[tower]
            made = tf.reduce_mean(tf.tensordot(x, variable("w", 3, 1), 1), [0, 2])
            return tf.reduce_mean(tf.abs(made - y(tower)))

        return program(loss)()

    assert {row["kind"] for row in sections_of(build)["inputs"]} == {"batch", "each tower's part"}


def examples_of_an_update(rows, part):
    """The sentence on a schedule of a program whose towers take a part of an input of so many rows, or of any."""

    def build():
        features = v1.placeholder(tf.float32, [rows, 8, 3], "features")

        def loss(tower):
            return tf.reduce_mean(tf.abs(tf.tensordot(part(features, tower), variable("w", 3, 1), 1)))

        def update(pairs):
            step = v1.get_variable(
                "global_step",
                dtype=tf.int64,
                initializer=tf.zeros([], tf.int64),
                trainable=False,
                use_resource=False,
            )
            rate = 0.1 * 0.9 ** tf.cast(step, tf.float32)
            v1.train.GradientDescentOptimizer(rate).apply_gradients(pairs, step, name="train")

        return program(loss, update)()

    (text,) = [text for text in watched(sections_of(build)) if "the schedule counts updates" in text]
    return text.partition("each of ")[2].partition(",")[0]


@pytest.mark.parametrize(
    "rows, part, examples",
    [
        (6, lambda x, tower: tf.split(x, 2, 1)[tower], "2 x 4 examples"),  # dealt along the time
        (6, lambda x, tower: tf.split(x, 2, 0)[tower], "2 x 3 examples"),
        (None, lambda x, tower: x[tower : tower + 1], "2 x 1 examples"),
        (None, lambda x, tower: x[3 * tower : 3 * tower + 3], "2 x 3 examples"),
        (None, lambda x, tower: tf.split(x, 2, 0)[tower], "2 batches of examples"),
    ],
)
def test_the_examples_of_an_update_are_those_of_all_towers(rows, part, examples):
    assert examples_of_an_update(rows, part) == examples


def test_a_number_of_all_examples_is_no_setting():
    """A loss over the total weight of all towers' examples, beside one over a number that is fed."""

    def over(total):
        def build():
            x, weights = parts("x", 8, 3), v1.placeholder(tf.float32, [8], "weights")
            divisor = total(weights)

            def loss(tower):
                each = tf.reduce_mean(tf.square(tf.matmul(x(tower), variable("w", 3, 2))), 1)
                return tf.reduce_sum(tf.split(weights, 2)[tower] * each) / divisor

            return program(loss, combine=tf.add_n)()

        page = sections_of(build)
        return {row["name"]: row["kind"] for row in page["inputs"]}, watched(page)

    kinds, texts = over(lambda _: tf.add(tf.reduce_sum(v1.placeholder(tf.float32, [8], "all")), 1e-6, name="total"))
    assert kinds["all"] == "of all examples"
    assert [text for text in texts if text.startswith("all is what ops outside of the towers compute from all:0")]
    kinds, texts = over(lambda weights: tf.add(tf.reduce_sum(weights), 1e-6, name="total"))
    assert kinds["weights"] == "batch" and not [text for text in texts if "outside of the towers" in text]
    kinds, texts = over(lambda weights: tf.add(v1.placeholder(tf.float32, [], "fed"), 1e-6))
    assert "of all examples" not in kinds.values()


def test_noise_that_is_drawn_before_the_towers_names_the_op_that_draws_it():
    def build():
        x, noise = parts("x", 4, 3), tf.split(v1.random_normal([4, 3], name="noise"), 2)
        program(lambda tower: squares(x(tower) + noise[tower]))()

    rows = {row["enters by"] for row in sections_of(build)["inputs"]}
    assert rows == {"Split of x:0", "Split of noise/RandomStandardNormal, drawn in the graph"}


@pytest.mark.parametrize(
    "part_of, tensors",
    [
        (lambda tower: tower, "split:0, split:1, split:2"),
        (lambda tower: min(tower, 1), "split:0 (tower 0), split:1 (towers 1, 2)"),
        (lambda tower: 0, "split:0"),
    ],
)
def test_parts_that_towers_share_are_told(part_of, tensors):
    def build():
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            w = v1.get_variable("w", [3, 1], use_resource=False)
        split = tf.split(v1.placeholder(tf.float32, [12, 3], "x"), 3)
        labels = tf.split(v1.placeholder(tf.float32, [12, 1], "y"), 3, name="labels")
        gradients = []
        for tower in range(3):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                error = tf.matmul(split[part_of(tower)], w) - labels[tower]
                gradients += tf.gradients(tf.reduce_mean(tf.square(error)), [w])
        v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.add_n(gradients) / 3, w)], name="train")

    rows = {row["name"]: row["tensors"] for row in sections_of(build)["inputs"]}
    assert tensors in rows.values(), rows
