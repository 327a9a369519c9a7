"""The rows that a tower trains on, where it takes more of them."""

import pytest
import tensorflow as tf

from legacy.saved.facts.inputs.trained_rows import TrainedRows, trained_rows
from tests.legacy.saved.facts.tower_pages import analysed_step, parts, program, sections_of, squares, variable, watched

v1 = tf.compat.v1
CHOSEN = TrainedRows(0, "tower_0/boolean_mask/Where")


def of(use):
    """The trained rows of towers of 8 rows each, whose loss is that of `use(x, mask)`."""

    def build():
        x, mask = parts("x", 16, 3), parts("mask", 16, dtype=tf.bool)
        program(lambda tower: use(x(tower), mask(tower)))()

    return trained_rows(analysed_step(build))


def errors(x):
    """The error of each example."""
    return tf.reduce_mean(tf.square(tf.matmul(x, variable("w", 3, 2))), 1)


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda x, mask: squares(x[:5]), TrainedRows(5)),
        (lambda x, mask: squares(x[1::2]), TrainedRows(4)),
        (lambda x, mask: squares(tf.slice(x, [1, 0], [6, 3])), TrainedRows(6)),
        (lambda x, mask: squares(tf.split(x, 4)[1]), TrainedRows(2)),
        (lambda x, mask: tf.reduce_mean(errors(x)[:5]), TrainedRows(5)),  # behind the layers
        (lambda x, mask: squares(x[:2]) + squares(x[4:6]), TrainedRows(4)),
        (lambda x, mask: squares(tf.boolean_mask(x, mask)), CHOSEN),
        (lambda x, mask: tf.reduce_mean(tf.boolean_mask(errors(x), mask)), CHOSEN),
    ],
)
def test_a_part_through_which_alone_data_reach_the_loss(use, expected):
    assert of(use) == expected


@pytest.mark.parametrize(
    "use",
    [
        lambda x, mask: squares(x),
        lambda x, mask: squares(x[:4]) - squares(x[4:]),
        lambda x, mask: sum(map(squares, tf.split(x, 2))),
        lambda x, mask: squares(x[:5]) + tf.reduce_mean(errors(x)),  # all rows in another term
        lambda x, mask: tf.reduce_mean(errors(x) * tf.cast(mask, tf.float32)),  # weighs each
        lambda x, mask: squares(tf.reshape(x, [6, 4])[:3, :3]),  # the rows are others
        lambda x, mask: tf.reduce_mean(tf.matmul(x, variable("w", 3, 2))[:, :1]),
    ],
)
def test_all_rows(use):
    assert of(use) is None


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda x, tower: x[:8], "16, of which 8 train"),
        (lambda x, tower: x, "16"),
        (lambda x, tower: x[tower * 8 : tower * 8 + 8], "8"),
    ],
)
def test_rows_of_one_batch_that_all_towers_get(use, expected):
    """As where the bounds of each tower's slice lack its number."""

    def build():
        x = v1.placeholder(tf.float32, [16, 3], "x")
        program(lambda tower: squares(use(x, tower)))()

    (batch,) = [row["is"] for row in sections_of(build)["towers"] if row["what"] == "batch of one"]
    assert batch == expected


def page(use):
    def build():
        x, mask = parts("x", 16, 3), parts("mask", 16, dtype=tf.bool)

        def update(pairs):
            step = v1.train.create_global_step()
            rate = 0.1 * 0.9 ** tf.cast(step, tf.float32)
            v1.train.GradientDescentOptimizer(rate).apply_gradients(pairs, step, name="train")

        program(lambda tower: use(x(tower), mask(tower)), update)()

    sections = sections_of(build)
    (schedule,) = [text for text in watched(sections) if "the schedule counts updates" in text]
    batch = next(row["is"] for row in sections["towers"] if row["what"] == "batch of one")
    return batch, schedule.partition("each of ")[2].partition(",")[0]


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda x, mask: squares(x[:5]), ("8, of which 5 train", "2 x 5 examples")),
        (lambda x, mask: squares(x[:1]), ("8, of which 1 trains", "2 x 1 examples")),
        (
            lambda x, mask: squares(tf.boolean_mask(x, mask)),
            (f"8, of which {CHOSEN.chosen_by} chooses some", "2 batches of examples"),
        ),
        (lambda x, mask: squares(x), ("8", "2 x 8 examples")),
    ],
)
def test_the_page_says_how_many_train(use, expected):
    assert page(use) == expected
