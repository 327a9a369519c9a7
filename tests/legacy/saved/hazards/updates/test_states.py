"""State that nothing reads, and a variance that follows the mean, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.states import state_never_read, variance_that_follows_the_mean
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def whole_of(update):
    """A program that runs what `update` makes of its hidden layer [2, 3] with its train op; `update` may change it."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        hidden, updates = update(v1.placeholder(tf.float32, [2, 4], "x") @ w)
        with tf.control_dependencies(updates):
            v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(hidden)), name="train")

    return WholeGraph(saved(traced(build), trainable_variables=["w"]))


@pytest.mark.parametrize("reads", [True, False])
def test_state_that_nothing_reads_is_named(reads):
    def update(hidden):
        state = v1.get_variable("state", [2, 3], use_resource=False, trainable=False)
        return (hidden + state if reads else hidden), [v1.assign(state, hidden, name="keep")]

    found = [hazard.id for hazard in state_never_read(whole_of(update))]
    assert found == ([] if reads else ["STATE_NEVER_READ"])


@pytest.mark.parametrize("of_state", [True, False])
def test_what_follows_from_other_kept_state_need_not_be_read(of_state):
    """As the moving variance of batch renormalization, the square of its moving deviation."""

    def update(hidden):
        deviation, variance = (v1.get_variable(n, [3], use_resource=False, trainable=False) for n in ("sd", "var"))
        moved = v1.assign_sub(deviation, 0.1 * (deviation - tf.math.reduce_std(hidden, 0)))
        with tf.control_dependencies([moved]):
            return hidden, [v1.assign(variance, tf.square(moved if of_state else tf.math.reduce_std(hidden, 0)))]

    found = [hazard.id for hazard in state_never_read(whole_of(update))]
    assert found == ([] if of_state else ["STATE_NEVER_READ"])


@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize("names", [("bn/mean", "bn/variance"), ("bn/mm", "bn/mv"), ("bn/mu", "bn/sigma")])
def test_a_variance_that_follows_the_mean_is_named(names, swapped):
    def update(hidden):
        moments = tf.nn.moments(hidden, [0])
        kept = [v1.get_variable(n, [3], use_resource=False, trainable=False) for n in names]
        values = (moments[0], moments[0]) if swapped else moments
        return hidden, [v1.assign(k, k * 0.9 + value * 0.1) for k, value in zip(kept, values)]

    found = [hazard.description for hazard in variance_that_follows_the_mean(whole_of(update))]
    assert len(found) == swapped and all(text.startswith(f"{names[1]} follows") for text in found)


@pytest.mark.parametrize("swapped", [True, False])
def test_so_is_one_that_is_kept_with_its_bias(swapped):
    """As `assign_moving_average` keeps it, which corrects for the beginning at zero."""

    def update(hidden):
        moments = tf.nn.moments(hidden, [0])
        moves = []
        for name, value in zip(("mean", "variance"), (moments[0], moments[0]) if swapped else moments):
            kept, biased = (
                v1.get_variable(f"bn/moving_{name}{end}", [3], use_resource=False, trainable=False)
                for end in ("", "/biased")
            )
            moved = v1.assign_sub(biased, (biased - value) * 0.1)
            moves.append(v1.assign_sub(kept, kept - moved / (1.0 - 0.9)))
        return hidden, moves

    found = [hazard.id for hazard in variance_that_follows_the_mean(whole_of(update))]
    assert found == ["VARIANCE_FOLLOWS_MEAN"] * swapped


@pytest.mark.parametrize("squared", [True, False])
def test_a_variance_that_adds_products_of_deviations_follows_no_mean(squared):
    """Welford's way, as observations of a reinforcement learner are normalized."""

    def update(hidden):
        mean, kept = (
            v1.get_variable(n, [3], use_resource=False, trainable=False) for n in ("running_mean", "running_variance")
        )
        observed = tf.reduce_mean(hidden, 0)
        moved = mean + (observed - mean) / 3.0
        spread = (observed - moved) * (observed - mean) if squared else (observed - moved) * 0.5
        return hidden, [v1.assign(mean, moved), v1.assign(kept, kept + spread)]

    assert len(list(variance_that_follows_the_mean(whole_of(update)))) == (not squared)


@pytest.mark.parametrize("name, count", [("bn/moving_var", 1), ("Variable_1", 0), ("slow_variable", 0), ("bn/var", 1)])
def test_averages_of_one_value_that_are_named_variables_are_no_variances(name, count):
    """A fast and a slow average."""

    def update(hidden):
        mean = tf.reduce_mean(hidden, 0)
        kept = [v1.get_variable(n, [3], use_resource=False, trainable=False) for n in ("average", name)]
        return hidden, [v1.assign(k, k * keep + mean * (1.0 - keep)) for k, keep in zip(kept, (0.9, 0.99))]

    found = [hazard.id for hazard in variance_that_follows_the_mean(whole_of(update))]
    assert found == ["VARIANCE_FOLLOWS_MEAN"] * count
