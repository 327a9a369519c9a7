"""Updates that count gradients several times, where neither the combined gradients nor the rule are known."""

import dataclasses

import numpy as np
import pytest

from parity.causes.basics.cause import MEDIUM
from parity.causes.combining.counted_in_update import counted_in_update
from parity.diagnosis.context.job_context import Context
from tests.parity.causes.made_up_runs import NAMES, RATE, Run
from tests.parity.step_records import compared_step, made_up_evidence

OWN_STEP = Context(2, 8)


class Plain(Run):
    """Gradient descent: the slots stay zero."""

    def update(self, weights, slots, name, gradient):
        weights[name] = weights[name] - RATE * gradient


class Squares(Run):
    """A sum of squares, by whose root the gradient is divided."""

    def update(self, weights, slots, name, gradient):
        slots[name] = slots[name] + gradient**2
        weights[name] = weights[name] - RATE * gradient / np.sqrt(slots[name])


def times(rule, factor, names=NAMES):
    """A run of a rule that gets a multiple of the gradients of some weights."""

    class Counted(rule):
        def combine(self, step, combined):
            return {name: g * np.float32(factor) if name in names else g for name, g in combined.items()}

    return Counted()


def found_for(right, left, context=OWN_STEP, unrecorded=True):
    """The finding for two runs that record neither combined gradients nor learning rates."""

    def shown(row):
        return dataclasses.replace(row, combined={}, learning_rate=None) if unrecorded else row

    (lefts, left_rows), (rights, right_rows) = left.records(), right.records()
    steps = [compared_step(shown(a), shown(b), c, d) for a, b, c, d in zip(left_rows, right_rows, lefts, rights)]
    return counted_in_update(made_up_evidence(steps, context))


@pytest.mark.parametrize("rule", [Plain, Run, Squares])
@pytest.mark.parametrize(
    "factor, meaning",
    [
        (2.0, "it sums the replicas' gradients where legacy averages its towers'"),
        (0.5, "it averages the replicas' gradients where legacy sums its towers'"),
        (3.0, "a factor in the loss, or in the all-reduce"),
    ],
)
def test_a_multiple_of_all_gradients_is_told(rule, factor, meaning):
    finding = found_for(times(rule, factor), rule())
    assert f"counts every gradient {factor:g} x as legacy's does: {meaning}." in finding.sentence
    assert finding.confidence == MEDIUM and finding.ambiguous and "a learning rate" in finding.because


@pytest.mark.parametrize("rule", [Plain, Run, Squares])
def test_equal_updates_have_no_factor(rule):
    assert found_for(rule(), rule()) is None


@pytest.mark.parametrize("rule", [Plain, Run])
def test_a_factor_of_one_weight_alone_is_another_cause(rule):
    assert found_for(times(rule, 2.0, NAMES[:1]), rule()) is None


def test_recorded_gradients_or_a_known_rule_tell_more():
    from workloads import optimizers

    assert found_for(times(Run, 2.0), Run(), unrecorded=False) is None
    assert found_for(times(Run, 2.0), Run(), Context(2, 8, optimizers.Momentum(0.5)), unrecorded=False) is None


def test_gradients_that_differ_themselves_are_no_matter_of_the_update():
    class Larger(Plain):
        def reaction(self, weights, step):
            return np.float32(0.5)

    assert found_for(Larger(), Plain()) is None
