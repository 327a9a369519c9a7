"""Labels that are dealt to towers otherwise than their examples, beside those that are dealt alike."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.dealt_apart import labels_dealt_otherwise
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
BATCH = 4


def blocks(x, tower):
    return x[tower * BATCH : (tower + 1) * BATCH]


def turns(x, tower):
    return x[tower::2]


def halves(x, tower):
    return tf.split(x, 2)[tower]


def other_half(x, tower):
    return tf.split(x, 2)[1 - tower]


def reshaped(x, tower):
    return tf.reshape(x, [2, BATCH, *x.shape[1:]])[tower]


def reshaped_in_turn(x, tower):
    return tf.reshape(x, [BATCH, 2, *x.shape[1:]])[:, tower]


def sliced(x, tower):
    return tf.slice(x, [tower * BATCH] + [0] * (x.shape.rank - 1), [BATCH] + [-1] * (x.shape.rank - 1))


def stacked_in_turn(x, tower):
    return tf.stack(tf.unstack(x)[tower::2])


def gathered_in_turn(x, tower):
    return tf.gather(x, list(range(tower, 2 * BATCH, 2)))


def gathered_with_a_gap(x, tower):
    return tf.gather(x, [tower, tower + 2, tower + 3, tower + 4])


def found(deal_examples, deal_labels, sparse=False, same_input=False, label_rows=2 * BATCH):
    def build():
        x = v1.placeholder(tf.float32, [2 * BATCH, 3], "x")
        y = v1.placeholder(tf.int32, [label_rows], "y") if sparse else v1.placeholder(tf.float32, [label_rows, 3], "y")
        w = v1.get_variable("w", [3, 3], use_resource=False)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                labels = deal_labels(x if same_input else y, tower)
                predicted = deal_examples(x, tower) @ w
                if sparse:
                    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=predicted)
                else:
                    loss = tf.square(predicted - labels)
                gradients.append(tf.gradients(tf.reduce_mean(loss), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    return [hazard.id for hazard in labels_dealt_otherwise(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(
    "examples, labels",
    [
        (blocks, turns),
        (turns, blocks),
        (halves, other_half),
        (halves, turns),
        (turns, halves),
        (reshaped_in_turn, blocks),
        (blocks, reshaped_in_turn),
        (reshaped_in_turn, reshaped),
        (sliced, stacked_in_turn),
        (gathered_in_turn, sliced),
        (stacked_in_turn, halves),
    ],
)
def test_labels_of_other_rows_are_named(examples, labels, sparse):
    assert found(examples, labels, sparse) == ["INPUTS_NOT_PAIRED"]


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(
    "deal", [blocks, turns, halves, other_half, reshaped, reshaped_in_turn, sliced, stacked_in_turn, gathered_in_turn]
)
def test_labels_that_are_dealt_alike_are_not(deal, sparse):
    assert found(deal, deal, sparse) == []


def test_parts_of_one_input_that_are_compared_are_not():
    assert found(blocks, turns, same_input=True) == []


def test_labels_of_fewer_rows_are_not_known_to_be_of_other_examples():
    assert found(blocks, lambda y, tower: y[tower::2][:BATCH], label_rows=4 * BATCH) == []


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("deal", [blocks, halves])
def test_labels_of_one_part_for_all_towers_are_left_to_same_batch(deal, sparse):
    assert found(deal, lambda y, tower: deal(y, 0), sparse) == []


@pytest.mark.parametrize(
    "examples, labels",
    [
        (reshaped, blocks),
        (turns, reshaped_in_turn),
        (halves, blocks),
        (sliced, halves),
        (turns, stacked_in_turn),
        (stacked_in_turn, gathered_in_turn),
        (blocks, gathered_with_a_gap),  # rows of no rule that is known here
    ],
)
def test_rows_that_are_dealt_alike_by_other_ops_are_not(examples, labels):
    assert found(examples, labels) == []


@pytest.mark.parametrize("deal_labels, count", [(turns, 1), (halves, 0)])
def test_a_model_of_two_inputs_that_are_dealt_alike_is_compared_with_its_labels(deal_labels, count):
    def examples(x, tower):
        mask = v1.placeholder(tf.float32, [2 * BATCH, 3], "mask")
        return halves(x, tower) * halves(mask, tower)

    assert found(examples, deal_labels) == ["INPUTS_NOT_PAIRED"] * count
