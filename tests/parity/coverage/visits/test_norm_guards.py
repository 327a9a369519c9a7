"""States in which guards of ratios of norms act, and what LARS and LAMB show in them."""

import numpy as np
import pytest
import tensorflow as tf

from parity.comparison.result import Verdict
from parity.coverage.visits import lifted_visits
from parity.coverage.visits.norm_guards import POSITIVE, at_guards_of_norms
from parity.verdict.compare_programs import ComparisonPlan, compare_programs
from tests.legacy.variants.programs import lifted, plain, split_batch, towers
from workloads.program import State

v1 = tf.compat.v1


def floats(*numbers):
    return np.float32(numbers)


def state_with(slots):
    weights = {"kernel": floats([0.25, -2.0]), "bias": floats(-1.0, 0.0), "count": np.int32([3])}
    return State(4, weights, slots, {}, {})


def test_weights_beside_a_kernel_near_zero_are_positive():
    (visit,) = [visit for visit in at_guards_of_norms(state_with({})) if "positive" in visit.name]
    found = visit.state.weights
    assert 0.0 < np.abs(found["kernel"]).max() < 1e-17
    assert found["bias"].tolist() == [1.0, POSITIVE] and found["count"].tolist() == [3]


@pytest.mark.parametrize(
    "moment, is_of_squares",
    [(floats(0.5, 2.0), True), (floats(0.5, -2.0), False), (floats(0.0, 0.0), False), (np.float32(0.5), False)],
)
def test_moments_of_squares_are_large_and_others_stay(moment, is_of_squares):
    slots = {"bias/m": floats(1.0, -1.0), "bias/v": moment}
    visits = [visit for visit in at_guards_of_norms(state_with(slots)) if visit.name.startswith("moments of squares")]
    assert len(visits) == (2 if is_of_squares else 0)
    for visit, value in zip(visits, (1e20, 1e38)):
        assert visit.state.slots["bias/m"] is slots["bias/m"]
        assert np.array_equal(visit.state.slots["bias/v"], floats(value, value))
        squares = np.square(visit.state.weights["bias"])
        assert squares.min() > np.finfo(np.float32).tiny  # so that its norm is not zero


def two_layers(rule):
    """A program of two layers behind a rectifier; `rule` makes the update of a weight of its mean gradient."""
    parts = split_batch()
    with v1.variable_scope("net"):
        kernels = [
            v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=seed), use_resource=False)
            for seed, (name, shape) in enumerate((("first", [3, 4]), ("second", [4, 2])))
        ]

    def gradients(tower):
        hidden = tf.nn.relu(tf.matmul(parts[tower], kernels[0]))
        return tf.gradients(tf.reduce_mean(tf.square(tf.matmul(hidden, kernels[1]) - 1.0)), kernels)

    means = [(one + other) / 2.0 for one, other in zip(*towers(gradients))]
    return tf.group(*[rule(*pair) for pair in zip(kernels, means)], name="train")


def guarded(numerator, norm, otherwise):
    return tf.where(numerator > 0.0, tf.where(norm > 0.0, numerator / norm, otherwise), otherwise)


def lars(weight, gradient):
    momentum = plain(weight.op.name + "/momentum", weight.shape)
    ratio = guarded(0.125 * tf.norm(weight), tf.norm(gradient), 1.0)
    moved = momentum.assign(0.875 * momentum + gradient)
    return weight.assign_sub(0.0625 * ratio * moved)


def lamb(weight, gradient):
    first, second = (plain(f"{weight.op.name}/{name}", weight.shape) for name in ("first", "second"))
    new_first = 0.875 * first + 0.125 * gradient
    new_second = 0.75 * second + 0.25 * tf.square(gradient)
    update = new_first / (tf.sqrt(new_second) + 1e-6) + 0.01 * weight
    ratio = guarded(tf.norm(weight), tf.norm(update), 1.0)
    return tf.group(weight.assign(weight - 0.0625 * ratio * update), first.assign(new_first), second.assign(new_second))


@pytest.mark.parametrize("rule", [lars, lamb])
def test_every_guard_of_a_layer_wise_optimizer_is_seen_in_these_states_alone(rule, tmp_path, monkeypatch):
    setup = lifted(lambda: two_layers(rule), tmp_path)
    verification = compare_programs(setup, None, ComparisonPlan(3)).verification
    assert verification.verdict is Verdict.PARITY, verification.not_shown
    monkeypatch.setattr(lifted_visits, "at_guards_of_norms", lambda state: ())
    without = compare_programs(setup, None, ComparisonPlan(3))
    missing = [outcome.mutant.name for outcome in without.coverage.outcomes if outcome.is_missing]
    assert without.verification.verdict is Verdict.NOT_SHOWN
    assert any("Greater" in name for name in missing) and any("Select" in name for name in missing), missing
