"""Lines on losses and their terms that unusual programs made false, and likes of these of which they are true."""

import pytest
import tensorflow as tf

from tests.legacy.saved.facts.tower_pages import (
    descend,
    hazards,
    mean,
    of_frames,
    parts,
    program,
    sections_of,
    squares,
    variable,
    watched,
)

v1 = tf.compat.v1


def test_a_weight_that_is_a_term_and_in_another_term_belongs_to_the_loss():
    """exp(-s) l + s, twice, as of two losses with trained deviations: s has no gradient op as a term."""

    def uncertain():
        x = parts("x", 8, 3)

        def loss(tower):
            s, t = variable("s"), variable("t")
            first, second = squares(x(tower)), tf.reduce_mean(tf.abs(tf.matmul(x(tower), variable("v", 3, 1))))
            return tf.add(tf.exp(-s) * first + s + tf.exp(-t) * second, t, name="total")

        return program(loss)()

    page = sections_of(uncertain)
    terms = [row["term"] for row in page["losses"]]
    assert terms[0] == "tower_0/total:0" and {"s", "t"} <= {term.partition("/")[0] for term in terms[1:]}
    assert "LOSS_WEIGHT_TRAINED" not in hazards(page)


def test_a_trained_weight_of_a_term_without_its_own_term_is_still_named():
    def unbounded():
        x = parts("x", 8, 3)
        return program(lambda tower: tf.exp(-variable("s")) * squares(x(tower)))()

    assert "LOSS_WEIGHT_TRAINED" in hazards(sections_of(unbounded))


def test_a_sum_over_as_many_examples_as_towers_is_not_divided_twice():
    assert "LOSS_DIVIDED_TWICE" not in hazards(of_frames(4, 4, lambda each: tf.reduce_sum(each) / 2.0))
    assert "LOSS_DIVIDED_TWICE" not in hazards(of_frames(12, 4, lambda each: tf.reduce_sum(each) / 2.0))
    assert "LOSS_DIVIDED_TWICE" in hazards(of_frames(8, 8, lambda each: tf.reduce_sum(each) / 2.0))
    assert "LOSS_DIVIDED_TWICE" in hazards(of_frames(4, 4, lambda each: tf.reduce_mean(each) / 2.0))


@pytest.mark.parametrize("of_data", [False, True])
def test_a_regularizer_may_have_a_weight_that_is_fed(of_data):
    def build():
        x, rate = parts("x", 8, 3), v1.placeholder(tf.float32, [], "rate")

        def loss(tower):
            w = variable("decayed", 3, 1)
            decayed = tf.matmul(x(tower), w) if of_data else w
            return squares(x(tower)) + tf.multiply(rate, tf.nn.l2_loss(decayed), name="decay")

        return program(loss)()

    text = "data" if of_data else "weights and on rate, a number that is fed: a regularizer"
    rows = {row["term"]: row["is"] for row in sections_of(build)["losses"]}
    assert rows["tower_0/decay"] == "depends on " + text


@pytest.mark.parametrize("divisor, is_named", [(4.0, False), (12.0, False), (5.0, True)])
def test_a_sum_over_words_may_be_divided_by_the_sentences_that_are_dealt_beside_them(divisor, is_named):
    """The words of 8 sentences, of 3 each, are joined before the towers, as are their weights."""

    def build():
        x, targets, weights = parts("x", 8, 3), parts("targets", 24), parts("weights", 24)

        def loss(tower):
            words = tf.reshape(x(tower)[:, :, None] * variable("w", 1), [-1])
            return tf.reduce_sum(tf.abs(words - targets(tower)) * weights(tower)) / divisor

        return program(loss)()

    assert ("BATCH_SIZE_CONSTANT" in hazards(sections_of(build))) == is_named


def test_a_sum_of_means_that_are_divided_by_the_towers_is_a_mean_where_towers_have_as_many_examples():
    """As slim's clones of two examples, of which the first has the penalty."""

    def clones(rows):
        def build():
            x = parts("x", rows, 3)

            def loss(tower):
                own = tf.reduce_mean(tf.abs(tf.matmul(x(tower), variable("w", 3, 1)))) / 2.0
                return own + 0.01 * tf.nn.l2_loss(variable("w", 3, 1)) if tower == 0 else own

            return program(loss, combine=tf.add_n)()

        return watched(sections_of(build))

    for rows in (4, 8):
        assert [text for text in clones(rows) if "counts 1/2: the sum of gradients is a mean" in text]


def test_a_loss_that_one_tower_alone_differentiates_is_its_own_and_no_like_of_others_losses():
    """The first tower's penalty of its layer is differentiated before its loss, of which the others have a like."""

    def build():
        x, pairs = parts("x", 8, 3), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                layer = tf.matmul(x(tower), variable("w", 3, 1))
                aux = tf.reduce_mean(tf.abs(layer), name="aux")
                loss = tf.reduce_mean(tf.square(tf.tanh(layer)), name="loss")
                losses = [aux, loss] if tower == 0 else [loss]
                gradients = [tf.gradients(one, v1.trainable_variables())[0] for one in losses]
                pairs.append(tf.add_n(gradients))
        descend([(mean(pairs), v1.trainable_variables()[0])])

    found = {row["term"]: row["is"] for row in sections_of(build)["losses"]}
    assert found["tower_0/loss:0"] == "the loss of the first tower"
    assert found["tower_0/aux:0"] == "a loss that tower 0 alone differentiates"


@pytest.mark.parametrize("kept", [0, 1])
def test_the_loss_of_the_one_tower_that_trains_is_on_the_page(kept):
    """A loop overwrites its gradients, or takes those of the first tower."""

    def build():
        part = parts("x", 8, 3)

        def loss(tower):
            moving = variable("moving", trainable=False)  # what each tower runs besides
            moved = moving.assign_sub(0.1 * (moving - tf.reduce_mean(part(tower))))
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, moved)
            penalty = tf.multiply(0.01, tf.nn.l2_loss(variable("w", 3, 2)), name="decay")
            return tf.add(squares(part(tower)), penalty, name="loss")

        def update(pairs):
            with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
                descend(pairs)

        program(loss, update, lambda gradients: gradients[kept])()

    rows = {row["term"]: row["is"] for row in sections_of(build)["losses"]}
    assert rows[f"tower_{kept}/loss:0"] == f"the loss of tower {kept}, which alone is differentiated"
    assert rows[f"tower_{kept}/decay"].startswith("depends on weights only: a regularizer")
    assert not any(term.startswith(f"tower_{1 - kept}/") for term in rows)


@pytest.mark.parametrize("by_all", (False, True))
def test_the_losses_of_train_ops_that_each_differentiate_one_towers_are_told(by_all):
    """Two optimizers, each of one tower's loss, which run in turn; and twins, of which each takes both towers' mean."""

    def build():
        x, rows = parts("x", 8, 3), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                w = variable("w" if by_all else f"w_{tower}", 3, 1)
                error = tf.reduce_mean(tf.square(tf.matmul(x(tower), w)))
                loss = tf.add(error, 0.1 * tf.reduce_sum(tf.square(w)), name="loss")
                rows.append((tf.gradients(loss, [w])[0], w))
        for tower, (gradient, w) in enumerate(rows):
            taken = mean([row[0] for row in rows]) if by_all else gradient
            v1.train.GradientDescentOptimizer(0.1).apply_gradients([(taken, w)], name=f"train_{tower}")

    losses = sections_of(build, ("train_0", "train_1"))["losses"]
    found = {(row["train op"], row["term"]): row["is"] for row in losses}
    for turn in range(2):
        told = [term for train_op, term in found if train_op == f"train_{turn}"]
        tower = 0 if by_all else turn
        own = "the loss of the first tower" if by_all else f"the loss of tower {turn}, which alone is differentiated"
        assert found[f"train_{turn}", f"tower_{tower}/loss:0"] == own
        assert len(told) == 3  # its data term and its regularizer as well
    assert len(losses) == 6


def test_each_of_several_losses_that_one_call_differentiates_is_a_loss():
    def several():
        x = parts("x", 8, 3)

        def losses(tower):
            layer = tf.matmul(x(tower), variable("w", 3, 1))
            return [tf.reduce_mean(tf.abs(layer), name="first"), tf.reduce_mean(tf.square(layer), name="second")]

        return program(losses)()

    found = {row["term"]: row["is"] for row in sections_of(several)["losses"]}
    assert found["tower_0/first:0"] == "the loss of the first tower"
    assert found["tower_0/second:0"] == "another loss of the first tower"


def test_a_part_that_is_computed_again_is_no_further_loss():
    """As of `recompute_grad`: the gradient of the part begins with what the loss's gradient gives."""

    @tf.custom_gradient
    def part(x):
        result = tf.tanh(x)
        return result, lambda upstream: tf.gradients(tf.tanh(tf.identity(x)), [x], upstream)[0]

    def build():
        x = parts("x", 8, 3)

        def loss(tower):
            with v1.variable_scope("part"):
                own = tf.matmul(x(tower), variable("w", 3, 2))
            return tf.reduce_mean(tf.square(part(own)))

        return program(loss)()

    page = sections_of(build)
    assert [row["is"] for row in page["losses"]] == ["the loss of the first tower", "depends on data"]
    assert not [text for text in watched(page) if "further losses" in text]


def kept_activations(passed_on):
    """Two layers, of which the first is computed again for its gradient.

    `passed_on(gradient of the loss by what is between the layers)` is the gradient with which the first one's begins.
    """

    def build():
        x = parts("x", 8, 3)

        def gradients(tower):
            w, v = variable("w", 3, 3), variable("v", 3, 1)
            kept = tf.stop_gradient(tf.tanh(tf.matmul(x(tower), w)))
            by_v, between = tf.gradients(tf.reduce_mean(tf.square(tf.matmul(kept, v))), [v, kept])
            again = tf.tanh(tf.matmul(x(tower), w))
            return [tf.gradients(again, [w], passed_on(between))[0], by_v], [w, v]

        towers = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                towers.append(gradients(tower))
        descend([(mean(row), weight) for row, weight in zip(zip(*(own for own, _ in towers)), towers[0][1])])

    return build


@pytest.mark.parametrize("passed_on", [tf.identity, lambda part: part + part, lambda part: tf.add_n([part] * 3)])
def test_a_layer_between_kept_activations_is_no_further_loss(passed_on):
    page = sections_of(kept_activations(passed_on))
    assert "another loss of the first tower" not in [row["is"] for row in page["losses"]]
    assert not [text for text in watched(page) if "further losses" in text]


def test_a_layer_that_numbers_weight_is_a_further_loss():
    page = sections_of(kept_activations(lambda part: tf.ones_like(part) + 1.0))
    assert "another loss of the first tower" in [row["is"] for row in page["losses"]]


def two_losses():
    x = parts("x", 8, 3)

    def loss(tower):
        return [squares(x(tower)), tf.reduce_mean(tf.abs(tf.matmul(x(tower), variable("w", 3, 2))))]

    return program(loss)()


def test_losses_that_are_differentiated_together_are_further_losses():
    assert [text for text in watched(sections_of(two_losses)) if "further losses" in text]


def test_a_penalty_with_a_weight_in_a_variable_is_named_as_such():
    def penalty(weight):
        def build():
            x = parts("x", 8, 3)
            return program(lambda tower: squares(x(tower)) + weight() * tf.nn.l2_loss(variable("w", 3, 2)))()

        return [row["is"] for row in sections_of(build)["losses"]]

    held = penalty(lambda: variable("wd", trainable=False, value=0.01))
    assert held[2:] == ["depends on weights and on wd, and on no input"]
    assert penalty(lambda: 0.01)[2:] == ["depends on weights only: a regularizer"]


def test_a_multiple_of_a_weight_is_no_regularizer():
    """As half of a trained log-variance, beside the square of one."""

    def term(of_weight):
        def build():
            x = parts("x", 8, 3)
            return program(lambda tower: tf.exp(-variable("s")) * squares(x(tower)) + of_weight(variable("s")))()

        return [row["is"] for row in sections_of(build)["losses"]][2]

    assert term(lambda s: 0.5 * s) == "depends on weights only: a multiple of them"
    assert term(lambda s: 0.5 * s * s) == term(tf.abs) == "depends on weights only: a regularizer"


def test_a_term_that_is_divided_is_not_the_whole_loss():
    def divided(also):
        def build():
            x, w = parts("x", 8, 3), parts("weights", 8)

            def loss(tower):
                each = tf.reduce_mean(tf.square(tf.matmul(x(tower), variable("w", 3, 2))), 1)
                own = tf.reduce_sum(w(tower) * each) / tf.reduce_sum(w(tower))
                return own + also(x(tower)) if also else own

            return program(loss)()

        return [text for text in watched(sections_of(build)) if "a mean of means" in text]

    (text,) = divided(squares)
    assert "each tower divides a term of its loss by tower_0/" in text
    (text,) = divided(None)
    assert "each tower divides its loss by tower_0/" in text
